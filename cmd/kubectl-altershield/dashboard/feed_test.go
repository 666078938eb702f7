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

package dashboard

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
)

// taken returns the lines of a feed in short.
func taken(f *feed) []string {
	var short []string
	for _, line := range f.take("now") {
		text := line.Type
		switch {
		case line.List != nil:
			text += fmt.Sprintf(" of %d", len(line.List.Items))
		case line.Release != nil:
			text += fmt.Sprintf(" %s/%s %d %s", line.Release.Namespace, line.Release.Workload, line.Release.Number, line.Release.State)
		case line.Workload != "":
			text += fmt.Sprintf(" %s/%s.%s/%s", line.Namespace, line.Kind, line.Group, line.Workload)
		case line.Error != "":
			text += " " + line.Error
		}
		short = append(short, text)
	}
	slices.Sort(short)
	return short
}

// suspended is a record that failed.
func suspended(name string, number int64) appv1alpha1.ChangeWorkload {
	failed := record(name, number, "a")
	failed.Status.ObservedRelease, failed.Status.Status = number, "Suspend"
	failed.Status.Conditions = []metav1.Condition{{Type: "Verified", Status: "False", Reason: "PodsFailed"}}
	return failed
}

func begun(t *testing.T, limit int, records ...appv1alpha1.ChangeWorkload) *feed {
	t.Helper()
	f := newFeed(limit)
	NewWithT(t).Expect(taken(f)).To(BeEmpty(), "before the first list")
	f.Replace(records)
	NewWithT(t).Expect(taken(f)).To(Equal([]string{fmt.Sprintf("snapshot of %d", len(records))}))
	NewWithT(t).Expect(taken(f)).To(BeEmpty(), "the snapshot comes once")
	return f
}

func TestAFeedHasWhatChanged(t *testing.T) {
	g := NewWithT(t)
	f := begun(t, 10, record("web", 1, "a"), record("api", 1, "a"))
	f.Set(record("web", 1, "a"))
	same := record("web", 1, "a")
	same.ResourceVersion, same.ManagedFields, same.Annotations = "2", []metav1.ManagedFieldsEntry{{Manager: "x"}}, map[string]string{"a": "b"}
	f.Set(same)
	g.Expect(taken(f)).To(BeEmpty(), "the release is the same")
	g.Expect(f.records[view.KeyOf(&same)]["web--x--a"].ManagedFields).To(BeNil())

	f.Set(suspended("web", 1))
	g.Expect(taken(f)).To(Equal([]string{"release shop/web 1 Suspend"}))
	f.Set(record("web", 2, "b"))
	f.Set(record("new", 1, "a"))
	g.Expect(taken(f)).To(Equal([]string{"release shop/new 1 Pending", "release shop/web 2 Pending"}))
	f.Remove(record("web", 2, "b"))
	g.Expect(taken(f)).To(Equal([]string{"release shop/web 1 Suspend"}), "the one before")
	f.Remove(suspended("web", 1))
	f.Remove(record("none", 1, "a"))
	g.Expect(taken(f)).To(Equal([]string{"gone shop/Deployment.apps/web"}))
}

// declared returns the record of a release of a declared kind that is called Deployment.
func declared(name string, number int64, version string) appv1alpha1.ChangeWorkload {
	created := record(name, number, "d"+version)
	created.Spec.WorkloadRef.APIVersion, created.Spec.CreateTimeUnix = "example.com/"+version, now.Unix()+number
	return created
}

func TestAFeedTellsKindsOfOneNameByTheirGroups(t *testing.T) {
	g := NewWithT(t)
	f := begun(t, 10, record("web", 1, "a"), declared("web", 5, "v1"))
	f.Set(declared("web", 6, "v2"))
	g.Expect(taken(f)).To(Equal([]string{"release shop/web 6 Pending"}), "another version of the API is no other workload")
	f.Remove(declared("web", 5, "v1"))
	g.Expect(taken(f)).To(BeEmpty())
	f.Remove(declared("web", 6, "v2"))
	g.Expect(taken(f)).To(Equal([]string{"gone shop/Deployment.example.com/web"}))
}

func TestAFeedComparesALaterListWithWhatItKnows(t *testing.T) {
	g := NewWithT(t)
	f := begun(t, 10, record("web", 1, "a"), record("api", 1, "a"), record("old", 1, "a"))
	f.Replace([]appv1alpha1.ChangeWorkload{record("web", 1, "a"), suspended("api", 1), record("new", 1, "a")})
	g.Expect(taken(f)).To(Equal([]string{"gone shop/Deployment.apps/old", "release shop/api 1 Suspend", "release shop/new 1 Pending"}))
	f.Replace(nil)
	g.Expect(taken(f)).To(HaveLen(3))
	f.Replace(nil)
	g.Expect(taken(f)).To(BeEmpty())
}

func TestAFeedKeepsOneLineForEachWorkload(t *testing.T) {
	g := NewWithT(t)
	f := begun(t, 2, record("web", 1, "a"))
	for number := int64(2); number < 1000; number++ {
		f.Set(record("web", number, "a"))
	}
	g.Expect(f.changed).To(HaveLen(1))
	g.Expect(taken(f)).To(Equal([]string{"release shop/web 999 Pending"}))
}

func TestAFeedThatHasTooMuchBeginsAnew(t *testing.T) {
	f := begun(t, 2)
	for _, name := range []string{"a", "b", "c"} {
		f.Set(record(name, 1, "a"))
	}
	NewWithT(t).Expect(taken(f)).To(Equal([]string{"resync"}))
}

func TestAFeedTellsOnceThatNothingCanBeReadAndWhenItCan(t *testing.T) {
	g := NewWithT(t)
	f := begun(t, 2, record("web", 1, "a"))
	g.Expect(f.isFresh()).To(BeTrue())
	f.Stale(Failure{Message: "connection refused"})
	f.Stale(Failure{Message: "connection refused"})
	g.Expect(f.isFresh()).To(BeFalse())
	g.Expect(taken(f)).To(Equal([]string{"stale connection refused"}))
	f.Stale(Failure{Message: "connection refused"})
	g.Expect(taken(f)).To(BeEmpty())
	f.Replace([]appv1alpha1.ChangeWorkload{record("web", 1, "a")})
	g.Expect(f.isFresh()).To(BeTrue())
	g.Expect(taken(f)).To(Equal([]string{"beat"}))
	f.Replace([]appv1alpha1.ChangeWorkload{record("web", 1, "a")})
	g.Expect(taken(f)).To(BeEmpty())
}

func TestTheLinesOfAStream(t *testing.T) {
	f := newFeed(2)
	f.Replace(nil)
	lines := f.take("2026-11-22T16:41:52Z")
	f.Set(record("web", 1, "a"))
	lines = append(lines, f.take("")...)
	f.Remove(record("web", 1, "a"))
	f.Stale(Failure{Message: "no answer"})
	lines = append(lines, f.take("")...)
	text, err := json.Marshal(lines)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Expect(string(text)).To(Equal(`[{"type":"snapshot","list":{"kind":"ReleaseList","apiVersion":"cli.altershield/v1","items":[],"counts":{}},"now":"2026-11-22T16:41:52Z"},` +
		`{"type":"release","release":{"namespace":"shop","kind":"Deployment","workloadAPIVersion":"apps/v1","workload":"web","changeWorkload":"web--x--a","release":1,"version":"a1",` +
		`"state":"Pending","started":"2026-11-22T16:41:52Z","since":"2026-11-22T16:41:52Z","pods":{"desired":0,"waiting":0,"checking":0,"passed":0,"failed":0},"current":true}},` +
		`{"type":"gone","namespace":"shop","kind":"Deployment","group":"apps","workload":"web"},{"type":"stale","error":"no answer"}]`))
}
