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
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

func refusedFor(left time.Duration, version string) appv1alpha1.Rollback {
	return appv1alpha1.Rollback{Version: version, Release: 1, RefusedUntil: &metav1.Time{Time: now.Add(left)}}
}

func TestADeploymentGoesBackTo(t *testing.T) {
	verified := stored("Success", "True", "AllPodsPassed")
	failed := stored("Suspend", "False", "PodsFailed")
	remembering := func(versions ...string) workloadOption {
		return func(workload *appv1alpha1.ChangeWorkload) { workload.Status.VerifiedVersions = versions }
	}
	for _, row := range []struct {
		name    string
		past    decide.Past
		targets []string
	}{
		{"nothing where nothing was verified", decide.Past{Workloads: []appv1alpha1.ChangeWorkload{other("b", 2)}}, nil},
		{"kept versions, newest first", decide.Past{Kept: []string{"a", "z"}}, []string{"a", "z"}},
		{"not the version that it is at", decide.Past{Kept: []string{"b", "a"}}, []string{"a"}},
		{"verified versions that nobody kept", decide.Past{Workloads: []appv1alpha1.ChangeWorkload{other("b", 2, failed), other("a", 1, verified)}}, []string{"a"}},
		{"verified versions that only are remembered", decide.Past{Workloads: []appv1alpha1.ChangeWorkload{other("b", 2, failed, remembering("a", "z"))}}, []string{"a", "z"}},
		{"kept versions before those that are remembered, each once",
			decide.Past{Kept: []string{"y"}, Workloads: []appv1alpha1.ChangeWorkload{other("b", 2, failed, remembering("a", "y"))}}, []string{"y", "a"}},
		{"not a version that failed when it was released last, although it is kept",
			decide.Past{Kept: []string{"a", "z"}, Workloads: []appv1alpha1.ChangeWorkload{other("a", 1, failed)}}, []string{"z"}},
		{"not a version that is refused", decide.Past{Kept: []string{"a", "z"}, Rollbacks: []appv1alpha1.Rollback{refusedFor(time.Second, "a")}}, []string{"z"}},
		{"a version whose refusal is over", decide.Past{Kept: []string{"a", "z"}, Rollbacks: []appv1alpha1.Rollback{refusedFor(0, "a")}}, []string{"a", "z"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			row.past.Release = decide.Release{Version: "b", Number: 2}
			NewWithT(t).Expect(row.past.VerifiedTargets(now)).To(Equal(row.targets))
		})
	}
}

// replicaSetOf has as many pods ready as it is to have.
func replicaSetOf(version, revision string, desired int32, ready int32) appsv1.ReplicaSet {
	replicaSet := appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{
		Name: version + "-" + revision, UID: types.UID(version + revision), Annotations: map[string]string{"deployment.kubernetes.io/revision": revision},
		Labels: map[string]string{"admission-webhook-altershield.antgroup.com/version": version},
	}}
	if version == "" {
		replicaSet.Labels = nil
	}
	replicaSet.Spec.Replicas, replicaSet.Status.ReadyReplicas = ptr.To(desired), ready
	return replicaSet
}

func TestTheHealthyReplicaSetOfBeforeIs(t *testing.T) {
	stuck := replicaSetOf("b", "7", 2, 0)
	for _, row := range []struct {
		name   string
		before []appsv1.ReplicaSet
		past   decide.Past
		found  string
	}{
		{"none where there is no other", nil, decide.Past{}, ""},
		{"the one that runs all its pods", []appsv1.ReplicaSet{replicaSetOf("a", "6", 4, 4)}, decide.Past{}, "a-6"},
		{"none where a pod of it is not ready", []appsv1.ReplicaSet{replicaSetOf("a", "6", 4, 3)}, decide.Past{}, ""},
		{"none where it was scaled to nothing", []appsv1.ReplicaSet{replicaSetOf("a", "6", 0, 0)}, decide.Past{}, ""},
		{"the newest of several", []appsv1.ReplicaSet{replicaSetOf("y", "9", 1, 1), replicaSetOf("a", "6", 1, 1), replicaSetOf("z", "5", 3, 3)}, decide.Past{}, "a-6"},
		{"one with a revision of two digits before one with one", []appsv1.ReplicaSet{replicaSetOf("a", "6", 1, 1), replicaSetOf("z", "05", 3, 3)}, decide.Past{}, "a-6"},
		{"one from before the Deployment was under change control", []appsv1.ReplicaSet{replicaSetOf("", "6", 4, 4)}, decide.Past{}, "-6"},
		{"one whose version failed its check where there is no other", []appsv1.ReplicaSet{replicaSetOf("a", "6", 1, 1)},
			decide.Past{Workloads: []appv1alpha1.ChangeWorkload{other("a", 1, stored("Suspend", "False", "PodsFailed"))}}, "a-6"},
		{"not one whose version failed its check where there is another", []appsv1.ReplicaSet{replicaSetOf("a", "6", 1, 1), replicaSetOf("z", "5", 3, 3)},
			decide.Past{Workloads: []appv1alpha1.ChangeWorkload{other("a", 1, stored("Suspend", "False", "PodsFailed"))}}, "z-5"},
		{"not one whose version is refused", []appsv1.ReplicaSet{replicaSetOf("a", "6", 1, 1)},
			decide.Past{Rollbacks: []appv1alpha1.Rollback{refusedFor(time.Hour, "a")}}, ""},
		{"none where the template was changed while no webhook looked", []appsv1.ReplicaSet{replicaSetOf("a", "6", 4, 4), replicaSetOf("b", "8", 1, 0)}, decide.Past{}, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			row.past.Release = decide.Release{Version: "b", Number: 2}
			found := row.past.HealthyOlder(append([]appsv1.ReplicaSet{stuck}, row.before...), now)
			name := ""
			if found != nil {
				name = found.Name
			}
			NewWithT(t).Expect(name).To(Equal(row.found))
		})
	}
}

func TestWithoutAReplicaSetOfItsOwnAReleaseHasNoneOfBefore(t *testing.T) {
	past := decide.Past{Release: decide.Release{Version: "b", Number: 2}}
	NewWithT(t).Expect(past.HealthyOlder([]appsv1.ReplicaSet{replicaSetOf("a", "6", 4, 4)}, now)).To(BeNil())
}
