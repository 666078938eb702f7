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

package changesubscription

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
)

func TestReconcileTellsAFailureAndItsRecoveryOnce(t *testing.T) {
	g := NewWithT(t)
	robot := newRobot(t)
	b := newBench(t, testkit.NewFake(t, robot.secret(), robot.subscription(func(s *appv1alpha1.ChangeSubscription) {
		s.Spec.Events = []appv1alpha1.SubscribedEvent{"Failures"}
	})))
	g.Expect(b.reconcile()).To(Equal(600))
	g.Expect(b.ready()).To(Equal("True Ready: no message fails"))
	release := b.release("web")
	b.step(20)
	b.turn(release, "Suspend", "Suspended", "True", "PodsFailed")
	g.Expect(b.reconcile()).To(Equal(600))
	g.Expect(robot.bodies).To(ConsistOf(ContainSubstring("release 2 failed and is suspended")))
	g.Expect(robot.isSigned()).To(BeTrue())
	b.step(60)
	b.reconcile()
	g.Expect(robot.bodies).To(HaveLen(1), "nothing is new")
	b.turn(release, "Success", "Suspended", "False", "Lifted")
	b.reconcile()
	g.Expect(robot.bodies).To(HaveLen(2))
	g.Expect(robot.bodies[1]).To(ContainSubstring("is no longer suspended"))
	status := b.object().Status
	g.Expect(status.Delivered).To(HaveLen(2))
	g.Expect(status.LastSentTime.Time.UTC()).To(Equal(testkit.Now().Add(80 * time.Second)))
	g.Expect(testutil.ToFloat64(b.Metrics.total.WithLabelValues("DingTalk", "Sent"))).To(Equal(2.0))
	g.Expect(testutil.CollectAndCount(b.Metrics.total, "altershield_notifications_total")).To(Equal(21), "counters begin at 0")
	g.Expect(testutil.CollectAndCount(b.Metrics.seconds, "altershield_notification_seconds")).To(Equal(1))
}

// The record of a release that failed is removed with the verdict on the repair.
func TestReconcileTellsTheRecoveryByARepairWhoseFailedReleaseIsGone(t *testing.T) {
	for name, gone := range map[string]bool{"a repair": false, "a workload that is gone": true} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			robot := newRobot(t)
			b := newBench(t, testkit.NewFake(t, robot.secret(), robot.subscription(func(s *appv1alpha1.ChangeSubscription) {
				s.Spec.Events = []appv1alpha1.SubscribedEvent{"Failures"}
			})))
			b.reconcile()
			failed := b.release("web")
			b.turn(failed, "Suspend", "Suspended", "True", "PodsFailed")
			b.reconcile()
			g.Expect(b.object().Status.ToldFailures).To(HaveLen(1))
			b.step(20)
			if !gone {
				repair := b.release("web-2")
				before := repair.DeepCopy()
				repair.Spec.Release, repair.Spec.WorkloadRef.Name, repair.Spec.WorkloadRef.UID = 3, "web", "u-web"
				g.Expect(b.kube.Patch(t.Context(), repair, client.MergeFrom(before))).To(Succeed())
				g.Expect(b.kube.Delete(t.Context(), failed)).To(Succeed())
				b.reconcile()
				g.Expect(robot.bodies).To(HaveLen(1), "it isn't verified yet")
				before = repair.DeepCopy()
				repair.Status.Status, repair.Status.ObservedRelease = "Success", 3
				repair.Status.Conditions = []metav1.Condition{{Type: "Verified", Status: "True", Reason: "AllPodsPassed", LastTransitionTime: metav1.NewTime(b.clock.Now())}}
				g.Expect(b.kube.Status().Patch(t.Context(), repair, client.MergeFrom(before))).To(Succeed())
			} else {
				g.Expect(b.kube.Delete(t.Context(), failed)).To(Succeed())
			}
			b.Reconciler = b.restarted()
			b.reconcile()
			g.Expect(robot.bodies).To(HaveLen(2))
			g.Expect(robot.bodies[1]).To(ContainSubstring("release 2 is no longer suspended"))
			g.Expect(b.object().Status.ToldFailures).To(BeEmpty())
			b.step(60)
			b.reconcile()
			g.Expect(robot.bodies).To(HaveLen(2), "once")
		})
	}
}

func TestReconcileLosesNothingWhileTheReceiverAndTheLeaderAreAway(t *testing.T) {
	g := NewWithT(t)
	robot := newRobot(t)
	b := newBench(t, testkit.NewFake(t, robot.secret(), robot.subscription()))
	b.reconcile()
	b.turn(b.release("web"), "Suspend", "Suspended", "True", "PodsFailed")
	robot.status = http.StatusBadGateway
	g.Expect(b.reconcile()).To(Equal(1))
	g.Expect(b.reconcile()).To(Equal(1), "it isn't sent before its time")
	g.Expect(robot.requests).To(HaveLen(1))
	g.Expect(b.ready()).To(Equal("False ReceiverUnavailable: the receiver failed (HTTP 502)"))
	b.step(1)
	g.Expect(b.reconcile()).To(Equal(2))
	g.Expect(b.object().Status.Pending).To(BeEquivalentTo(2))
	g.Expect(testutil.ToFloat64(b.Metrics.pending.WithLabelValues("shop"))).To(Equal(2.0))
	b.Reconciler = b.restarted()
	b.step(1)
	g.Expect(b.reconcile()).To(Equal(1), "a new leader waits as well")
	robot.status = http.StatusOK
	b.step(1)
	g.Expect(b.reconcile()).To(Equal(600))
	g.Expect(robot.bodies).To(HaveLen(2))
	g.Expect(robot.bodies[0]).To(ContainSubstring("has started"))
	g.Expect(robot.bodies[1]).To(ContainSubstring("is suspended"))
	g.Expect(b.ready()).To(Equal("True Ready: no message fails"))
	b.Reconciler = b.restarted()
	b.step(1)
	b.reconcile()
	g.Expect(robot.bodies).To(HaveLen(2), "a restart tells nothing twice")
}

func TestReconcileTellsWhatHappenedWhileNoOperatorRanAlsoAfterAFailure(t *testing.T) {
	g := NewWithT(t)
	robot := newRobot(t)
	b := newBench(t, testkit.NewFake(t, robot.secret(), robot.subscription()))
	b.reconcile()
	b.release("web")
	robot.status = http.StatusBadGateway
	g.Expect(b.reconcile()).To(Equal(1))
	b.step(3600)
	b.release("cart")
	b.step(7200)
	robot.status = http.StatusOK
	b.Reconciler = b.restarted()
	b.reconcile()
	g.Expect(robot.bodies).To(ConsistOf(And(ContainSubstring("2 events that could not be told in time"), ContainSubstring("shop/deployment/cart"))))
	g.Expect(b.object().Status.Dropped).To(BeZero())
	g.Expect(b.ready()).To(Equal("True Ready: no message fails"))
}

// The clock of the leader is set back, or a node with another clock has the next leader.
func TestReconcileTellsWhatHappensAfterTheClockWentBack(t *testing.T) {
	g := NewWithT(t)
	robot := newRobot(t)
	b := newBench(t, testkit.NewFake(t, robot.secret(), robot.subscription(func(s *appv1alpha1.ChangeSubscription) {
		s.CreationTimestamp = metav1.NewTime(testkit.Now().Add(-24 * time.Hour))
	})))
	early := b.release("early")
	b.reconcile()
	b.step(1200)
	b.reconcile()
	g.Expect(robot.bodies).To(ConsistOf(ContainSubstring("shop/early: release 2 has started")))
	robot.status = http.StatusBadGateway
	b.turn(early, "Suspend", "Suspended", "True", "PodsFailed")
	b.reconcile()
	b.step(-3600)
	robot.status = http.StatusOK
	b.release("late")
	g.Expect(b.reconcile()).To(Equal(600))
	g.Expect(robot.bodies[1:]).To(ConsistOf(ContainSubstring("shop/late: release 2 has started"), ContainSubstring("shop/early: release 2 failed")))
	b.step(600)
	b.reconcile()
	g.Expect(robot.bodies).To(HaveLen(3), "nothing is told twice")
}

func TestReconcileTellsAFailureThatEndedWhileTheReceiverWasAway(t *testing.T) {
	g := NewWithT(t)
	robot := newRobot(t)
	b := newBench(t, testkit.NewFake(t, robot.secret(), robot.subscription(func(s *appv1alpha1.ChangeSubscription) {
		s.Spec.Events = []appv1alpha1.SubscribedEvent{"ReleaseSuspended"}
	})))
	b.reconcile()
	release := b.release("web")
	b.turn(release, "Suspend", "Suspended", "True", "PodsFailed")
	robot.status = http.StatusBadGateway
	b.reconcile()
	b.step(1)
	b.turn(release, "Success", "Suspended", "False", "Lifted")
	robot.status = http.StatusOK
	b.reconcile()
	g.Expect(robot.bodies).To(HaveLen(2))
	g.Expect(robot.bodies[0]).To(ContainSubstring("failed and is suspended"))
	g.Expect(robot.bodies[1]).To(ContainSubstring("is no longer suspended"))
	b.reconcile()
	g.Expect(robot.bodies).To(HaveLen(2))
}

func TestReconcileRepeatsOnlyTheSameIDAfterACrash(t *testing.T) {
	g := NewWithT(t)
	robot := newRobot(t)
	crash := false
	kube := interceptor.NewClient(testkit.NewFake(t, robot.subscription(func(s *appv1alpha1.ChangeSubscription) { s.Spec.Sink.Type = "CDEvents" }), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: "robot"}, Data: map[string][]byte{"url": []byte(robot.URL)},
	}), interceptor.Funcs{SubResourcePatch: func(ctx context.Context, kube client.Client, of string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
		if _, isSubscription := object.(*appv1alpha1.ChangeSubscription); isSubscription && crash {
			return errors.New("crash")
		}
		return kube.SubResource(of).Patch(ctx, object, patch, options...)
	}})
	b := newBench(t, kube)
	b.reconcile()
	b.release("web")
	crash = true
	request := ctrl.Request{NamespacedName: client.ObjectKey{Namespace: system, Name: "shop"}}
	_, err := b.Reconcile(t.Context(), request)
	g.Expect(err).To(MatchError(ContainSubstring("crash")))
	_, err = b.Reconcile(t.Context(), request)
	g.Expect(err).To(MatchError(ContainSubstring("crash")), "the status is written later")
	g.Expect(robot.requests).To(HaveLen(1), "the process remembers")
	crash = false
	b.Reconciler = b.restarted()
	b.reconcile()
	g.Expect(robot.requests).To(HaveLen(2))
	g.Expect(robot.requests[0].Header.Get("Webhook-Id")).To(And(HaveLen(36), Equal(robot.requests[1].Header.Get("Webhook-Id"))))
}

func TestReconcileTellsNothingThatWaitedForASubscriptionThatWasReplaced(t *testing.T) {
	g := NewWithT(t)
	robot := newRobot(t)
	b := newBench(t, testkit.NewFake(t, robot.secret(), robot.subscription()))
	b.release("web")
	robot.status = http.StatusBadGateway
	b.reconcile()
	g.Expect(b.kube.Delete(t.Context(), b.object())).To(Succeed())
	b.step(60)
	g.Expect(b.kube.Create(t.Context(), robot.subscription(func(s *appv1alpha1.ChangeSubscription) {
		s.UID, s.CreationTimestamp = "s-2", metav1.NewTime(b.clock.Now())
	}))).To(Succeed())
	robot.status = http.StatusOK
	b.reconcile() // it never saw that the one before was gone
	g.Expect(robot.bodies).To(BeEmpty())
	b.release("cart")
	b.reconcile()
	g.Expect(robot.bodies).To(ConsistOf(ContainSubstring("shop/cart")))
}

func TestReconcileGivesUpAfterAnHour(t *testing.T) {
	g := NewWithT(t)
	robot := newRobot(t)
	b := newBench(t, testkit.NewFake(t, robot.secret(), robot.subscription()))
	b.reconcile()
	b.release("web")
	robot.status = http.StatusInternalServerError
	elapsed := 0
	for elapsed < 3600 {
		wait := b.reconcile()
		g.Expect(wait).To(BeNumerically(">", 0))
		b.step(wait)
		elapsed += wait
	}
	g.Expect(len(robot.requests)).To(And(BeNumerically(">", 15), BeNumerically("<", 25)))
	b.reconcile()
	g.Expect(b.object().Status.Dropped).To(BeEquivalentTo(1))
	g.Expect(b.object().Status.Pending).To(BeZero())
	g.Expect(b.recorder.Events).To(Receive(Equal("Warning NotificationsDropped 1 of its events could not be delivered: no message could be sent for 1h0m0s")))
	g.Expect(testutil.ToFloat64(b.Metrics.total.WithLabelValues("DingTalk", "Dropped"))).To(Equal(1.0))
}

func TestReconcileDropsWhatTheReceiverRefuses(t *testing.T) {
	g := NewWithT(t)
	robot := newRobot(t)
	b := newBench(t, testkit.NewFake(t, robot.secret(), robot.subscription()))
	b.reconcile()
	b.release("web")
	robot.answer = `{"errcode":310000,"errmsg":"no keyword, token-1234, SECtest"}`
	b.reconcile()
	g.Expect(robot.requests).To(HaveLen(1))
	g.Expect(b.ready()).To(Equal("False ReceiverRefused: the receiver refused the message (code 310000): no keyword, ***, ***"))
	g.Expect(b.recorder.Events).To(Receive(ContainSubstring("1 of its events could not be delivered: the receiver refused the message")))
	b.step(1)
	b.reconcile()
	g.Expect(b.ready()).To(HavePrefix("False ReceiverRefused"), "nothing shows that it takes messages")
	robot.answer = `{"errcode":0,"errmsg":"ok"}`
	b.release("cart")
	b.reconcile()
	g.Expect(b.ready()).To(Equal("True Ready: no message fails"))
	g.Expect(b.object().Status.Dropped).To(BeEquivalentTo(1))
}

func TestReconcileLooksAgainAtWhatItCouldNotRead(t *testing.T) {
	g := NewWithT(t)
	robot := newRobot(t)
	kube := interceptor.NewClient(testkit.NewFake(t, robot.secret(), robot.subscription()), interceptor.Funcs{
		List: func(ctx context.Context, kube client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if _, isReleases := list.(*appv1alpha1.ChangeWorkloadList); isReleases {
				return errors.New("away")
			}
			return kube.List(ctx, list, options...)
		},
	})
	b := newBench(t, kube)
	_, err := b.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: system, Name: "shop"}})
	g.Expect(err).To(MatchError("listing the ChangeWorkloads: away"))
	g.Expect(b.object().Status.ObservedGeneration).To(BeZero(), "nothing was looked at")
}

func TestLinesHaveTheLimitOfTheirReceiver(t *testing.T) {
	g := NewWithT(t)
	var all lines
	object := newRobot(t).subscription()
	g.Expect(all.of(object).limiter.Burst()).To(Equal(5))
	g.Expect(all.of(object).limiter).To(BeIdenticalTo(all.of(object).limiter), "it isn't filled anew")
	object.Spec.Sink.Type = "Slack"
	g.Expect(all.of(object).limiter.Burst()).To(Equal(20))
	object.Spec.Sink.Type = "Feishu"
	g.Expect(all.of(object).limiter.Burst()).To(Equal(5), "it takes 5 a second")
}

func TestReconcileNotesWhatItSentBeforeItsProcessEnds(t *testing.T) {
	g := NewWithT(t)
	robot := newRobot(t)
	ctx, end := context.WithCancel(t.Context())
	takes := robot.Config.Handler
	robot.Config.Handler = http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		if len(robot.bodies) == 1 && ctx.Err() == nil {
			end() // with the second message
			return
		}
		takes.ServeHTTP(writer, request)
	})
	b := newBench(t, interceptor.NewClient(testkit.NewFake(t, robot.secret(), robot.subscription()), interceptor.Funcs{
		SubResourcePatch: func(ctx context.Context, kube client.Client, of string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return kube.SubResource(of).Patch(ctx, object, patch, options...)
		},
	}))
	b.release("web")
	b.release("cart")
	_, err := b.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKey{Namespace: system, Name: "shop"}})
	g.Expect(err).To(MatchError(context.Canceled))
	b.Reconciler = b.restarted()
	b.reconcile()
	g.Expect(robot.bodies).To(ConsistOf(ContainSubstring("shop/web"), ContainSubstring("shop/cart")), "each once")
}

func TestReconcileGivesUpWithoutAUsableSecret(t *testing.T) {
	good := newRobot(t)
	for name, row := range map[string]struct {
		edit  func(*appv1alpha1.ChangeSubscription)
		ready string
	}{
		"no Secret":    {func(s *appv1alpha1.ChangeSubscription) { s.Spec.Sink.SecretRef.Name = "gone" }, "False BadSecret: "},
		"no authority": {func(s *appv1alpha1.ChangeSubscription) { s.Spec.Sink.CABundle = "a" }, "False Invalid: "},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			robot := newRobot(t)
			b := newBench(t, testkit.NewFake(t, robot.secret(), robot.subscription(row.edit)))
			b.release("web")
			for range 59 {
				g.Expect(b.reconcile()).To(Equal(60))
				b.step(60)
			}
			g.Expect(b.ready()).To(HavePrefix(row.ready))
			g.Expect(testutil.ToFloat64(b.Metrics.total.WithLabelValues("DingTalk", "Failed"))).To(BeNumerically(">=", 58), "which fires an alert")
			b.release("cart")
			b.reconcile()
			g.Expect(b.object().Status.Pending).To(BeEquivalentTo(2))
			b.step(60)
			b.reconcile()
			g.Expect(b.object().Status.Pending).To(BeEquivalentTo(1))
			g.Expect(b.object().Status.Dropped).To(BeEquivalentTo(1))
			g.Expect(b.recorder.Events).To(Receive(ContainSubstring("no message could be sent for 1h0m0s")))
			object := b.object()
			object.Spec, object.Generation = robot.subscription().Spec, 2
			g.Expect(b.kube.Update(t.Context(), object)).To(Succeed())
			b.reconcile()
			g.Expect(robot.bodies).To(ConsistOf(ContainSubstring("shop/cart")), "what waited for less than an hour")
			g.Expect(b.object().Status.FailingSince).To(BeNil())
		})
	}
	g := NewWithT(t)
	b := newBench(t, testkit.NewFake(t, good.subscription()))
	b.reconcile()
	g.Expect(b.object().Status.FailingSince).NotTo(BeNil())
	g.Expect(b.kube.Create(t.Context(), good.secret())).To(Succeed())
	b.step(60)
	b.reconcile()
	g.Expect(b.object().Status.FailingSince).To(BeNil(), "although nothing was sent")
}

func TestReconcileGivesUpWithoutTheRightToReadTheSecret(t *testing.T) {
	g := NewWithT(t)
	robot := newRobot(t)
	kube := interceptor.NewClient(testkit.NewFake(t, robot.secret(), robot.subscription()), interceptor.Funcs{
		Get: func(ctx context.Context, kube client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			if _, isSecret := object.(*corev1.Secret); isSecret {
				return errors.New("forbidden")
			}
			return kube.Get(ctx, key, object, options...)
		},
	})
	b := newBench(t, kube)
	b.release("web")
	request := ctrl.Request{NamespacedName: client.ObjectKey{Namespace: system, Name: "shop"}}
	for range 2 {
		_, err := b.Reconcile(t.Context(), request)
		g.Expect(err).To(MatchError("reading Secret altershieldoperator-system/robot: forbidden"))
		b.step(3600)
	}
	g.Expect(b.object().Status.Dropped).To(BeEquivalentTo(1))
	g.Expect(b.object().Status.Pending).To(BeZero())
}

func TestReconcileShowsNoPartOfATokenThatIsCut(t *testing.T) {
	g := NewWithT(t)
	robot := newRobot(t)
	b := newBench(t, testkit.NewFake(t, robot.secret(), robot.subscription()))
	b.release("web")
	robot.answer = `{"errcode":310000,"errmsg":"` + strings.Repeat("x", 118) + `token-1234, and more"}`
	b.reconcile()
	g.Expect(b.ready()).To(Equal("False ReceiverRefused: the receiver refused the message (code 310000): " + strings.Repeat("x", 118) + "***, an..."))
	g.Expect(b.recorder.Events).To(Receive(Not(ContainSubstring("token"))))
}

func TestFaultsAreRedacted(t *testing.T) {
	address, err := url.Parse("https://oapi.dingtalk.com/robot%2Fsend-1/send?v=2&access_token=token-1234&sig=abc%2Fdef%2B")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	failing := &receiver{kind: "DingTalk", address: address, secret: "new-key-1234\r\nold-key-1234"}
	for text, wanted := range map[string]string{
		`malformed HTTP response "token-1234"`:                                          `malformed HTTP response "***"`,
		"neither new-key-1234, nor old-key-1234":                                        "neither ***, nor ***",
		"no route to /robot%2Fsend-1/send?access_token=token-1234&sig=abc%2Fdef%2B&v=2": "no route to /***/send?access_token=***&sig=***&v=2",
		strings.Repeat("x", 250) + "token-1234 and more":                                strings.Repeat("x", 250) + "***...",
	} {
		NewWithT(t).Expect(failing.fault(errors.New(text)).Message).To(Equal(wanted))
	}
}

func TestReconcileWaitsAsTheReceiverAsks(t *testing.T) {
	robot := newRobot(t)
	b := newBench(t, testkit.NewFake(t, robot.secret(), robot.subscription()))
	b.reconcile()
	b.release("web")
	robot.status, robot.header = http.StatusServiceUnavailable, http.Header{"Retry-After": {"40"}}
	NewWithT(t).Expect(b.reconcile()).To(Equal(40))
}

func TestReconcileStaysUnderTheLimitOfDingTalk(t *testing.T) {
	for _, digest := range []int32{0, 30} {
		t.Run(fmt.Sprint("digest ", digest), func(t *testing.T) {
			g := NewWithT(t)
			robot := newRobot(t)
			b := newBench(t, testkit.NewFake(t, robot.secret(), robot.subscription(func(s *appv1alpha1.ChangeSubscription) { s.Spec.DigestSeconds = digest })))
			b.reconcile()
			var sent []time.Time
			for release := 0; release < 100 || b.object().Status.Pending > 0; release++ {
				wait := 1
				if release < 100 { // one each second, so that no message tells them all
					b.turn(b.release(fmt.Sprint("web-", release)), "Suspend", "Suspended", "True", "PodsFailed")
				}
				before := len(robot.bodies)
				if next := b.reconcile(); release >= 100 {
					wait = max(next, 1)
				}
				for range len(robot.bodies) - before {
					sent = append(sent, b.clock.Now())
				}
				b.step(wait)
			}
			g.Expect(len(sent)).To(BeNumerically(">", 15))
			for i := range sent[15:] {
				g.Expect(sent[i+15].Sub(sent[i])).To(BeNumerically(">=", time.Minute), "message %d", i+15)
			}
			told := strings.Join(robot.bodies, "\n")
			g.Expect(b.object().Status.Pending).To(BeZero())
			g.Expect(b.object().Status.Dropped).To(BeZero())
			g.Expect(told).To(ContainSubstring("web"))
			g.Expect(testutil.ToFloat64(b.Metrics.total.WithLabelValues("DingTalk", "Sent"))).To(Equal(200.0))
		})
	}
}

func TestReconcileTellsEachOfManyEventsOnce(t *testing.T) {
	g := NewWithT(t)
	robot := newRobot(t)
	secret := robot.secret()
	delete(secret.Data, "secret")
	b := newBench(t, testkit.NewFake(t, secret, robot.subscription(func(s *appv1alpha1.ChangeSubscription) { s.Spec.Sink.Type = "CDEvents" })))
	b.reconcile()
	for i := range 300 { // in one second, more than the status can list
		b.release(fmt.Sprint("web-", i))
	}
	for wait := 1; wait < 600; b.step(wait) {
		wait = b.reconcile()
	}
	b.reconcile()
	told := map[string]int{}
	for _, request := range robot.requests {
		told[request.Header.Get("Webhook-Id")]++
	}
	g.Expect(told).To(HaveLen(300))
	g.Expect(told).To(HaveEach(1))
	g.Expect(len(b.object().Status.Delivered)).To(BeNumerically("<=", 256))
}

func TestReconcileTellsWhatTheCacheShowsAfterManyEvents(t *testing.T) {
	g := NewWithT(t)
	robot := newRobot(t)
	b := newBench(t, testkit.NewFake(t, robot.secret(), robot.subscription(func(s *appv1alpha1.ChangeSubscription) { s.Spec.Sink.Type = "Slack" })))
	b.reconcile()
	late := b.release("late")
	b.turn(late, "Suspend", "Suspended", "True", "PodsFailed")
	g.Expect(b.kube.Delete(t.Context(), late)).To(Succeed()) // the cache doesn't show it yet
	b.step(3)
	for i := range 260 { // in one second, more than the status can list
		b.release(fmt.Sprint("web-", i))
	}
	b.reconcile()
	g.Expect(b.object().Status.Delivered).To(HaveLen(256))
	late.ResourceVersion = ""
	g.Expect(b.kube.Create(t.Context(), late)).To(Succeed())
	b.release("last")
	b.step(1)
	b.reconcile()
	g.Expect(robot.bodies).To(HaveLen(4))
	g.Expect(robot.bodies[1:]).To(ConsistOf(
		ContainSubstring("shop/late: release 2 has started"), ContainSubstring("shop/late: release 2 failed"), ContainSubstring("shop/last: release 2 has started")))
}

func TestReconcileTellsABurstOnceIfTheLeaderChangesAMinuteLater(t *testing.T) {
	g := NewWithT(t)
	robot := newRobot(t)
	b := newBench(t, testkit.NewFake(t, robot.secret(), robot.subscription(func(s *appv1alpha1.ChangeSubscription) { s.Spec.Sink.Type = "Slack" })))
	b.reconcile()
	for i := range 400 { // in one second, more than the status can list
		b.release(fmt.Sprint("web-", i))
	}
	wait := b.reconcile()
	g.Expect(wait).To(Equal(61))
	g.Expect(robot.bodies).To(HaveLen(1))
	b.step(wait)
	g.Expect(b.reconcile()).To(Equal(600))
	b.Reconciler = b.restarted()
	b.reconcile()
	g.Expect(robot.bodies).To(HaveLen(1))
}

func TestReconcileTellsOldEventsInOneMessage(t *testing.T) {
	g := NewWithT(t)
	robot := newRobot(t)
	b := newBench(t, testkit.NewFake(t, robot.secret(), robot.subscription()))
	b.reconcile()
	b.turn(b.release("web"), "Suspend", "Suspended", "True", "PodsFailed")
	b.Reconciler = b.restarted()
	b.step(7200)
	b.reconcile()
	g.Expect(robot.bodies).To(ConsistOf(ContainSubstring("2 events that could not be told in time")))
}

func TestReconcileTellsTheImagesOfAVerifiedRelease(t *testing.T) {
	g := NewWithT(t)
	robot := newRobot(t)
	secret := robot.secret()
	delete(secret.Data, "secret")
	record := &appv1alpha1.ChangeRecord{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "de0d99055d9c8d4f-2"},
		Spec: appv1alpha1.ChangeRecordSpec{
			Version: version, StartedAt: metav1.NewTime(testkit.Now()), Images: []appv1alpha1.RecordedImage{{Image: "web:1.9", Digest: "sha256:abc"}},
		},
	}
	b := newBench(t, testkit.NewFake(t, secret, record, robot.subscription(func(s *appv1alpha1.ChangeSubscription) {
		s.Spec.Sink.Type, s.Spec.Events = "CDEvents", []appv1alpha1.SubscribedEvent{"ReleaseVerified"}
	})))
	b.turn(b.release("web"), "Success", "Verified", "True", "AllPodsPassed")
	b.reconcile()
	g.Expect(robot.bodies).To(ConsistOf(ContainSubstring(`"artifactId":"pkg:oci/web@sha256%3Aabc?tag=1.9"`)))
}
