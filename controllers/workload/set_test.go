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

package workload_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/controllers/workload/daemonset"
	"github.com/traas-stack/altershield-operator/controllers/workload/deployment"
	"github.com/traas-stack/altershield-operator/controllers/workload/statefulset"
)

func TestSetSnapshotNeverChanges(t *testing.T) {
	g, set := NewWithT(t), workload.NewSet(deployment.Kind{}, statefulset.Kind{})
	before := set.Snapshot()
	set.Put(daemonset.Kind{})
	g.Expect(before).To(Equal(workload.Registry{deployment.Kind{}, statefulset.Kind{}}))
	g.Expect(set.Snapshot()).To(Equal(workload.Registry{deployment.Kind{}, statefulset.Kind{}, daemonset.Kind{}}))
	set.Remove("daemonsets.apps")
	set.Remove("gadgets.example.com")
	g.Expect(set.Snapshot()).To(Equal(before))
}

func TestSetPutReplacesAKind(t *testing.T) {
	g, set := NewWithT(t), workload.NewSet(deployment.Kind{}, statefulset.Kind{})
	set.Put(bare{statefulset.Kind{}})
	g.Expect(set.Snapshot().ByGroupKind(schema.GroupKind{Group: "apps", Kind: "StatefulSet"})).To(Equal(bare{statefulset.Kind{}}))
	g.Expect(set.Snapshot()).To(HaveLen(2))
}

func TestSetSnapshotOfTheZeroValue(t *testing.T) {
	g, set := NewWithT(t), &workload.Set{}
	g.Expect(set.Snapshot()).To(BeEmpty())
	set.Put(deployment.Kind{})
	g.Expect(set.Snapshot()).To(HaveLen(1))
}
