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

package routers

import (
	"context"
	"errors"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// appear adds a ChangePod to the cache, which notifies the server: first without its check, as at the beginning.
func (b *bench) appear(t testing.TB, changePod *appv1alpha1.ChangePod) {
	t.Helper()
	g := NewWithT(t)
	informer, err := b.informer.FakeInformerFor(t.Context(), changePod)
	g.Expect(err).NotTo(HaveOccurred())
	status := changePod.DeepCopy().Status
	g.Expect(b.kube.Create(t.Context(), changePod)).To(Succeed())
	informer.Add(&appv1alpha1.ChangePod{ObjectMeta: changePod.ObjectMeta, Spec: changePod.Spec}) // its status follows
	changePod.Status = status
	g.Expect(b.kube.Status().Update(t.Context(), changePod)).To(Succeed())
	informer.Update(nil, changePod)
}

// during sends a callback, and calls a function after the server has waited for the ChangePod for the given time.
func during(t *testing.T, b *bench, since time.Duration, do func()) (*httptest.ResponseRecorder, time.Duration) {
	t.Helper()
	if err := b.watch(t.Context()); err != nil {
		t.Fatal(err)
	}
	request := signed(t, bodyOf("POST", "fail"))
	var answer *httptest.ResponseRecorder
	start := time.Now()
	var took time.Duration
	done := make(chan struct{})
	go func() {
		defer close(done)
		answer = b.serveHTTP(request)
		took = time.Since(start)
	}()
	time.Sleep(since) // of the bubble's clock
	synctest.Wait()
	do()
	<-done
	time.Sleep(2 * time.Minute) // of the bubble's clock: a verdict that is unknown so far is not given up before
	synctest.Wait()
	if len(b.arrivals.awaited) > 0 {
		t.Error("the wait was not cleared up")
	}
	return answer, took
}

func TestAwaitWaitsForTheChangePodThatAVerdictOvertook(t *testing.T) {
	for name, workloads := range map[string][]client.Object{
		"where its order is known":   {changeWorkload()},
		"where its order is unknown": nil,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := NewWithT(t)
				b := newBench(t, interceptor.Funcs{}, workloads...)
				answer, took := during(t, b, 2900*time.Millisecond, func() { b.appear(t, changePod("PostSubmitted", "")) })
				g.Expect(answer.Body.String()).To(beSuccess("the verdict is saved"))
				g.Expect(took).To(Equal(2900 * time.Millisecond))
				g.Expect(b.changePod(t).Status.Status).To(BeEquivalentTo("ExecuteDone"))
				g.Expect(b.counted(t)).To(ConsistOf("altershield_callbacks_total{applied} 1", "altershield_verdicts_total{POST,fail} 1"))
			})
		})
	}
}

func TestAwaitFindsAChangePodThatIsFirstSeenWithItsCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		b := newBench(t, interceptor.Funcs{})
		answer, took := during(t, b, time.Second, func() {
			informer, err := b.informer.FakeInformerFor(t.Context(), &appv1alpha1.ChangePod{})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(b.kube.Create(t.Context(), changePod("PostSubmitted", ""))).To(Succeed())
			informer.Add(changePod("PostSubmitted", ""))
		})
		g.Expect(answer.Body.String()).To(beSuccess("the verdict is saved"))
		g.Expect(took).To(Equal(time.Second))
	})
}

func TestAwaitEndsAfterThreeSecondsWithAParkedVerdict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		b := newBench(t, interceptor.Funcs{}, changeWorkload())
		other := changePod("PostSubmitted", "")
		other.Status.ChangePodID = "check-2"
		answer, took := during(t, b, time.Second, func() { b.appear(t, other) })
		g.Expect(took).To(Equal(3 * time.Second))
		g.Expect(answer.Code).To(Equal(200))
		g.Expect(answer.Body.String()).To(beSuccess("the verdict is kept until its ChangePod is known"))
		g.Expect(b.parked(t)).To(HaveExactElements("check-1 POST unpass error rate: find error"))
		g.Expect(b.counted(t)).To(ConsistOf("altershield_callbacks_total{parked} 1"))
		g.Expect(string(b.log.Contents())).To(ContainSubstring(`"changeWorkload":{"name":"sleep--x--c6c45d23c098bdf181853a85b60b5d74","namespace":"default"}`))
	})
}

func TestParkReportsAnUnknownCheckAndOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		b := newBench(t, interceptor.Funcs{})
		answer, took := during(t, b, 0, func() {})
		g.Expect(took).To(Equal(3 * time.Second))
		g.Expect(answer.Code).To(Equal(200))
		g.Expect(answer.Body.String()).To(beFailure("no ChangePod has the check check-1"))
		g.Expect(b.counted(t)).To(ConsistOf("altershield_callbacks_total{unknown} 1"))
	})
}

func TestTakeSavesAVerdictWhoseChangePodTheCacheShowsLate(t *testing.T) {
	for name, row := range map[string]struct {
		appear client.Object
		after  time.Duration
		counts []string
	}{
		"once its ChangePod is there": {changePod("PostSubmitted", ""), 59 * time.Second,
			[]string{"altershield_callbacks_total{unknown} 1", "altershield_callbacks_total{applied} 1", "altershield_verdicts_total{POST,fail} 1"}},
		"where its order is there by then": {changeWorkload(), 59 * time.Second,
			[]string{"altershield_callbacks_total{unknown} 1", "altershield_callbacks_total{parked} 1"}},
		"for a minute": {changePod("PostSubmitted", ""), 2 * time.Minute, []string{"altershield_callbacks_total{unknown} 1"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := NewWithT(t)
				b := newBench(t, interceptor.Funcs{})
				g.Expect(b.watch(t.Context())).To(Succeed())
				answer := b.callBack(t, bodyOf("POST", "fail"))
				g.Expect(answer.Body.String()).To(beFailure("no ChangePod has the check check-1"))
				time.Sleep(row.after)
				synctest.Wait()
				if changePod, isChangePod := row.appear.(*appv1alpha1.ChangePod); isChangePod {
					b.appear(t, changePod)
				} else {
					g.Expect(b.kube.Create(t.Context(), row.appear)).To(Succeed())
				}
				time.Sleep(time.Minute)
				synctest.Wait()
				g.Expect(b.counted(t)).To(ConsistOf(row.counts))
			})
		})
	}
}

func TestAwaitEndsAtOnceWhenTheServerIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		b := newBench(t, interceptor.Funcs{}, changeWorkload())
		gone, leave := context.WithCancel(t.Context())
		leave()
		start := time.Now()
		b.serveHTTP(signed(t, bodyOf("POST", "fail")).WithContext(gone))
		g.Expect(time.Since(start)).To(BeZero())
		g.Expect(b.parked(t)).To(HaveLen(1))
	})
}

func TestAwaitFindsAChangePodThatAppearsJustBeforeTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		var b *bench
		first := true
		b = newBench(t, interceptor.Funcs{List: func(ctx context.Context, kube client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			err := kube.List(ctx, list, options...)
			if first {
				first = false
				b.appear(t, changePod("PostSubmitted", ""))
			}
			return err
		}}, changeWorkload())
		answer, took := during(t, b, 0, func() {})
		g.Expect(took).To(BeZero())
		g.Expect(answer.Body.String()).To(beSuccess("the verdict is saved"))
	})
}

func TestArrivalsAnnounceACheckOnceToAllThatAwaitIt(t *testing.T) {
	g := NewWithT(t)
	a := newArrivals()
	one, forgetOne := a.expect("check-1")
	two, forgetTwo := a.expect("check-1")
	three, forgetThree := a.expect("check-2")
	a.announce(changePod("PreWait", ""))
	g.Expect(one).To(BeClosed())
	g.Expect(two).To(BeClosed())
	g.Expect(three).NotTo(BeClosed())
	again, forgetAgain := a.expect("check-1")
	g.Expect(again).NotTo(BeClosed(), "only later arrivals count")
	forgetOne()
	forgetTwo()
	a.announce(changePod("PreSubmitted", ""))
	g.Expect(again).To(BeClosed(), "others that have done don't take it away")
	forgetAgain()
	forgetThree()
	g.Expect(a.awaited).To(BeEmpty())
}

func TestArrivalsIgnoreWhatHasNoCheck(t *testing.T) {
	g := NewWithT(t)
	a := newArrivals()
	arrived, forget := a.expect("")
	defer forget()
	a.announce(&appv1alpha1.ChangePod{})
	a.announce(errors.New("not a ChangePod"))
	g.Expect(arrived).NotTo(BeClosed())
}
