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
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/traas-stack/altershield-operator/controllers/decide"
)

func TestTheStampedReplicaSetIsTheOldestThatCarriesTheVersion(t *testing.T) {
	created := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	replicaSet := func(name, version, revision string, age time.Duration) appsv1.ReplicaSet {
		result := appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{
			Name: name, CreationTimestamp: metav1.NewTime(created.Add(-age)),
			Labels: map[string]string{"admission-webhook-altershield.antgroup.com/version": version},
		}}
		if revision != "" {
			result.Annotations = map[string]string{"deployment.kubernetes.io/revision": revision}
		}
		return result
	}
	for _, row := range []struct {
		name        string
		replicaSets []appsv1.ReplicaSet
		stamped     string
		unseen      bool
	}{
		{"none where nothing carries it", []appsv1.ReplicaSet{replicaSet("other", "v2", "1", 0)}, "", false},
		{"the only one", []appsv1.ReplicaSet{replicaSet("other", "v2", "1", time.Hour), replicaSet("a", "v1", "2", 0)}, "a", false},
		{"the older of two", []appsv1.ReplicaSet{replicaSet("b", "v1", "2", 0), replicaSet("a", "v1", "1", time.Second)}, "a", true},
		{"the one with the lower revision, created within the same second",
			[]appsv1.ReplicaSet{replicaSet("b", "v1", "10", 0), replicaSet("a", "v1", "9", 0)}, "a", true},
		{"the one that has a revision, created within the same second",
			[]appsv1.ReplicaSet{replicaSet("b", "v1", "", 0), replicaSet("a", "v1", "1", 0)}, "a", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			stamped, unseen := decide.StampedReplicaSet(row.replicaSets, "v1")
			g.Expect(unseen).To(Equal(row.unseen))
			if row.stamped == "" {
				g.Expect(stamped).To(BeNil())
				return
			}
			g.Expect(stamped.Name).To(Equal(row.stamped))
		})
	}
}
