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

package command_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// watched has each watch come from a channel, and notes how it was asked for.
type watched struct {
	watches chan *watch.FakeWatcher
	asked   atomic.Pointer[client.ListOptions]
	// lists counts the lists, listing answers them with an error, and answering has them wait until it is closed.
	lists     atomic.Int32
	listing   atomic.Pointer[error]
	answering atomic.Pointer[chan struct{}]
	err       error
}

func (w *watched) funcs() interceptor.Funcs {
	return interceptor.Funcs{
		Watch: func(_ context.Context, _ client.WithWatch, _ client.ObjectList, options ...client.ListOption) (watch.Interface, error) {
			asked := &client.ListOptions{}
			asked.ApplyOptions(options)
			w.asked.Store(asked)
			if w.err != nil {
				return nil, w.err
			}
			opened := watch.NewFake()
			w.watches <- opened
			return opened, nil
		},
		List: func(ctx context.Context, kube client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if _, ours := list.(*appv1alpha1.ChangeWorkloadList); ours {
				w.lists.Add(1)
				if answering := w.answering.Load(); answering != nil {
					<-*answering
				}
				if failure := w.listing.Load(); failure != nil {
					return *failure
				}
			}
			err := kube.List(ctx, list, options...)
			list.SetResourceVersion("4711")
			return err
		},
	}
}

// followed returns a bench whose watches the test holds.
func followed(t *testing.T, objects ...client.Object) (*bench, *watched) {
	t.Helper()
	w := &watched{watches: make(chan *watch.FakeWatcher, 10)}
	b := newBenchWith(t, w.funcs(), objects...)
	b.tick(func(int) {})
	return b, w
}

func TestTheStreamOfAPageFollowsByAWatch(t *testing.T) {
	g := NewWithT(t)
	b, w := followed(t, failed(7, "49"), set("db"))
	next := b.page().stream("/api/stream?namespace=shop")
	g.Expect(next()).To(And(HavePrefix(`{"type":"snapshot","list":{"kind":"ReleaseList"`), ContainSubstring(`"workload":"web"`), ContainSubstring(`"workload":"db"`)))
	opened := <-w.watches
	asked := w.asked.Load()
	g.Expect(asked.Namespace).To(Equal("shop"))
	g.Expect(asked.Raw.ResourceVersion).To(Equal("4711"), "it goes on where the list ended")
	opened.Modify(verified(7, "49"))
	g.Expect(next()).To(And(HavePrefix(`{"type":"release"`), ContainSubstring(`"state":"Success"`)))
	opened.Action(watch.Bookmark, &metav1.Status{})
	opened.Delete(set("db"))
	g.Expect(next()).To(Equal(`{"type":"gone","namespace":"shop","kind":"StatefulSet","group":"apps","workload":"db"}` + "\n"))
	opened.Add(set("queue"))
	g.Expect(next()).To(ContainSubstring(`"workload":"queue"`))
}

func TestAStreamWhoseWatchEndsIsListedAgain(t *testing.T) {
	for name, end := range map[string]func(*watch.FakeWatcher){
		"it ends":    func(opened *watch.FakeWatcher) { opened.Stop() },
		"it expires": func(opened *watch.FakeWatcher) { opened.Error(&metav1.Status{Code: 410, Reason: "Expired"}) },
	} {
		g := NewWithT(t)
		b, w := followed(t, failed(7, "49"))
		next := b.page().stream("/api/stream")
		g.Expect(next()).To(HavePrefix(`{"type":"snapshot"`), name)
		g.Expect(b.kube.Create(t.Context(), set("db"))).To(Succeed())
		opened := <-w.watches
		end(opened)
		g.Expect(next()).To(And(HavePrefix(`{"type":"release"`), ContainSubstring(`"workload":"db"`)), name)
		g.Eventually(w.watches, "5s").Should(Receive(), name)
		g.Expect(w.lists.Load()).To(BeEquivalentTo(2), name)
	}
}

func TestAStreamWithoutTheRightToWatchIsListed(t *testing.T) {
	g := NewWithT(t)
	b, w := followed(t, failed(7, "49"))
	w.err = forbidden("watch", "app.ops.cloud.alipay.com", "changeworkloads")
	next := b.page().stream("/api/stream")
	g.Expect(next()).To(HavePrefix(`{"type":"snapshot"`))
	g.Expect(b.kube.Create(t.Context(), set("db"))).To(Succeed())
	g.Expect(next()).To(And(HavePrefix(`{"type":"release"`), ContainSubstring(`"workload":"db"`)))
	w.asked.Store(nil)
	before := w.lists.Load()
	g.Eventually(func() int32 { return w.lists.Load() }, "10s").Should(BeNumerically(">", before+2))
	g.Expect(w.asked.Load()).To(BeNil(), "it isn't tried again")
}

func TestAStreamOutlivesAnAPIServerThatDoesNotAnswer(t *testing.T) {
	g := NewWithT(t)
	b, w := followed(t, failed(7, "49"))
	next := b.page().stream("/api/stream")
	g.Expect(next()).To(HavePrefix(`{"type":"snapshot"`))
	refused := errors.New("connection refused")
	w.listing.Store(&refused)
	opened := <-w.watches
	opened.Stop()
	g.Expect(next()).To(Equal(`{"type":"stale","error":"listing ChangeWorkloads: connection refused"}` + "\n"))
	w.listing.Store(nil)
	g.Eventually(w.watches, "5s").Should(Receive(&opened))
	opened.Modify(verified(7, "49"))
	g.Expect(next()).To(ContainSubstring(`"state":"Success"`))

	lost := error(apierrors.NewUnauthorized("expired"))
	w.listing.Store(&lost)
	b2, w2 := followed(t, failed(7, "49"))
	next = b2.page().stream("/api/stream")
	g.Expect(next()).To(HavePrefix(`{"type":"snapshot"`))
	w2.listing.Store(&lost)
	(<-w2.watches).Stop()
	g.Expect(next()).To(Equal(`{"type":"resync"}`+"\n"), "the page connects again, and gets the error")
	g.Expect(next()).To(Equal("EOF"))
}

func TestAStreamIsStaleWhileAListTakesItsTime(t *testing.T) {
	g := NewWithT(t)
	b, w := followed(t, failed(7, "49"))
	answering := make(chan struct{})
	next := b.page().stream("/api/stream")
	g.Expect(next()).To(HavePrefix(`{"type":"snapshot"`))
	g.Expect(b.kube.Create(t.Context(), set("db"))).To(Succeed())
	w.answering.Store(&answering)
	(<-w.watches).Stop()
	g.Eventually(w.lists.Load, "5s").Should(BeEquivalentTo(2))
	b.clock.Step(5 * time.Second)
	g.Expect(next()).To(Equal(`{"type":"stale","error":"the API server takes long to answer"}` + "\n"))
	close(answering)
	g.Expect(next()).To(And(HavePrefix(`{"type":"release"`), ContainSubstring(`"workload":"db"`)))
}

func TestAStreamOfListsIsNotStaleWhileAListTakesNoLongerThanOthers(t *testing.T) {
	g := NewWithT(t)
	b, w := followed(t, failed(7, "49"))
	w.err = forbidden("watch", "app.ops.cloud.alipay.com", "changeworkloads")
	answering := make(chan struct{}) // one list each time
	defer close(answering)
	w.answering.Store(&answering)
	page := b.page()
	go func() {
		for w.lists.Load() == 0 {
			time.Sleep(time.Millisecond)
		}
		b.clock.Step(6 * time.Second)
		answering <- struct{}{}
	}()
	next := page.stream("/api/stream")
	g.Expect(next()).To(HavePrefix(`{"type":"snapshot"`))
	g.Expect(b.kube.Create(t.Context(), set("db"))).To(Succeed())
	g.Eventually(w.lists.Load, "5s").Should(BeEquivalentTo(2))
	b.clock.Step(6 * time.Second)
	time.Sleep(50 * time.Millisecond) // in which it would be told that it is stale
	answering <- struct{}{}
	g.Expect(next()).To(And(HavePrefix(`{"type":"release"`), ContainSubstring(`"workload":"db"`)))
}

func TestAStreamThatCanNotBeginIsAnError(t *testing.T) {
	g := NewWithT(t)
	b, w := followed(t)
	refused := error(&url.Error{Op: "Get", URL: "https://x", Err: errors.New("connection refused")})
	w.listing.Store(&refused)
	code, body := b.page("--request-timeout=0").call("GET", "/api/stream", "")
	g.Expect(code).To(Equal(503))
	g.Expect(body).To(ContainSubstring("connection refused"))
	g.Expect(w.lists.Load()).To(BeEquivalentTo(1))
}

func TestAThousandWorkloadsAreThereWithTheFirstLine(t *testing.T) {
	g := NewWithT(t)
	var objects []client.Object
	for at := range 1000 {
		of := set(fmt.Sprintf("w%d", at))
		of.UID = ""
		objects = append(objects, of)
	}
	b, w := followed(t, objects...)
	p := b.page()
	next := p.stream("/api/stream")
	g.Expect(len(next())).To(BeNumerically(">", 300_000))
	g.Expect(w.lists.Load()).To(BeEquivalentTo(1))
	opened := <-w.watches
	changed := verified(1, "d1")
	changed.Name, changed.Labels, changed.Spec.AppName, changed.Spec.WorkloadRef = objects[7].GetName(), objects[7].GetLabels(), "w7", objects[7].(*appv1alpha1.ChangeWorkload).Spec.WorkloadRef
	opened.Modify(changed)
	g.Expect(next()).To(And(HavePrefix(`{"type":"release"`), ContainSubstring(`"workload":"w7"`), ContainSubstring(`"state":"Success"`)))
}
