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

package decide_test

import (
	"math"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"

	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/podtemplate"
)

// The controller of a workload removes old revisions, that of the release among them, before those that were changed without the webhooks.
func TestStampedRevisionIsTheOneWhoseTemplateHasTheVersion(t *testing.T) {
	g, released, changed := NewWithT(t), podtemplate.Template{"spec": map[string]any{"hostname": "one"}}, podtemplate.Template{"spec": map[string]any{"hostname": "two"}}
	version, err := released.Version()
	g.Expect(err).NotTo(HaveOccurred())
	stamped, unseen := decide.StampedRevision([]decide.Revision{
		{Version: version, Number: 2, Created: time.Unix(2, 0), Template: changed}, {Version: version, Number: 3, Created: time.Unix(3, 0), Template: released},
		{Version: "of another build", Number: 1, Template: released},
	}, version)
	g.Expect(stamped.Number).To(Equal(int64(3)))
	g.Expect(unseen).To(BeFalse())
}

func TestStampedRevision(t *testing.T) {
	created := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	revision := func(owner, version string, number int64, age time.Duration) decide.Revision {
		return decide.Revision{Pods: decide.PodsOf{Owner: types.UID(owner)}, Version: version, Number: number, Created: created.Add(-age)}
	}
	with := func(image string, revision decide.Revision) decide.Revision {
		revision.Template = podtemplate.Template{"image": image}
		return revision
	}
	for _, row := range []struct {
		name      string
		revisions []decide.Revision
		stamped   string
		unseen    bool
	}{
		{"none where nothing carries it", []decide.Revision{revision("other", "v2", 1, 0)}, "", false},
		{"the only one", []decide.Revision{revision("other", "v2", 1, time.Hour), revision("a", "v1", 2, 0)}, "a", false},
		{"the older of two", []decide.Revision{revision("b", "v1", 2, 0), revision("a", "v1", 1, time.Second)}, "a", true},
		{"the one with the lower number, created within the same second",
			[]decide.Revision{revision("b", "v1", 10, 0), revision("a", "v1", 9, 0)}, "a", true},
		{"the one that has a number, created within the same second",
			[]decide.Revision{revision("b", "v1", math.MaxInt64, 0), revision("a", "v1", 1, 0)}, "a", true},
		{"the older of two that the controller went back to",
			[]decide.Revision{revision("a", "v1", 3, time.Hour), revision("b", "v1", 2, time.Minute)}, "a", false},
		{"the newest of one template: the labels of the operator differ",
			[]decide.Revision{with("one", revision("a", "v1", 1, time.Hour)), with("one", revision("b", "v1", 3, 0))}, "b", false},
		{"the newest of the older template", []decide.Revision{with("one", revision("a", "v1", 1, time.Hour)),
			with("one", revision("b", "v1", 2, time.Minute)), with("two", revision("c", "v1", 3, 0))}, "b", true},
		{"the newest of one template beside one that was changed before", []decide.Revision{with("one", revision("a", "v1", 1, time.Hour)),
			with("two", revision("b", "v1", 2, time.Minute)), with("one", revision("c", "v1", 3, 0))}, "c", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			stamped, unseen := decide.StampedRevision(row.revisions, "v1")
			g.Expect(unseen).To(Equal(row.unseen))
			if row.stamped == "" {
				g.Expect(stamped).To(BeNil())
				return
			}
			g.Expect(stamped.Pods.Owner).To(BeEquivalentTo(row.stamped))
		})
	}
}
