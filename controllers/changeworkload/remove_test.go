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
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/monotonic"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
)

const removed = "web--x--c6c45d23c098bdf181853a85b60b5d74"

// removal is an API server that records removals, and a reconciler whose cache does not change.
type removal struct {
	*Reconciler
	api client.WithWatch
	// asked are the requested removals.
	asked []string
	// remembering reports whether the client waits for one of them to show in the cache.
	remembering bool
}

// newRemoval answers removals with refuse, unless that is nil, and records them as described at asked.
func newRemoval(t *testing.T, refuse func(r *removal, asked string) error, objects ...client.Object) *removal {
	t.Helper()
	result := &removal{api: fake.NewClientBuilder().WithScheme(testkit.Scheme()).WithObjects(copied(objects)...).Build()}
	ask := func(what string) error {
		result.asked = append(result.asked, what)
		if refuse == nil {
			return nil
		}
		return refuse(result, what)
	}
	kube := interceptor.NewClient(testkit.NewFake(t, copied(objects)...), interceptor.Funcs{
		Delete: func(ctx context.Context, _ client.WithWatch, object client.Object, options ...client.DeleteOption) error {
			given := (&client.DeleteOptions{}).ApplyOptions(options)
			result.remembering = result.remembering || !given.DisableReadYourWritesConsistency
			if err := ask("delete " + object.GetName()); err != nil {
				return err
			}
			return result.api.Delete(ctx, object, options...)
		},
		DeleteAllOf: func(ctx context.Context, _ client.WithWatch, object client.Object, options ...client.DeleteAllOfOption) error {
			given := (&client.DeleteAllOfOptions{}).ApplyOptions(options)
			if err := ask(fmt.Sprintf("delete all %T %s", object, given.LabelSelector)); err != nil {
				return err
			}
			return result.api.DeleteAllOf(ctx, object, options...)
		},
	})
	result.Reconciler = &Reconciler{Client: kube, Live: result.api, Direct: kube, numbers: newNumbers(), newest: monotonic.NewReader(kube, result.api)}
	return result
}

// left are the names of the ChangeWorkloads and ChangePods that are there.
func (r *removal) left(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, list := range []client.ObjectList{&appv1alpha1.ChangeWorkloadList{}, &appv1alpha1.ChangePodList{}} {
		NewWithT(t).Expect(r.api.List(t.Context(), list)).To(Succeed())
		switch list := list.(type) {
		case *appv1alpha1.ChangeWorkloadList:
			for i := range list.Items {
				names = append(names, list.Items[i].Name)
			}
		case *appv1alpha1.ChangePodList:
			for i := range list.Items {
				names = append(names, list.Items[i].Name)
			}
		}
	}
	return names
}

// recordOfRelease is the ChangeWorkload with the UID u-1.
func recordOfRelease(number int64) *appv1alpha1.ChangeWorkload {
	workload := &appv1alpha1.ChangeWorkload{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: removed, UID: "u-1"}}
	workload.Spec.Release = number
	return workload
}

// batch is a ChangePod of a ChangeWorkload with that UID, named so that its number is known.
func batch(number int, owner types.UID, release int64, label string) *appv1alpha1.ChangePod {
	changePod := &appv1alpha1.ChangePod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: fmt.Sprintf("%s--x--%d", removed, number), UID: types.UID(fmt.Sprintf("b-%d", number)),
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "app.ops.cloud.alipay.com/v1alpha1", Kind: "ChangeWorkload", Name: removed, UID: owner, Controller: ptr.To(true),
		}},
	}}
	if label != "" {
		changePod.Labels = map[string]string{"altershield.defense.antgroup.com/batch-of": label}
	}
	changePod.Spec.ChangeWorkloadID, changePod.Spec.Release = removed, release
	return changePod
}

func TestPruneRemovesTheBatchesByOneRequestBeforeTheirOwner(t *testing.T) {
	const collection = "delete all *v1alpha1.ChangePod altershield.defense.antgroup.com/batch-of in "
	var errDown = errors.New("connection refused")
	conflict := apierrors.NewConflict(appv1alpha1.GroupVersion.WithResource("changeworkloads").GroupResource(), removed, errors.New("it has changed"))
	forbidden := apierrors.NewForbidden(appv1alpha1.GroupVersion.WithResource("changepods").GroupResource(), "", errors.New("no rule"))
	once := func(of string, err error, then func(r *removal)) func(*removal, string) error {
		done := false
		return func(r *removal, asked string) error {
			if done || asked != of {
				return nil
			}
			done = true
			then(r)
			return err
		}
	}
	again := func(r *removal) {
		workload := recordOfRelease(7)
		if err := r.api.Get(context.Background(), client.ObjectKeyFromObject(workload), workload); err == nil {
			workload.Spec.Release = 9
			_ = r.api.Update(context.Background(), workload)
		}
	}
	nothing := func(*removal) {}
	two := []client.Object{recordOfRelease(7), batch(1, "u-1", 3, "u-1.3"), batch(2, "u-1", 7, "u-1.7"), batch(3, "u-1", 7, "u-1.7")}
	for _, row := range []struct {
		name        string
		there       []client.Object
		refuse      func(*removal, string) error
		asked, left []string
		err         string
	}{
		{"of all its releases", two, nil, []string{collection + "(u-1.3,u-1.7)", "delete " + removed}, nil, ""},
		{"none where it has none", two[:1], nil, []string{"delete " + removed}, nil, ""},
		{"not those that another object of its name left", []client.Object{recordOfRelease(7), batch(1, "u-0", 7, "u-0.7")}, nil,
			[]string{"delete " + removed}, []string{removed + "--x--1"}, ""},
		{"those without a label are left to the garbage collector",
			[]client.Object{recordOfRelease(7), batch(1, "u-1", 7, ""), batch(2, "u-1", 7, "u-1.7")}, nil,
			[]string{collection + "(u-1.7)", "delete " + removed}, []string{removed + "--x--1"}, ""},
		{"those with a label that a user changed as well", []client.Object{recordOfRelease(7), batch(1, "u-1", 7, "u-1.8")}, nil,
			[]string{"delete " + removed}, []string{removed + "--x--1"}, ""},
		{"nothing of a release that was recorded anew", []client.Object{recordOfRelease(8), two[1], two[2]}, nil, nil,
			[]string{removed, removed + "--x--1", removed + "--x--2"}, ""},
		{"the owner stays where they can't be removed", two, once(collection+"(u-1.3,u-1.7)", errDown, nothing), []string{collection + "(u-1.3,u-1.7)"},
			[]string{removed, removed + "--x--1", removed + "--x--2", removed + "--x--3"}, "removing ChangeWorkload shop/" + removed +
				" of an older version: removing the ChangePods of ChangeWorkload shop/" + removed + ": connection refused"},
		{"the owner goes without them where the role is that of v0.1", two, once(collection+"(u-1.3,u-1.7)", forbidden, nothing),
			[]string{collection + "(u-1.3,u-1.7)", "delete " + removed}, []string{removed + "--x--1", removed + "--x--2", removed + "--x--3"}, ""},
		{"the owner stays where a webhook denies it as gone", two[:1], once("delete "+removed, testkit.Denied(404), nothing), []string{"delete " + removed},
			[]string{removed}, "removing ChangeWorkload shop/" + removed + ` of an older version: admission webhook "guard.example.com" denied the request: no`},
		{"once, although their owner's status was written meanwhile", two, once("delete "+removed, conflict, nothing),
			[]string{collection + "(u-1.3,u-1.7)", "delete " + removed, "delete " + removed}, nil, ""},
		{"and their owner stays that was recorded anew meanwhile", two, once("delete "+removed, conflict, again),
			[]string{collection + "(u-1.3,u-1.7)", "delete " + removed}, []string{removed}, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			r := newRemoval(t, row.refuse, row.there...)
			err := r.prune(t.Context(), []appv1alpha1.ChangeWorkload{*recordOfRelease(7)})
			if row.err == "" {
				g.Expect(err).NotTo(HaveOccurred())
			} else {
				g.Expect(err).To(MatchError(row.err))
			}
			g.Expect(r.asked).To(HaveExactElements(row.asked))
			g.Expect(r.left(t)).To(ConsistOf(row.left))
			g.Expect(r.remembering).To(BeFalse(), "a version that is released again has the same name")
		})
	}
}

func copied(objects []client.Object) []client.Object {
	var result []client.Object
	for _, object := range objects {
		result = append(result, object.DeepCopyObject().(client.Object))
	}
	return result
}

func TestClearRemovesTheBatchesOfEarlierReleases(t *testing.T) {
	g := NewWithT(t)
	there := []client.Object{recordOfRelease(7), batch(1, "u-1", 3, "u-1.3"), batch(2, "u-1", 5, "u-1.5"), batch(3, "u-1", 7, "u-1.7"), batch(4, "u-0", 3, "u-0.3")}
	var earlier []appv1alpha1.ChangePod
	for i := 1; i <= 2; i++ {
		earlier = append(earlier, *there[i].(*appv1alpha1.ChangePod))
	}
	for i := 10; i < 70; i++ { // those of v0.1
		changePod := batch(i, "u-1", 3, "")
		there, earlier = append(there, changePod), append(earlier, *changePod.DeepCopy())
	}
	r := newRemoval(t, nil, there...)
	g.Expect(r.clear(t.Context(), recordOfRelease(7), earlier)).To(Succeed())
	g.Expect(r.asked[0]).To(Equal("delete all *v1alpha1.ChangePod altershield.defense.antgroup.com/batch-of in (u-1.3,u-1.5)"))
	g.Expect(r.asked[1:]).To(HaveLen(50))
	g.Expect(r.remembering).To(BeFalse())
	left := r.left(t)
	g.Expect(left).To(HaveLen(13))
	g.Expect(left).To(ContainElements(removed, removed+"--x--3", removed+"--x--4"))
	g.Expect(r.clear(t.Context(), recordOfRelease(7), earlier[52:])).To(Succeed())
	g.Expect(r.left(t)).To(ConsistOf(removed, removed+"--x--3", removed+"--x--4"))
	g.Expect(r.clear(t.Context(), recordOfRelease(7), earlier[61:])).To(Succeed(), "they are gone already")
}

func TestForgetClearsWhereThatIsDecided(t *testing.T) {
	g := NewWithT(t)
	earlier := batch(1, "u-1", 3, "u-1.3")
	r := newRemoval(t, nil, recordOfRelease(7), earlier)
	seen := &scene{earlier: []appv1alpha1.ChangePod{*earlier}}
	g.Expect(r.forget(t.Context(), recordOfRelease(7), seen, decide.Decision{})).To(Succeed())
	g.Expect(r.asked).To(BeEmpty())
	g.Expect(r.forget(t.Context(), recordOfRelease(7), seen, decide.Decision{Clear: true})).To(Succeed())
	g.Expect(r.left(t)).To(ConsistOf(removed))
}

func TestRemoveLeftoverDoesNotWaitForItToShowInTheCache(t *testing.T) {
	g := NewWithT(t)
	r := newRemoval(t, nil, batch(1, "u-0", 7, "u-0.7"))
	g.Expect(r.removeLeftover(t.Context(), recordOfRelease(7), batch(1, "u-1", 7, "u-1.7"))).To(Succeed())
	g.Expect(r.asked).To(HaveExactElements("delete " + removed + "--x--1"))
	g.Expect(r.remembering).To(BeFalse(), "where the watch shows its successor instead of its deletion, that would be for ever")
}

func TestRemoveLeftoverTellsWhatKeepsIt(t *testing.T) {
	g := NewWithT(t)
	kept := batch(1, "u-0", 7, "u-0.7")
	kept.Finalizers = []string{"example.com/archive"}
	r := newRemoval(t, nil, kept)
	g.Expect(r.removeLeftover(t.Context(), recordOfRelease(7), batch(1, "u-1", 7, "u-1.7"))).To(Succeed())
	g.Expect(r.removeLeftover(t.Context(), recordOfRelease(7), batch(1, "u-1", 7, "u-1.7"))).To(MatchError("opening ChangePod shop/" + removed + "--x--1: " +
		"that of a deleted ChangeWorkload is still there: its finalizers are [example.com/archive]"))
	g.Expect(r.asked).To(HaveExactElements("delete "+removed+"--x--1"), "it isn't asked for again")
}

func TestRemovalsTellThatAWebhookDeniesThemWhateverItsCode(t *testing.T) {
	record := recordOfRelease(7)
	earlier, leftover, verdict := batch(1, "u-1", 3, ""), batch(2, "u-0", 7, "u-0.7"), verdictOn("drift", record, 3)
	const denied = `: admission webhook "guard.example.com" denied the request: no`
	r := newRemoval(t, func(*removal, string) error { return testkit.Denied(404) }, record, earlier, leftover, verdict)
	for problem, err := range map[string]error{
		"removing ChangePod shop/" + removed + "--x--1 of an earlier release":                r.clear(t.Context(), record, []appv1alpha1.ChangePod{*earlier}),
		"removing ChangePod shop/" + removed + "--x--2, which a deleted ChangeWorkload left": r.removeLeftover(t.Context(), record, leftover),
		"removing ChangeVerdict shop/drift of an earlier release":                            r.forgetVerdicts(t.Context(), record),
	} {
		NewWithT(t).Expect(err).To(MatchError(problem + denied))
	}
}

func TestObserveBatches(t *testing.T) {
	// releaseOf is at release 7, whose batches begin with this number.
	releaseOf := func(observed, first, last int64) *appv1alpha1.ChangeWorkload {
		workload := recordOfRelease(7)
		workload.Status.ObservedRelease, workload.Status.FirstChangePod, workload.Status.LastChangePod = observed, first, last
		return workload
	}
	two := []client.Object{batch(1, "u-1", 3, "u-1.3"), batch(2, "u-1", 3, "u-1.3")}
	both := append(slices.Clone(two), batch(3, "u-1", 7, "u-1.7"))
	for _, row := range []struct {
		name              string
		workload          *appv1alpha1.ChangeWorkload
		cached            []client.Object
		batches, earlier  int
		lost, stale, live bool
	}{
		{"its own and those before", releaseOf(7, 3, 3), both, 1, 2, false, false, false},
		{"those before are gone", releaseOf(7, 3, 3), both[2:], 1, 0, false, false, false},
		{"those before are gone, and it has none", releaseOf(7, 3, 2), nil, 0, 0, false, false, false},
		{"one of its own is gone", releaseOf(7, 2, 3), both[2:], 1, 0, true, false, false},
		{"its newest is gone", releaseOf(7, 3, 4), both, 1, 2, true, false, true},
		{"the cache lags behind its newest", releaseOf(7, 3, 3), two, 0, 2, true, true, true},
		{"it was not reconciled yet", releaseOf(3, 1, 2), two, 0, 2, true, false, false},
		{"nothing was noted by an operator before v0.2", releaseOf(7, 0, 3), both[2:], 1, 0, true, false, false},
		{"one of another object", releaseOf(7, 3, 2), []client.Object{batch(3, "u-0", 7, "u-0.7")}, 0, 0, true, false, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			r := newRemoval(t, nil, row.cached...)
			live := &lagging{Reader: newRemoval(t, nil, both...).api}
			r.Live = live
			seen := &scene{}
			g.Expect(r.observeBatches(t.Context(), row.workload, cachedRecords{r.Client, r.newest}, seen)).To(Succeed())
			stale, err := r.isStale(t.Context(), row.workload, seen)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(seen.Batches).To(HaveLen(row.batches))
			g.Expect(seen.earlier).To(HaveLen(row.earlier))
			g.Expect(seen.Earlier).To(Equal(row.earlier > 0))
			g.Expect([]bool{seen.lost, stale, live.asked}).To(Equal([]bool{row.lost, row.stale, row.live}), "lost, stale, live")
		})
	}
}

func TestIsStaleAsksForItsOwnBatchOnlyWhenTheCacheHadTimeToShowIt(t *testing.T) {
	opened := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	for _, row := range []struct {
		name        string
		number      int64
		after       time.Duration
		there       []client.Object
		stale, live bool
	}{
		{"at once", 3, 0, nil, true, false},
		{"just before the time is over", 3, 999 * time.Millisecond, nil, true, false},
		{"later, where it is there", 3, time.Second, []client.Object{batch(3, "u-1", 7, "u-1.7")}, true, true},
		{"later, where it is gone", 3, time.Second, nil, false, true},
		{"a batch after it that another process opened", 2, 0, nil, false, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			workload := recordOfRelease(7)
			workload.Status.ObservedRelease, workload.Status.FirstChangePod, workload.Status.LastChangePod = 7, 1, 3
			r := newRemoval(t, nil, batch(1, "u-1", 7, "u-1.7"))
			live := &lagging{Reader: newRemoval(t, nil, row.there...).api}
			r.Live, r.Clock = live, clocktesting.NewFakePassiveClock(opened.Add(row.after))
			r.numbers.open(recordOf(workload), row.number, opened)
			seen := &scene{}
			g.Expect(r.observeBatches(t.Context(), workload, cachedRecords{r.Client, r.newest}, seen)).To(Succeed())
			stale, err := r.isStale(t.Context(), workload, seen)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect([]bool{stale, live.asked}).To(Equal([]bool{row.stale, row.live}), "stale, live")
		})
	}
}

// lagging notes whether it was asked.
type lagging struct {
	client.Reader
	asked bool
}

func (l *lagging) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	l.asked = true
	return l.Reader.Get(ctx, key, object, options...)
}
