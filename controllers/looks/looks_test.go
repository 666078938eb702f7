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

package looks

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/traas-stack/altershield-operator/controllers/decide"
)

// queue notes which releases are to be reconciled.
type queue struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]
	mutex sync.Mutex
	added []string
}

func (q *queue) Add(request reconcile.Request) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	q.added = append(q.added, request.Name)
}

func (q *queue) AddAfter(request reconcile.Request, wait time.Duration) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	q.added = append(q.added, request.Name+" in "+wait.String())
}

// take returns what was added since it was called before.
func (q *queue) take() []string {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	added := q.added
	q.added = nil
	return added
}

// look is one of the check errors at a release, so many seconds after the test began. Looks are 15 seconds apart.
func look(record string, seconds int) Look {
	at := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(seconds) * time.Second) // as a bubble begins
	return Look{
		Record: types.NamespacedName{Namespace: "shop", Name: record}, Release: 3, Check: decide.CheckID{Policy: "shop/web", Name: "errors"},
		Source: "prometheus", At: at, Until: at.Add(15 * time.Second),
	}
}

// read says what was read, as a reconcile does.
func read(b *Background, look Look, ask func(context.Context) (string, error)) string {
	seen, there, err := Read(b, look, func(last error) string { return fmt.Sprint("nothing: ", last) }, ask)
	switch {
	case err != nil:
		return "error: " + err.Error()
	case !there:
		return "not there yet"
	default:
		return seen
	}
}

// nothing is what a look that takes too long sees.
const nothing = "nothing: <nil>"

func says(what string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return what, nil }
}

// saysIn says something after a time.
func saysIn(after time.Duration, what string) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(after):
			return what, nil
		}
	}
}

// started runs a test of looks in the background, with a fake clock. It fails if a goroutine is left.
func started(t *testing.T, test func(g *WithT, b *Background, q *queue)) {
	synctest.Test(t, func(t *testing.T) {
		b, q := &Background{Clock: clock.RealClock{}}, &queue{}
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		g := NewWithT(t)
		g.Expect(b.Start(ctx, q)).To(Succeed())
		test(g, b, q)
	})
}

func TestReadMakesALookOnceInTheBackground(t *testing.T) {
	started(t, func(g *WithT, b *Background, q *queue) {
		made := 0
		ask := func(context.Context) (string, error) {
			made++
			return fmt.Sprint("look ", made), nil
		}
		g.Expect(read(b, look("web", 0), ask)).To(Equal("not there yet"))
		synctest.Wait()
		g.Expect(q.take()).To(Equal([]string{"web"}))
		time.Sleep(14 * time.Second)
		g.Expect(read(b, look("web", 0), ask)).To(Equal("look 1"))
		b.Counted(look("web", 0).Record)
		g.Expect(read(b, look("web", 0), ask)).To(Equal("look 1"), "until the next one is due")
		time.Sleep(time.Second)
		g.Expect(read(b, look("web", 15), ask)).To(Equal("not there yet"))
		synctest.Wait()
		g.Expect(read(b, look("web", 15), ask)).To(Equal("look 2"))
		g.Expect(q.take()).To(Equal([]string{"web"}))
		last := look("web", 15)
		last.Last = true
		g.Expect(read(b, last, ask)).To(Equal("not there yet"), "the look before need not have seen all pods")
		synctest.Wait()
		g.Expect(read(b, last, ask)).To(Equal("look 3"))
		next := last
		next.Release = 4
		g.Expect(read(b, next, ask)).To(Equal("not there yet"), "it was of the release before")
		synctest.Wait()
	})
}

func TestReadMakesNoLookWhileACheckWaitsForItsTurn(t *testing.T) {
	started(t, func(g *WithT, b *Background, _ *queue) {
		waits := look("web", 0)
		waits.Waits = true
		g.Expect(read(b, waits, says("unused"))).To(Equal("not there yet"))
		time.Sleep(2 * time.Minute)
		g.Expect(read(b, waits, says("unused"))).To(Equal("not there yet"), "nothing is missing, however long the turn takes")
		g.Expect(read(b, look("web", 120), says("first"))).To(Equal("not there yet"))
		synctest.Wait()
		waits = look("web", 120)
		waits.Waits = true
		g.Expect(read(b, waits, says("unused"))).To(Equal("first"), "it stands until the next turn")
		b.Counted(waits.Record)
		g.Expect(read(b, waits, says("unused"))).To(Equal("first"))
	})
}

func TestReadReturnsALateLookUntilItCounted(t *testing.T) {
	started(t, func(g *WithT, b *Background, q *queue) {
		web := look("web", 0).Record
		g.Expect(read(b, look("web", 0), saysIn(20*time.Second, "first"))).To(Equal("not there yet"))
		time.Sleep(15 * time.Second)
		g.Expect(read(b, look("web", 15), says("unused"))).To(Equal("not there yet"), "one at a time")
		b.Counted(web)
		time.Sleep(9 * time.Second)
		g.Expect(q.take()).To(Equal([]string{"web"}))
		g.Expect(read(b, look("web", 15), saysIn(7*time.Second, "second"))).To(Equal("first"), "four seconds after it was there")
		time.Sleep(2 * time.Second)
		g.Expect(read(b, look("web", 15), says("unused"))).To(Equal("first"), "nothing was decided by it")
		b.Counted(web)
		g.Expect(read(b, look("web", 15), says("unused"))).To(Equal("not there yet"))
		time.Sleep(5 * time.Second)
		synctest.Wait()
		b.Counted(web)
		g.Expect(read(b, look("web", 30), saysIn(16*time.Second, "third"))).To(Equal("second"), "it was there in time, but the release was reconciled later")
		b.Counted(web)
		time.Sleep(16 * time.Second)
		synctest.Wait()
		last := look("web", 45)
		last.Last = true
		g.Expect(read(b, last, saysIn(16*time.Second, "last"))).To(Equal("not there yet"), "the last look is made in any case")
		time.Sleep(20 * time.Second)
		again := look("web", 60)
		again.Last = true
		g.Expect(read(b, again, says("again"))).To(Equal("last"))
		b.Counted(web)
		b.Counted(look("other", 0).Record)
		synctest.Wait()
		g.Expect(read(b, again, says("unused"))).To(Equal("again"))
	})
}

// A release that never got an answer waits since its first look.
func TestReadGivesUpAReleaseWhoseLooksAreNotOfUse(t *testing.T) {
	started(t, func(g *WithT, b *Background, q *queue) {
		g.Expect(read(b, look("web", 0), saysIn(40*time.Second, "late"))).To(Equal("not there yet"))
		time.Sleep(40 * time.Second)
		synctest.Wait()
		last := look("web", 30)
		last.Last = true
		g.Expect(read(b, last, saysIn(40*time.Second, "later"))).To(Equal("not there yet"))
		time.Sleep(20 * time.Second)
		last.At = look("web", 60).At
		g.Expect(read(b, last, says("unused"))).To(Equal(nothing))
		time.Sleep(20 * time.Second)
		synctest.Wait()
		last.At = look("web", 75).At
		g.Expect(read(b, last, says("more"))).To(Equal("later"))
		b.Counted(last.Record)
		synctest.Wait()
		last.Release = 4
		g.Expect(read(b, last, says("of the next release"))).To(Equal("not there yet"))
		synctest.Wait()
		g.Expect(read(b, last, says("unused"))).To(Equal("of the next release"))
	})
}

func TestReadAsksTheSourceOfTheLatestQuestion(t *testing.T) {
	started(t, func(g *WithT, b *Background, q *queue) {
		for i := range 21 {
			g.Expect(read(b, look(fmt.Sprint("web-", i), 0), saysIn(time.Minute, "late"))).To(Equal("not there yet"))
		}
		synctest.Wait()
		moved := look("web-20", 15)
		moved.Source = "thanos"
		g.Expect(read(b, moved, says("fine"))).To(Equal("not there yet"))
		synctest.Wait()
		g.Expect(q.take()).To(Equal([]string{"web-20"}))
		g.Expect(read(b, moved, says("unused"))).To(Equal("fine"))
		time.Sleep(time.Minute)
		synctest.Wait()
		g.Expect(b.lines).To(BeEmpty())
	})
}

func TestReadMakesFewLooksAtASourceAtOnce(t *testing.T) {
	started(t, func(g *WithT, b *Background, q *queue) {
		for i := range 23 {
			g.Expect(read(b, look(fmt.Sprint("web-", i), 0), saysIn(10*time.Second, "fine"))).To(Equal("not there yet"))
		}
		other := look("other", 0)
		other.Source = "thanos"
		g.Expect(read(b, other, says("fine"))).To(Equal("not there yet"))
		synctest.Wait()
		g.Expect(q.take()).To(Equal([]string{"other"}), "a slow source delays no looks at others")
		g.Expect(read(b, look("web-21", 0), saysIn(10*time.Second, "newer"))).To(Equal("not there yet"))
		b.Keep(look("web-20", 0).Record)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		g.Expect(q.take()).To(HaveLen(20))
		time.Sleep(10 * time.Second)
		synctest.Wait()
		g.Expect(q.take()).To(ConsistOf("web-21", "web-22"), "what isn't asked for any more isn't read")
		g.Expect(read(b, look("web-21", 0), says("unused"))).To(Equal("newer"), "as it was asked last")
		g.Expect(b.lines).To(BeEmpty())
	})
}

func TestReadGivesUpALookThatTakesTooLong(t *testing.T) {
	started(t, func(g *WithT, b *Background, q *queue) {
		for i := range 21 {
			g.Expect(read(b, look(fmt.Sprint("web-", i), 0), saysIn(time.Hour, "late"))).To(Equal("not there yet"))
		}
		time.Sleep(59 * time.Second)
		g.Expect(read(b, look("web-0", 45), says("unused"))).To(Equal("not there yet"))
		g.Expect(read(b, look("web-20", 45), saysIn(time.Hour, "late"))).To(Equal("not there yet"))
		time.Sleep(time.Second)
		synctest.Wait()
		g.Expect(q.take()).To(HaveLen(20))
		g.Expect(read(b, look("web-0", 60), says("fine"))).To(Equal(nothing))
		g.Expect(read(b, look("web-20", 60), says("unused"))).To(Equal(nothing), "it waited for others as long")
		synctest.Wait()
		g.Expect(read(b, look("web-0", 60), says("unused"))).To(Equal("fine"))
	})
}

func TestReadReturnsAnErrorOnce(t *testing.T) {
	for name, row := range map[string]struct {
		ask      func(context.Context) (string, error)
		expected string
	}{
		"of the API server": {func(context.Context) (string, error) { return "", errors.New("no endpoints") }, "error: no endpoints"},
		"of a panic":        {func(context.Context) (string, error) { panic("index out of range") }, "error: panic: index out of range"},
	} {
		t.Run(name, func(t *testing.T) {
			started(t, func(g *WithT, b *Background, q *queue) {
				g.Expect(read(b, look("web", 0), row.ask)).To(Equal("not there yet"))
				synctest.Wait()
				g.Expect(q.take()).To(Equal([]string{"web"}))
				g.Expect(read(b, look("web", 0), row.ask)).To(Equal(row.expected))
				g.Expect(read(b, look("web", 0), says("too soon"))).To(Equal("not there yet"))
				synctest.Wait()
				g.Expect(q.take()).To(Equal([]string{"web in 1s"}))
				time.Sleep(time.Second)
				g.Expect(read(b, look("web", 0), says("fine"))).To(Equal("not there yet"))
				synctest.Wait()
				g.Expect(q.take()).To(Equal([]string{"web"}))
				g.Expect(read(b, look("web", 0), says("unused"))).To(Equal("fine"))
			})
		})
	}
}

// The error may never go away, such as a permission that is missing.
func TestReadMakesALookThatFailsLaterAndLater(t *testing.T) {
	started(t, func(g *WithT, b *Background, q *queue) {
		made := 0
		fails := func(context.Context) (string, error) {
			made++
			return "", errors.New("forbidden")
		}
		g.Expect(read(b, look("web", 0), fails)).To(Equal("not there yet"))
		for _, wait := range []string{"1s", "2s", "4s", "8s", "16s"} {
			synctest.Wait()
			g.Expect(read(b, look("web", 0), fails)).To(Equal("error: forbidden"))
			for range 3 {
				g.Expect(read(b, look("web", 0), fails)).To(Equal("not there yet"), "the other checks go on")
			}
			g.Expect(q.take()).To(Equal([]string{"web", "web in " + wait, "web in " + wait, "web in " + wait}))
			after, err := time.ParseDuration(wait)
			g.Expect(err).NotTo(HaveOccurred())
			time.Sleep(after)
			g.Expect(read(b, look("web", 0), fails)).To(Equal("not there yet"))
		}
		synctest.Wait()
		g.Expect(made).To(Equal(6), "in 31 seconds")
		g.Expect(read(b, look("web", 30), fails)).To(Equal("error: forbidden"))
		time.Sleep(29 * time.Second)
		g.Expect(read(b, look("web", 60), fails)).To(Equal("nothing: forbidden"), "for a minute, there was no answer")
		time.Sleep(3 * time.Second)
		g.Expect(read(b, look("web", 60), fails)).To(Equal("nothing: forbidden"))
		synctest.Wait()
		g.Expect(read(b, look("web", 60), fails)).To(Equal("error: forbidden"), "for the log")
		q.take()
		g.Expect(read(b, look("web", 60), fails)).To(Equal("nothing: forbidden"))
		g.Expect(q.take()).To(Equal([]string{"web in 1m0s"}), "but no later")
		time.Sleep(time.Minute)
		g.Expect(read(b, look("web", 60), says("fine"))).To(Equal("nothing: forbidden"))
		synctest.Wait()
		g.Expect(read(b, look("web", 60), says("unused"))).To(Equal("fine"))
		b.Counted(look("web", 60).Record)
		q.take()
		g.Expect(read(b, look("web", 75), fails)).To(Equal("not there yet"), "it is waited for since now")
		synctest.Wait()
		next := look("web", 75)
		next.Release = 4
		g.Expect(read(b, next, says("of the next release"))).To(Equal("not there yet"), "which is at once, without the error of the one before")
		synctest.Wait()
		g.Expect(read(b, next, says("unused"))).To(Equal("of the next release"))
		g.Expect(q.take()).To(Equal([]string{"web", "web"}))
	})
}

func TestReadTellsWhyThereIsNoAnswer(t *testing.T) {
	for name, row := range map[string]struct {
		ask      func(context.Context) (string, error)
		expected string
	}{
		"an error": {func(context.Context) (string, error) { return "", errors.New("forbidden") }, "nothing: forbidden"},
		"a panic, without its value": {
			func(context.Context) (string, error) { panic("token-of-prometheus") }, "nothing: a fault of the operator, which its log has",
		},
		"its own deadline": {saysIn(time.Hour, "late"), nothing},
	} {
		t.Run(name, func(t *testing.T) {
			started(t, func(g *WithT, b *Background, q *queue) {
				read(b, look("web", 0), row.ask)
				time.Sleep(time.Minute)
				synctest.Wait()
				seen := read(b, look("web", 60), row.ask)
				if strings.HasPrefix(seen, "error: ") { // for the log, once
					seen = read(b, look("web", 60), row.ask)
				}
				g.Expect(seen).To(Equal(row.expected))
				synctest.Wait()
			})
		})
	}
}

func TestKeepDropsWhatIsNotAskedForAnyMore(t *testing.T) {
	started(t, func(g *WithT, b *Background, q *queue) {
		latency := look("web", 0)
		latency.Check.Name = "latency"
		g.Expect(read(b, look("web", 0), says("errors"))).To(Equal("not there yet"))
		g.Expect(read(b, latency, saysIn(time.Second, "latency"))).To(Equal("not there yet"))
		synctest.Wait()
		g.Expect(q.take()).To(Equal([]string{"web"}))
		b.Keep(look("web", 0).Record, look("web", 0).Check)
		time.Sleep(time.Second)
		synctest.Wait()
		g.Expect(q.take()).To(BeEmpty(), "nothing waits for it")
		g.Expect(read(b, look("web", 0), says("unused"))).To(Equal("errors"))
		b.Keep(look("web", 0).Record)
		b.Keep(look("other", 0).Record)
		g.Expect(b.known).To(BeEmpty())
		g.Expect(read(b, look("web", 0), says("again"))).To(Equal("not there yet"))
		synctest.Wait()
	})
}

func TestStartEndsTheLooksWithTheManager(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, b, q := NewWithT(t), &Background{Clock: clock.RealClock{}}, &queue{}
		ctx, cancel := context.WithCancel(context.Background())
		g.Expect(b.Start(ctx, q)).To(Succeed())
		for i := range 21 {
			g.Expect(read(b, look(fmt.Sprint("web-", i), 0), saysIn(time.Hour, "late"))).To(Equal("not there yet"))
		}
		synctest.Wait()
		began := time.Now()
		cancel()
		synctest.Wait()
		g.Expect(q.take()).To(HaveLen(20), "the other one isn't made")
		g.Expect(read(b, look("web-0", 0), says("unused"))).To(Equal("error: context canceled"))
		g.Expect(time.Since(began)).To(BeZero())
	})
}
