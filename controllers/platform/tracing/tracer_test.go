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

package tracing_test

import (
	"net"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/platform/tracing"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
	"github.com/traas-stack/altershield-operator/hack/collector"
)

// trace is the ID of the trace of the third release, computed as in docs/tracing.md:
// printf '%s/%s' 8f1f6a0e-4c3d-4d1b-9a57-0d3c6a3f2b11 3 | sha256sum | cut -c1-32
const trace = "ebbbda45f6b0b24e2ca0059349e3438b"

// listen returns a listener that accepts connections without responding.
func listen(t *testing.T) net.Listener {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = listener.Close() })
	return listener
}

func collecting(t *testing.T) (*collector.Collector, tracing.Config) {
	listener := listen(t)
	collected := collector.Start(listener)
	t.Cleanup(collected.Stop)
	return collected, tracing.Config{Endpoint: listener.Addr().String(), Insecure: true}
}

func newTracer(t *testing.T, config tracing.Config) *tracing.Tracer {
	tracer, err := tracing.New(t.Context(), config)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return tracer
}

// stored is a reader of the given objects.
func stored(objects ...client.Object) client.Reader {
	return fake.NewClientBuilder().WithScheme(testkit.Scheme()).WithObjects(objects...).Build()
}

// sleep returns the Deployment, at its third release.
func sleep() *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: "sleep", UID: deployment,
		Labels: map[string]string{"admission-webhook-altershield.antgroup.com/version": version},
		Annotations: map[string]string{
			"altershield.defense.antgroup.com/release": "3", "altershield.defense.antgroup.com/released-by": byJane,
		},
	}}
}

// named returns the spans that arrived, by name.
func named(spans []collector.Span) map[string]collector.Span {
	result := map[string]collector.Span{}
	for _, span := range spans {
		result[span.Name] = span
	}
	return result
}

func TestTracerMakesOneTraceOfAReleaseAcrossReplicas(t *testing.T) {
	g := NewWithT(t)
	collected, config := collecting(t)
	leader, router, successor := newTracer(t, config), newTracer(t, config), newTracer(t, config)
	preSubmitted := batch("PreSubmitted", func(b *appv1alpha1.ChangePod) { b.Status.PreSubmitTimeUnix = at("10:00:03").Unix() })
	leader.Recorded("Deployment", sleep(), at("10:00:01.5"))
	leader.Shutdown()
	router.Checked(t.Context(), stored(workload("Running")), preSubmitted, batch("PostWait"), at("10:00:04"))
	router.Shutdown()
	successor.Checked(t.Context(), stored(workload("Running")), batch("PostSubmitted"), batch("", done("PostFinish", "PodsPassed")), at("10:00:05"))
	successor.Changed(workload("Running"), workload("Success"), sleep(), nil, at("10:00:06"))
	successor.RolledBack("Deployment", sleep(), &appv1alpha1.Rollback{Version: version, Release: 3, ToRelease: 4}, at("10:07:00"), at("10:07:01"))
	successor.Shutdown()

	spans := named(collected.Spans())
	g.Expect(collected.Spans()).To(HaveLen(6))
	root, whole := spans["release default/sleep"], spans["batch 2"]
	g.Expect(root.Parent).To(BeEmpty())
	for name, parent := range map[string]string{
		"record": root.ID, "batch 2": root.ID, "roll back": root.ID, "check PRE": whole.ID, "check POST": whole.ID,
	} {
		g.Expect(spans[name].Parent).To(Equal(parent), name)
	}
	for name, span := range spans {
		g.Expect(span.Trace).To(Equal(trace), name)
		g.Expect(span.Resource).To(HaveKeyWithValue("service.name", "altershield-operator"))
		g.Expect(span.Resource).To(HaveKey("service.instance.id"))
		g.Expect(span.Attributes).To(And(
			HaveKeyWithValue("k8s.namespace.name", "default"), HaveKeyWithValue("k8s.deployment.name", "sleep"),
			HaveKeyWithValue("k8s.deployment.uid", deployment), HaveKeyWithValue("altershield.release.version", version),
			HaveKeyWithValue("altershield.release.number", "3"),
		), name)
	}
	g.Expect(root.Start).To(BeTemporally("==", at("10:00:00")))
	g.Expect(root.End).To(BeTemporally("==", at("10:00:06")))
	g.Expect(spans["roll back"].Links).To(HaveExactElements(tracing.Release{Workload: deployment, Number: 4}.TraceID().String()))
}

func TestCheckedBelongsToTheReleaseOfTheBatch(t *testing.T) {
	g := NewWithT(t)
	collected, config := collecting(t)
	tracer := newTracer(t, config)
	again := workload("Running", func(w *appv1alpha1.ChangeWorkload) { w.Spec.Release = 5 })
	tracer.Checked(t.Context(), stored(again), batch(""), batch("", done("PreFailed", "ReleaseEnded")), at("10:00:05"))
	tracer.Shutdown()
	g.Expect(collected.Spans()).To(HaveLen(1))
	g.Expect(collected.Spans()[0].Trace).To(Equal(trace))
}

func TestChangedTwiceIsOneSpan(t *testing.T) {
	g := NewWithT(t)
	collected, config := collecting(t)
	for range 2 {
		tracer := newTracer(t, config)
		tracer.Changed(workload("Running"), workload("Failed"), sleep(), nil, at("10:00:06"))
		tracer.Shutdown()
	}
	spans := collected.Spans()
	g.Expect(spans).To(HaveLen(2))
	g.Expect(spans[0]).To(Equal(spans[1]))
	g.Expect(spans[0].Failure).To(Equal("Failed"))
}

func TestTracerSamplesWholeTraces(t *testing.T) {
	for _, sampler := range []string{"traceidratio", "parentbased_traceidratio"} {
		t.Run(sampler, func(t *testing.T) {
			g := NewWithT(t)
			t.Setenv("OTEL_TRACES_SAMPLER", sampler)
			t.Setenv("OTEL_TRACES_SAMPLER_ARG", "0.5")
			collected, config := collecting(t)
			children, roots := newTracer(t, config), newTracer(t, config)
			for number := range int64(100) {
				record := workload("Running", func(w *appv1alpha1.ChangeWorkload) { w.Spec.Release, w.Status.ObservedRelease = number, number })
				ended := record.DeepCopy()
				ended.Status.Status = "Success"
				changePod := batch("", func(b *appv1alpha1.ChangePod) { b.Spec.Release = number })
				finished := changePod.DeepCopy()
				finished.Status.Status = "ExecuteDone"
				children.Checked(t.Context(), stored(record), changePod, finished, at("10:00:05"))
				roots.Changed(record, ended, sleep(), nil, at("10:00:06"))
			}
			children.Shutdown()
			roots.Shutdown()
			spans := map[string]int{}
			for _, span := range collected.Spans() {
				spans[span.Trace]++
			}
			g.Expect(len(spans)).To(And(BeNumerically(">", 20), BeNumerically("<", 80)))
			g.Expect(spans).To(HaveEach(2))
		})
	}
}

func TestDeniedIsATraceWithALinkToTheReleaseBehindIt(t *testing.T) {
	g := NewWithT(t)
	collected, config := collecting(t)
	tracer := newTracer(t, config)
	asked := tracing.Release{Workload: deployment, Kind: "Deployment", Namespace: "default", Name: "sleep", Version: "6a8ff823a5011291b0f02a1d83c2222d"}
	for range 2 {
		tracer.Denied(asked, release(), "denied", at("10:10:00"), at("10:10:00.001"))
	}
	tracer.Shutdown()
	spans := collected.Spans()
	g.Expect(spans).To(HaveLen(2))
	for _, span := range spans {
		g.Expect(span.Name).To(Equal("deny release default/sleep"))
		g.Expect(span.Parent).To(BeEmpty())
		g.Expect(span.Links).To(HaveExactElements(trace))
		g.Expect(span.Attributes).To(HaveKeyWithValue("altershield.admission.decision", "denied"))
		g.Expect(span.Attributes).NotTo(HaveKey("altershield.release.number"), "it is no release")
	}
	g.Expect(spans[0].Trace).NotTo(Or(Equal(trace), Equal(spans[1].Trace)))
}

func TestChangedEndsNoSpanBeforeItBegins(t *testing.T) {
	g := NewWithT(t)
	collected, config := collecting(t)
	tracer := newTracer(t, config)
	tracer.Changed(workload("Running"), workload("Success"), sleep(), nil, at("09:59:59")) // by a replica whose clock is slow
	tracer.Shutdown()
	g.Expect(collected.Spans()).To(HaveLen(1))
	g.Expect(collected.Spans()[0].End).To(BeTemporally("==", at("10:00:00")))
}

func TestShutdownDoesNotWaitForACollectorThatDoesNotAnswer(t *testing.T) {
	g := NewWithT(t)
	deaf := listen(t)
	tracer := newTracer(t, tracing.Config{Endpoint: deaf.Addr().String(), Insecure: true})
	for range 10_000 { // more than the queue holds
		tracer.Changed(workload("Running"), workload("Success"), sleep(), nil, at("10:00:06"))
	}
	began := time.Now()
	tracer.Shutdown()
	g.Expect(time.Since(began)).To(BeNumerically("<", 9*time.Second), "an attempt alone takes ten seconds")
}
