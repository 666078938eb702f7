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

package replaytool

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/measure"
	"github.com/traas-stack/altershield-operator/controllers/verification/replay"
)

// searchLooks is how many looks a query for the new pods covers. Longer windows have longer steps, which tell less of when a pod began.
const searchLooks = 50

// Connect returns a reader of the cluster. It isn't called if nothing in the cluster is needed.
type Connect func() (client.Reader, error)

// Run replays what the options ask for, prints the report, and reports whether a check would have failed.
func Run(ctx context.Context, options Options, connect Connect, now time.Time, out io.Writer) (failed bool, err error) {
	report, err := Replay(ctx, options, connect, now)
	if err != nil {
		return false, err
	}
	if options.Output == outputJSON {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		return report.Failed, encoder.Encode(report)
	}
	return report.Failed, report.Write(out)
}

// Replay replays what the options ask for.
func Replay(ctx context.Context, options Options, connect Connect, now time.Time) (replay.Report, error) {
	parsed, err := options.parse()
	if err != nil {
		return replay.Report{}, err
	}
	policy, err := readPolicy(options.Policy)
	if err != nil {
		return replay.Report{}, err
	}
	if policy.Namespace == "" { // it is applied with kubectl apply -n
		policy.Namespace = parsed.namespace
	}
	t := tool{Options: options, asked: parsed, policy: policy, now: now}
	if options.SourceURL == "" || options.Release > 0 {
		if t.cluster, err = connect(); err != nil {
			return replay.Report{}, err
		}
	}
	if t.metrics, err = t.openMetrics(ctx); err != nil {
		return replay.Report{}, err
	}
	past, err := t.past(ctx)
	if err != nil {
		return replay.Report{}, err
	}
	results, err := past.Run(ctx, policy, t.metrics.Read, now)
	if err != nil {
		return replay.Report{}, err
	}
	return replay.NewReport(&past, policy.Name, results, now), nil
}

// tool replays a policy.
type tool struct {
	Options
	asked
	policy  *appv1alpha1.VerificationPolicy
	cluster client.Reader
	metrics *Metrics
	now     time.Time
}

// past returns the release of the record, or the one that the times define.
func (t *tool) past(ctx context.Context) (replay.Past, error) {
	if t.Release > 0 {
		var records appv1alpha1.ChangeWorkloadList
		if err := t.cluster.List(ctx, &records, client.InNamespace(t.namespace)); err != nil {
			return replay.Past{}, fmt.Errorf("listing the ChangeWorkloads in namespace %s: %w", t.namespace, err)
		}
		return replay.Find(records.Items, t.kind, t.name, t.Release, &t.policy.Spec.VerificationTerms, t.now)
	}
	past := replay.Past{Ended: t.to, Release: checks.Scene{Kind: t.kind.Kind, Namespace: t.namespace, Name: t.name, Began: t.from}}
	var found []measure.Readings
	for i := range t.policy.Spec.Checks {
		check := &t.policy.Spec.Checks[i]
		asked := decide.AskedCheck{
			CheckID: decide.CheckID{Policy: t.policy.Namespace + "/" + t.policy.Name, Name: check.Name}, Check: replay.Measured(check),
			Schedule: decide.Schedule{Interval: time.Duration(t.policy.Spec.IntervalSeconds) * time.Second},
		}
		if asked.Check == nil {
			continue
		}
		for from := t.from; from.Before(t.to); from = from.Add(searchLooks * asked.Interval) {
			part, until := past.Release, from.Add(searchLooks*asked.Interval)
			part.Began = from
			if until.After(t.to) {
				until = t.to
			}
			readings, err := t.metrics.Read(ctx, &part, asked, until)
			if err != nil {
				return replay.Past{}, err
			}
			found = append(found, readings)
		}
	}
	if past.Release.New = replay.NewPods(found, t.newPods); len(past.Release.New) == 0 {
		return replay.Past{}, fmt.Errorf("no pod of %s %s/%s in the series matches --new-pods %s%s", t.kind, t.namespace, t.name, t.newPods, unread(found))
	}
	return past, nil
}

// unread returns why series couldn't be read, as the end of a message; empty if all could be.
func unread(found []measure.Readings) string {
	for i := range found {
		if found[i].Reason != "" {
			return ": " + found[i].Message
		}
	}
	return ""
}
