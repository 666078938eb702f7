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

package changeworkload

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/measure"
	"github.com/traas-stack/altershield-operator/controllers/looks"
	"github.com/traas-stack/altershield-operator/controllers/plugin"
	metricsource "github.com/traas-stack/altershield-operator/controllers/source"
)

// hanging is a source whose answers the test holds back.
type hanging struct {
	*metricsource.Sources
	answer chan struct{}
	asked  atomic.Int32
}

func newHanging(t *testing.T, p *plane) *hanging {
	t.Helper()
	g, source := NewWithT(t), &hanging{answer: make(chan struct{})}
	server := httptest.NewServer(http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		if !strings.HasSuffix(request.URL.Path, "query_range") {
			_, _ = writer.Write([]byte(`{"status":"success","data":{"resultType":"vector","result":[]}}`))
			return
		}
		source.asked.Add(1)
		select {
		case <-source.answer:
			_, _ = writer.Write([]byte(`{"status":"success","data":{"resultType":"matrix","result":[]}}`))
		case <-request.Context().Done():
		}
	}))
	t.Cleanup(server.Close)
	metrics, err := metricsource.NewMetrics(prometheus.NewRegistry())
	g.Expect(err).NotTo(HaveOccurred())
	source.Sources = &metricsource.Sources{
		Client: p.api, Secrets: p.api, Namespace: "altershieldoperator-system", Clock: p.Clock, Metrics: metrics,
		Guard: metricsource.Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}},
	}
	object := &appv1alpha1.VerificationSource{ObjectMeta: metav1.ObjectMeta{Namespace: "altershieldoperator-system", Name: "prometheus"}}
	object.Spec = appv1alpha1.VerificationSourceSpec{
		Type: "Prometheus", URL: server.URL,
		Limits: appv1alpha1.SourceLimits{QueriesPerSecond: 10, Burst: 20, Concurrent: 4, TimeoutSeconds: 600, MaxBytes: 8388608, MaxSeries: 5000},
	}
	failure, err := source.Look(t.Context(), object)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(failure).To(Succeed())
	return source
}

// watched is a record with a policy of one check, which has yet to look at the verified release.
func watched(record *appv1alpha1.ChangeWorkload, policy *appv1alpha1.VerificationPolicy, check appv1alpha1.VerificationCheck) []client.Object {
	policy.Spec.Checks, policy.Spec.IntervalSeconds = []appv1alpha1.VerificationCheck{check}, 15
	name := policy.Namespace + "/" + policy.Name
	record.Spec.CreateTimeUnix = 1795249990
	record.Status.Verification = &appv1alpha1.ReleaseVerification{Policies: []appv1alpha1.AppliedPolicy{
		{Policy: name, UID: policy.UID, VerificationTerms: policy.Spec.VerificationTerms},
	}}
	record.Status.Checks = []appv1alpha1.CheckResult{{Policy: name, Name: check.Name, Type: check.Type, Mode: "Observe", Verdict: "Pending"}}
	return []client.Object{record, policy}
}

func ofPrometheus() appv1alpha1.VerificationCheck {
	check := &appv1alpha1.RatioCheck{
		SourceRef: appv1alpha1.SourceReference{Name: "prometheus"}, Total: appv1alpha1.MetricSelector{Metric: "requests_total"},
		Bad: appv1alpha1.MetricSelector{Matchers: []string{`code="500"`}},
	}
	check.Threshold = &appv1alpha1.RatioThreshold{Max: "1%"}
	return appv1alpha1.VerificationCheck{Name: "errors", Type: "Ratio", Ratio: check}
}

func TestReconcileGoesOnWhileASourceHangs(t *testing.T) {
	g := NewWithT(t)
	objects := append(sleepOf(1), watched(recordAt(2, version, "Success", "AllPodsPassed"), judged(), ofPrometheus())...)
	// Another release of the namespace, which a condition fails.
	nap := func(object client.Object) client.Object {
		object.SetName(strings.Replace(object.GetName(), "sleep", "nap", 1))
		object.SetUID("nap-" + object.GetUID())
		if owner := object.GetOwnerReferences(); len(owner) > 0 {
			owner[0].Name, owner[0].UID = strings.Replace(owner[0].Name, "sleep", "nap", 1), "nap-"+owner[0].UID
			object.SetOwnerReferences(owner)
		}
		return object
	}
	other := judged()
	other.Name, other.UID = "other", "vp-2"
	record := recordAt(2, version, "Success", "AllPodsPassed")
	record.Spec.AppName, record.Labels["app.kubernetes.io/deployment-name"] = "nap", "nap"
	nap(record)
	objects = append(objects, watched(record, other, appv1alpha1.VerificationCheck{Name: "smoke", Type: "Condition", Condition: &appv1alpha1.ConditionCheck{
		APIVersion: "apps/v1", Kind: "DaemonSet", Name: "smoke", Type: "Passed",
	}})...)
	for _, object := range append(sleepOf(1)[1:3], finishedPod(1)) {
		objects = append(objects, nap(object))
	}
	objects = append(objects, finishedPod(1), passedBatch(1), &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "smoke"},
		Status:     appsv1.DaemonSetStatus{Conditions: []appsv1.DaemonSetCondition{{Type: "Passed", Status: corev1.ConditionFalse}}},
	})
	p := newPlane(t, objects, nil)
	source := newHanging(t, p)
	p.Sources, p.Asker = source.Sources, &plugin.Asker{Live: p.api, Looks: p.Looks}

	p.reconcileOf("sleep")
	p.reconcileOf("nap")
	g.Expect(<-p.woken).To(Equal("nap--x--" + version))
	p.reconcileOf("nap")
	g.Expect(string(p.checkOf("nap").Verdict)).To(Equal("Fail"), "at once")
	g.Expect(p.reconcileOf("sleep").RequeueAfter).To(Equal(11*time.Second), "the next look")
	g.Expect(string(p.checkOf("sleep").Verdict)).To(Equal("Pending"), "nothing counts yet")

	close(source.answer)
	g.Expect(<-p.woken).To(Equal("sleep--x--" + version))
	p.reconcileOf("sleep")
	g.Expect(p.checkOf("sleep").Verdict).To(BeEquivalentTo("Inconclusive"))
	g.Expect(p.checkOf("sleep").Reason).To(Equal("NoData"))
	g.Expect(source.asked.Load()).To(Equal(int32(1)), "the bad events and all, in one query")
}

func TestReconcileAsksASourceAtMostTwelveQueriesAtALook(t *testing.T) {
	g, record, policy := NewWithT(t), recordAt(2, version, "Success", "AllPodsPassed"), judged()
	objects := append(sleepOf(1), watched(record, policy, ofPrometheus())...)
	for i := range 12 {
		check := ofPrometheus()
		check.Name, check.Ratio.Total.Metric = fmt.Sprintf("errors-%d", i), fmt.Sprintf("requests_%d", i)
		policy.Spec.Checks = append(policy.Spec.Checks, check)
	}
	record.Status.Verification.Policies[0].Checks = policy.Spec.Checks
	p := newPlane(t, append(objects, finishedPod(1), passedBatch(1)), nil)
	source := newHanging(t, p)
	close(source.answer)
	p.Sources = source.Sources
	look := func(asked int) {
		before := source.asked.Load()
		p.reconcile()
		for range asked { // each look that is there wakes the release
			g.Expect(<-p.woken).To(Equal(record.Name))
		}
		g.Expect(source.asked.Load() - before).To(BeEquivalentTo(asked))
	}
	look(1)
	p.Clock = clocktesting.NewFakePassiveClock(p.Clock.Now().Add(15 * time.Second))
	p.Looks.Clock = p.Clock
	look(12)
}

// unread is what a look that takes too long sees.
func unread(error) measure.Readings { return measure.Readings{} }

func TestReconcileForgetsTheLooksOfAReleaseThatIsGone(t *testing.T) {
	for name, end := range map[string]func(g *WithT, p *plane, record *appv1alpha1.ChangeWorkload){
		"with its record": func(g *WithT, p *plane, record *appv1alpha1.ChangeWorkload) {
			g.Expect(p.api.Delete(p.t.Context(), record)).To(Succeed())
		},
		"as the workload moved on": func(g *WithT, p *plane, _ *appv1alpha1.ChangeWorkload) {
			moved := p.deployment()
			moved.Annotations["altershield.defense.antgroup.com/release"] = "3"
			g.Expect(p.api.Update(p.t.Context(), moved)).To(Succeed())
		},
	} {
		t.Run(name, func(t *testing.T) {
			g, record := NewWithT(t), recordAt(2, version, "Success", "AllPodsPassed")
			objects := append(sleepOf(1), watched(record, judged(), ofPrometheus())...)
			p := newPlane(t, append(objects, finishedPod(1), passedBatch(1)), nil)
			source := newHanging(t, p)
			p.Sources = source.Sources
			p.reconcile()
			end(g, p, record)
			p.reconcile()

			asked := make(chan struct{})
			check := decide.CheckID{Policy: "default/own", Name: "errors"}
			look := looks.Look{Record: client.ObjectKeyFromObject(record), Release: 2, Check: check, Source: "other"}
			_, _, err := looks.Read(p.Looks, look, unread, func(context.Context) (measure.Readings, error) {
				close(asked)
				return measure.Readings{}, nil
			})
			g.Expect(err).NotTo(HaveOccurred())
			<-asked // else the hanging look would still be under way
			g.Expect(<-p.woken).To(Equal(record.Name))
			close(source.answer)
		})
	}
}

func TestReconcileCountsALookOnceItsVerdictIsSaved(t *testing.T) {
	for name, saved := range map[string]bool{"saved": true, "not saved": false} {
		t.Run(name, func(t *testing.T) {
			g, record := NewWithT(t), recordAt(2, version, "Success", "AllPodsPassed")
			objects := append(sleepOf(1), watched(record, judged(), ofPrometheus())...)
			p := newPlane(t, append(objects, finishedPod(1), passedBatch(1)), nil)
			source := newHanging(t, p)
			close(source.answer)
			p.Sources = source.Sources
			p.reconcile()
			g.Expect(<-p.woken).To(Equal(record.Name))
			if !saved {
				p.Client = interceptor.NewClient(p.Client.(client.WithWatch), interceptor.Funcs{
					SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
						return errors.New("the API server is away")
					},
				})
			}
			_, err := p.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(record)})
			g.Expect(err == nil).To(Equal(saved))

			last := looks.Look{
				Record: client.ObjectKeyFromObject(record), Release: 2, Check: decide.CheckID{Policy: "default/own", Name: "errors"},
				Source: "VerificationSource prometheus", At: p.Clock.Now().Add(15 * time.Second), Last: true,
			}
			_, stands, err := looks.Read(p.Looks, last, unread, func(context.Context) (measure.Readings, error) {
				return measure.Readings{}, nil
			})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(stands).To(Equal(!saved), "a decision that isn't saved is made again by the same look, and no other one is")
		})
	}
}

func TestReconcileTellsWhyASourceGaveNoAnswer(t *testing.T) {
	g, record := NewWithT(t), recordAt(2, version, "Success", "AllPodsPassed")
	objects := append(sleepOf(1), watched(record, judged(), ofPrometheus())...)
	p := newPlane(t, append(objects, finishedPod(1), passedBatch(1)), nil)
	p.Sources = &metricsource.Sources{Namespace: "altershieldoperator-system", Clock: p.Clock}
	p.Sources.Client = interceptor.NewClient(p.api, interceptor.Funcs{
		Get: func(_ context.Context, _ client.WithWatch, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "verificationsources"}, key.Name, errors.New("no"))
		},
	})
	p.reconcile()
	g.Expect(<-p.woken).To(Equal(record.Name))
	_, err := p.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(record)})
	g.Expect(err).To(MatchError(ContainSubstring("is forbidden")), "for the log")
	p.Clock = clocktesting.NewFakePassiveClock(p.Clock.Now().Add(time.Minute))
	p.Looks.Clock = p.Clock
	p.reconcile()
	g.Expect(p.checkOf("sleep").Message).To(HavePrefix("VerificationSource prometheus: no answer within 1m0s: reading metrics for the check errors of default/own: "))
	g.Expect(p.checkOf("sleep").Message).To(ContainSubstring("is forbidden"))
}
