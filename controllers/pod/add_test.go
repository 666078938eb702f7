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

package pod

import (
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/event"
)

// of is a ReplicaSet of the Deployment with this UID, of none where that is empty.
func of(deployment string) *appsv1.ReplicaSet {
	replicaSet := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "sleep-1"}}
	if deployment != "" {
		replicaSet.OwnerReferences = []metav1.OwnerReference{{UID: types.UID(deployment), Controller: ptr.To(true)}}
	}
	return replicaSet
}

func TestAdoptedPassesReplicaSetsThatGetADeployment(t *testing.T) {
	g := NewWithT(t)
	g.Expect(adopted().Create(event.CreateEvent{Object: of("d-1")})).To(BeTrue())
	g.Expect(adopted().Delete(event.DeleteEvent{Object: of("d-1")})).To(BeFalse())
	for _, row := range []struct {
		before, after string
		passes        bool
	}{
		{"", "d-1", true},
		{"d-1", "d-2", true},
		{"d-1", "d-1", false},
		{"d-1", "", false},
		{"", "", false},
	} {
		g.Expect(adopted().Update(event.UpdateEvent{ObjectOld: of(row.before), ObjectNew: of(row.after)})).To(Equal(row.passes), "%q to %q", row.before, row.after)
	}
}
