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

package history_test

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/history"
	"github.com/traas-stack/altershield-operator/controllers/workload/deployment"
)

func TestListReturnsTheNewestReleaseFirst(t *testing.T) {
	g := NewWithT(t)
	c := newCluster(t, 20, newRevision("a", 9), newRevision("b", 12), newRevision("c", 10))
	g.Expect(listed(t, c)).To(HaveExactElements("b", "c", "a"))
	g.Expect(c.calls).To(HaveExactElements("list"))
}

func TestListLeavesOut(t *testing.T) {
	for _, row := range []struct {
		name  string
		other revisionOption
	}{
		{"what another Deployment owns", ownedBy("uid-2")},
		{"one without an owner", func(revision *appsv1.ControllerRevision) { revision.OwnerReferences = nil }},
		{"what is being deleted", beingDeleted},
		{"what has the label of another Deployment", func(revision *appsv1.ControllerRevision) {
			revision.Labels["app.kubernetes.io/deployment-name"] = "other"
		}},
		{"what is in another namespace", func(revision *appsv1.ControllerRevision) { revision.Namespace = "other" }},
		{"what holds no template", holding(`{"spec":{}}`)},
		{"what holds something else", holding(`{"spec":{"template":[]}}`)},
		{"what holds nothing", holding(`{}`)},
	} {
		t.Run(row.name, func(t *testing.T) {
			NewWithT(t).Expect(listed(t, newCluster(t, 20, newRevision("a", 9), newRevision("b", 12, row.other)))).To(HaveExactElements("a"))
		})
	}
}

func TestListFailsWhereNothingCanBeRead(t *testing.T) {
	g := NewWithT(t)
	c := newCluster(t, 3)
	c.refuse = func(string) error { return errors.New("connection refused") }
	_, err := c.keeper().List(t.Context(), deployment.Kind{}, slim())
	g.Expect(err).To(MatchError("listing the ControllerRevisions of Deployment default/sleep: connection refused"))
}

func listed(t *testing.T, c *cluster) []string {
	t.Helper()
	revisions, err := c.keeper().List(t.Context(), deployment.Kind{}, slim())
	if err != nil {
		t.Fatal(err)
	}
	var versions []string
	for _, revision := range revisions {
		versions = append(versions, revision.Version)
	}
	return versions
}

func TestPrune(t *testing.T) {
	five := []client.Object{newRevision("a", 1), newRevision("b", 2), newRevision("c", 3), newRevision("d", 10), newRevision("e", 11)}
	for _, row := range []struct {
		name    string
		objects []client.Object
		version string
		retain  int
		failed  []string
		left    []string
	}{
		{"to the newest ones", five, "e", 3, nil, []string{"e", "d", "c"}},
		{"not at all while there is room", five, "e", 5, nil, []string{"e", "d", "c", "b", "a"}},
		{"to the verified one alone", five, "e", 1, nil, []string{"e"}},
		{"with room for the verified one where it isn't seen yet", five, "f", 3, nil, []string{"e", "d"}},
		{"but for the last one where the verified one isn't seen, as it may not be kept", five, "f", 1, nil, []string{"e"}},
		{"but for the last one that hasn't failed", five, "f", 1, []string{"e"}, []string{"d"}},
		{"but for the verified one where the count began anew", five, "a", 3, nil, []string{"e", "d", "a"}},
		{"of what failed, which takes no place", five, "e", 3, []string{"d", "b"}, []string{"e", "c", "a"}},
		{"but not of the verified version, which failed once", five, "e", 5, []string{"e"}, []string{"e", "d", "c", "b", "a"}},
		{"but for what isn't its own", append(five[:2:2], newRevision("z", 99, ownedBy("uid-2"))), "b", 1, nil, []string{"b"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			c := newCluster(t, 12, row.objects...)
			before := len(c.revisions())
			wasListed := len(listed(t, c))
			c.calls = nil
			g.Expect(c.keeper().Prune(t.Context(), deployment.Kind{}, slim(), decide.Release{Version: row.version, Number: 12}, row.retain, row.failed)).To(Succeed())
			g.Expect(c.calls).To(HaveLen(1+wasListed-len(row.left)), "a list, and a deletion for each that goes")
			g.Expect(listed(t, c)).To(HaveExactElements(row.left))
			g.Expect(c.revisions()).To(HaveLen(before - wasListed + len(row.left)))
		})
	}
}

func TestPruneLeavesARevisionThatIsChangedMeanwhile(t *testing.T) {
	for _, row := range []struct {
		name   string
		answer error
		fails  string
	}{
		{"it was changed", apierrors.NewConflict(schema.GroupResource{Resource: "controllerrevisions"}, "x", errors.New("the UID differs")),
			"removing ControllerRevision default/sleep--x--a: "},
		{"it is gone", apierrors.NewNotFound(schema.GroupResource{Resource: "controllerrevisions"}, "x"), ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			c := newCluster(t, 12, newRevision("a", 1))
			c.refuse = func(verb string) error {
				if verb == "delete" {
					return row.answer
				}
				return nil
			}
			err := c.keeper().Prune(t.Context(), deployment.Kind{}, slim(), decide.Release{Version: "e", Number: 12}, 1, []string{"a"})
			if row.fails == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(MatchError(ContainSubstring(row.fails)))
			g.Expect(err).NotTo(MatchError(history.ErrNotKept), "another attempt may work")
		})
	}
}
