/*
Copyright 2026 The AlterShield Operator Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package tracing

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	"go.opentelemetry.io/otel/trace"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

// Release identifies the release of a trace.
type Release struct {
	// Workload is the UID of the released workload. The ID of the trace is derived from it and Number.
	Workload              types.UID
	Kind, Namespace, Name string
	// Version is the version of the pod template; empty if it is unknown.
	Version string
	// Number numbers the releases of the workload from 1.
	Number int64
}

// ReleaseOf returns the release that a ChangeWorkload records.
func ReleaseOf(workload *appv1alpha1.ChangeWorkload) Release {
	release := Release{
		Kind: workload.WorkloadKind(), Namespace: workload.Namespace, Name: workload.Spec.AppName, Version: workload.Spec.Reversion, Number: workload.Spec.Release,
	}
	if owner := metav1.GetControllerOfNoCopy(workload); owner != nil {
		release.Workload = owner.UID
	}
	return release
}

// TraceID returns the ID of the trace.
func (r Release) TraceID() trace.TraceID { return decide.TraceID(r.Workload, r.Number) }

// SpanID returns the ID of a part of the release. A span that is sent twice keeps its ID.
func (r Release) SpanID(part string) trace.SpanID {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d/%s", r.Workload, r.Number, part))
	return trace.SpanID(sum[:8])
}

// The parts of a release with one span each. Batches and checks are identified by the UID of their ChangePod.
const (
	partRelease = "release"
	partRecord  = "record"
	partSuspend = "suspend"
	partBack    = "roll back"
)

func partCheck(batch types.UID, stage appv1alpha1.CheckStage) string {
	return string(batch) + "/" + string(stage)
}

// partDecided is of one verdict: a span that was sent can't be changed when a check fails after it passed.
func partDecided(result *appv1alpha1.CheckResult) string {
	return "check/" + result.Policy + "/" + result.Name + "/" + string(result.Verdict)
}

// ids are the IDs for the span that is started with a context.
type ids struct {
	trace trace.TraceID
	span  trace.SpanID
}

type idsKey struct{}

func withIDs(ctx context.Context, trace trace.TraceID, span trace.SpanID) context.Context {
	return context.WithValue(ctx, idsKey{}, ids{trace, span})
}

// generator takes IDs from the context. Without any it generates random ones.
type generator struct{}

// NewIDs returns the IDs of a span without a parent.
func (generator) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	if given, found := ctx.Value(idsKey{}).(ids); found {
		return given.trace, given.span
	}
	var traceID trace.TraceID
	binary.NativeEndian.PutUint64(traceID[:8], nonZero())
	binary.NativeEndian.PutUint64(traceID[8:], nonZero())
	return traceID, randomSpanID()
}

// NewSpanID returns the ID of a span with a parent.
func (generator) NewSpanID(ctx context.Context, traceID trace.TraceID) trace.SpanID {
	if given, found := ctx.Value(idsKey{}).(ids); found && given.trace == traceID {
		return given.span
	}
	return randomSpanID()
}

func randomSpanID() (id trace.SpanID) {
	binary.NativeEndian.PutUint64(id[:], nonZero())
	return id
}

// nonZero returns a random number. IDs of zeros are invalid.
func nonZero() uint64 { return max(rand.Uint64(), 1) }
