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

// Package looks makes the looks of checks at releases in the background. What takes time, such as the answer of a slow source, keeps no worker of
// the reconciler: a release is reconciled again once its look is there.
package looks

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/traas-stack/altershield-operator/controllers/decide"
)

const (
	// atOnce is how many looks at one source are made at once. The others wait: first come, first served.
	atOnce = 20
	// Patience is how long a look may take, with those in its place where it fails. Then it counts as one without an answer, so that it keeps no check
	// from its end.
	Patience = time.Minute
	// firstRetry is how long a look that failed isn't made again. The time doubles with each further failure, until it is as long as lastRetry.
	firstRetry, lastRetry = time.Second, time.Minute
)

// Look is one look of a check at a release.
type Look struct {
	// Record is the key of the ChangeWorkload, Release is the number of the release.
	Record  types.NamespacedName
	Release int64
	Check   decide.CheckID
	// Source is what is asked. A slow one delays no looks at others.
	Source string
	// At is when the check looks, Until is when it looks next. Last reports whether the look is the last one.
	At, Until time.Time
	Last      bool
	// Waits reports whether it isn't the turn of the check: a look that wasn't made isn't made now.
	Waits bool
}

// Background makes looks, at most one at a time for each check of a release. What a look sees is kept until the next one is there, or Keep drops it,
// and stands for the next one until Counted is called.
type Background struct {
	Clock clock.PassiveClock

	mutex sync.Mutex
	queue workqueue.TypedRateLimitingInterface[reconcile.Request]
	// spawn runs a function in a goroutine, with a context that ends with the manager.
	spawn func(func(context.Context))
	known map[types.NamespacedName]map[decide.CheckID]*task
	lines map[string]*line
}

// task has the looks of a check of a release.
type task struct {
	// release is the release that asked last.
	release int64
	// next is the look that waits or is being made, read makes it.
	next Look
	read func(context.Context) (any, error)
	// nothing returns what it sees if it takes too long, with why the last one failed, nil if that isn't known.
	nothing func(last error) any
	state   state
	// since is when the release began to wait for what a look sees, zero while it doesn't.
	since time.Time
	// at is where it waits.
	at *line
	// made is the last look that didn't fail, nil before the first one.
	made    *made
	failing failing
}

// failing is how the looks fail since the last one that didn't.
type failing struct {
	// err is the error of the last one until it was returned, last is what is told of it from then on.
	err, last error
	// times is how often they did, and until is when the next one is made.
	times int
	until time.Time
}

type state int

const (
	idle state = iota
	waiting
	making
)

// made is a look that was made.
type made struct {
	Look
	seen any
	// returned reports whether the release was told what it saw, counted whether that decided something.
	returned, counted bool
}

// line has the looks at one source.
type line struct {
	making  int
	waiting []*task
}

// Start is a source.Func: it takes the queue of the controller, and the context with which all looks end.
func (b *Background) Start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.queue, b.spawn = queue, func(work func(context.Context)) { go work(ctx) }
	return nil
}

// Read returns what a look sees. If it isn't there yet, it is made in the background with read, which must not read what the caller changes
// later, and the release is reconciled again then. One that takes too long sees nothing, for the last error, nil if there is none. An error of read
// is returned once. Then the look is made again, the later the more often it failed, and the release goes on without it meanwhile.
func Read[T any](
	b *Background, look Look, nothing func(last error) T, read func(context.Context) (T, error),
) (seen T, there bool, err error) {
	none := func(last error) any { return nothing(last) }
	found, err := b.find(look, none, func(ctx context.Context) (any, error) { return read(ctx) })
	seen, there = found.(T)
	return seen, there, err
}

// find returns nil if the look isn't there yet.
func (b *Background) find(look Look, nothing func(error) any, read func(context.Context) (any, error)) (any, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	of, now := b.taskOf(&look), b.Clock.Now()
	if err := of.failing.err; err != nil {
		of.failing.err = nil
		return nil, err
	}
	if of.made != nil && of.made.is(&look) {
		of.made.returned, of.since = true, time.Time{}
		return of.made.seen, nil
	}
	if !look.Waits {
		if of.since.IsZero() {
			of.since = now
		}
		b.ask(of, look, nothing, read)
	}
	switch {
	case of.made != nil && of.made.standsFor(&look):
		of.made.returned, of.since = true, now
		return of.made.seen, nil
	case !of.since.IsZero() && now.Sub(of.since) >= Patience:
		return nothing(of.failing.last), nil
	default:
		return nil, nil
	}
}

// ask has a look made, unless one is under way. After a failure, the release is reconciled again when it is time: without that, a look that fails at
// once would be made again at once, for ever, as the release is reconciled without an error in between.
func (b *Background) ask(of *task, look Look, nothing func(error) any, read func(context.Context) (any, error)) {
	if of.state == making {
		return
	}
	if wait := of.failing.until.Sub(b.Clock.Now()); of.state == idle && wait > 0 {
		b.queue.AddAfter(reconcile.Request{NamespacedName: look.Record}, wait)
		return
	}
	if of.state == waiting && of.next.Source != look.Source {
		of.leave()
	}
	of.next, of.read, of.nothing = look, read, nothing // an older question is out of date
	if of.state == idle {
		b.await(of)
	}
}

func (b *Background) taskOf(look *Look) *task {
	if b.known == nil {
		b.known, b.lines = map[types.NamespacedName]map[decide.CheckID]*task{}, map[string]*line{}
	}
	if b.known[look.Record] == nil {
		b.known[look.Record] = map[decide.CheckID]*task{}
	}
	of := b.known[look.Record][look.Check]
	if of == nil {
		of = &task{}
		b.known[look.Record][look.Check] = of
	}
	if of.release != look.Release { // which waits since now, and whose looks didn't fail
		of.release, of.since, of.failing = look.Release, time.Time{}, failing{}
	}
	return of
}

// is reports whether another look would see the same.
func (m *made) is(look *Look) bool {
	return m.Release == look.Release && m.At.Equal(look.At) && (m.Last || !look.Last)
}

// standsFor reports whether the next look is due, but this one counts until that is there: a slow source would never be heard else, nor a look whose
// release was reconciled late.
func (m *made) standsFor(look *Look) bool {
	return m.Release == look.Release && (m.Last || !look.Last) && !m.counted
}

// await has a look wait for its turn.
func (b *Background) await(of *task) {
	source := of.next.Source
	if b.lines[source] == nil {
		b.lines[source] = &line{}
	}
	at := b.lines[source]
	at.waiting, of.at, of.state = append(at.waiting, of), at, waiting
	if at.making < atOnce {
		at.making++
		b.spawn(func(ctx context.Context) { b.work(ctx, source) })
	}
}

// leave has a look wait no more.
func (t *task) leave() {
	t.at.waiting = slices.DeleteFunc(t.at.waiting, func(other *task) bool { return other == t })
	t.state = idle
}

// work makes the looks at a source that wait.
func (b *Background) work(ctx context.Context, source string) {
	for of := b.turn(ctx, source); of != nil; of = b.turn(ctx, source) {
		seen, err := of.call(ctx)
		b.finish(of, seen, err)
	}
}

// turn returns the look that waited longest, nil if none waits or the manager ended.
func (b *Background) turn(ctx context.Context, source string) *task {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	at := b.lines[source]
	if len(at.waiting) == 0 || ctx.Err() != nil {
		if at.making--; at.making == 0 {
			delete(b.lines, source)
		}
		return nil
	}
	of := at.waiting[0]
	at.waiting, of.state = at.waiting[1:], making
	return of
}

// call makes a look. As in a worker of a controller, a panic is an error.
func (t *task) call(ctx context.Context) (seen any, err error) {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	defer func() {
		if fault := recover(); fault != nil {
			for _, handle := range utilruntime.PanicHandlers {
				handle(ctx, fault)
			}
			err = &hidden{fault}
		}
	}()
	seen, err = t.read(ctx)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return t.nothing(nil), nil // the error is that of the deadline
	}
	return seen, err
}

// hidden is a panic with a value that may be anything, which only the log shows.
type hidden struct{ value any }

func (h *hidden) Error() string { return fmt.Sprintf("panic: %v", h.value) }

// finish has a release reconciled whose look was made, unless it was dropped.
func (b *Background) finish(of *task, seen any, err error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	of.read, of.state = nil, idle
	if err != nil {
		of.failing.add(err, b.Clock.Now())
	} else {
		of.made, of.failing = &made{Look: of.next, seen: seen}, failing{}
	}
	if b.known[of.next.Record][of.next.Check] == of {
		b.queue.Add(reconcile.Request{NamespacedName: of.next.Record})
	}
}

// add adds a look that failed.
func (f *failing) add(err error, now time.Time) {
	f.err, f.last = err, err
	if _, panicked := errors.AsType[*hidden](err); panicked {
		f.last = errors.New("a fault of the operator, which its log has")
	}
	f.until = now.Add(min(firstRetry<<min(f.times, 6), lastRetry))
	f.times++
}

// Counted notes that what Read returned of a release decided what was to be decided: only from then on the next looks are waited for. A reconcile that
// decided nothing, such as one by a cache that is behind, thus finds them again.
func (b *Background) Counted(record types.NamespacedName) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	for _, of := range b.known[record] {
		if of.made != nil && of.made.returned {
			of.made.counted = true
		}
	}
}

// Keep drops the looks at a release but those of the checks that still look. What is being made for others ends by itself.
func (b *Background) Keep(record types.NamespacedName, looking ...decide.CheckID) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	checks := b.known[record]
	maps.DeleteFunc(checks, func(check decide.CheckID, of *task) bool {
		if slices.Contains(looking, check) {
			return false
		}
		if of.state == waiting {
			of.leave()
		}
		return true
	})
	if len(checks) == 0 {
		delete(b.known, record)
	}
}
