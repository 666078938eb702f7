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
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

const podGate = "altershield.defense.antgroup.com/verified"

func beforeStart(pod *corev1.Pod) {
	pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: podGate}}
}

func beforeTraffic(pod *corev1.Pod) {
	pod.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: podGate}}
}

// has sets a condition a minute ago.
func has(kind corev1.PodConditionType, status corev1.ConditionStatus) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
			Type: kind, Status: status, LastTransitionTime: metav1.NewTime(now.Add(-time.Minute)),
		})
	}
}

func podWith(options ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{}
	for _, option := range options {
		option(pod)
	}
	return pod
}

func TestGated(t *testing.T) {
	for _, row := range []struct {
		name string
		pod  *corev1.Pod
		want string
	}{
		{"no gate", podWith(), ""},
		{"before it starts", podWith(beforeStart), "unstarted"},
		{"before it gets traffic", podWith(beforeTraffic), "unready"},
		{"before it gets traffic still", podWith(beforeTraffic, has(podGate, "False")), "unready"},
		{"with traffic", podWith(beforeTraffic, has(podGate, "True")), ""},
		{"both", podWith(beforeStart, beforeTraffic), "unstarted"},
		{"other gates", podWith(func(pod *corev1.Pod) {
			pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "quota"}}
			pod.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "mesh"}}
		}), ""},
	} {
		t.Run(row.name, func(t *testing.T) { NewWithT(t).Expect(string(decide.Gated(row.pod))).To(Equal(row.want)) })
	}
}

// gatedPods makes pods from texts such as "a!": name, and ! behind its gate at the start, ? before traffic, - where it is being deleted, ~ where it
// still is a minute after its grace period, and x where it has ended. Those on the right are younger.
func gatedPods(texts string) []corev1.Pod {
	var made []corev1.Pod
	for at, text := range strings.Fields(texts) {
		pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: text[:1], UID: types.UID(text[:1]), CreationTimestamp: metav1.NewTime(now.Add(time.Duration(at) * time.Second))}}
		if strings.Contains(text, "!") {
			beforeStart(&pod)
		}
		if strings.Contains(text, "?") {
			beforeTraffic(&pod)
		}
		if strings.Contains(text, "-") {
			pod.DeletionTimestamp = &metav1.Time{Time: now}
		}
		if strings.Contains(text, "~") {
			pod.DeletionTimestamp = &metav1.Time{Time: now.Add(-time.Minute)}
		}
		if strings.Contains(text, "x") {
			pod.Status.Phase = corev1.PodFailed
		}
		made = append(made, pod)
	}
	return made
}

func TestPodsToOpen(t *testing.T) {
	for _, row := range []struct {
		name, pods  string
		let, coming int32
		passed      []types.UID
		want        string
	}{
		{"the oldest first", "b! a! c!", 2, 0, nil, "b a"},
		{"none without a step", "a! b!", 0, 0, nil, ""},
		{"as many as there is room for", "a b! c!", 2, 0, nil, "b"},
		{"none while more run than may", "a b c!", 1, 0, nil, ""},
		{"none while one that is being deleted runs", "a- b!", 1, 0, nil, ""},
		{"one in place of one whose node is lost", "a~ b!", 1, 0, nil, "b"},
		{"one in place of one that has ended", "ax b!", 1, 0, nil, "b"},
		{"none that is being deleted", "a!- b!", 2, 0, nil, "b"},
		{"none that has ended", "a!x b!", 2, 0, nil, "b"},
		{"all in the end", "a b! c! d?", decide.LetAll, 0, nil, "b c d"},
		{"before traffic, those that passed", "a? b? c?", 2, 0, []types.UID{"b", "c"}, "b c"},
		{"before traffic, as many as may get it", "a? b? c?", 1, 0, []types.UID{"b", "c"}, "b"},
		{"before traffic, none while others get it", "a b? c?", 1, 0, []types.UID{"b", "c"}, ""},
		{"none in the place of one that comes without a gate", "a b! c!", 3, 1, nil, "b"},
		{"none while those that come without a gate fill the step", "a b!", 3, 2, nil, ""},
		{"all in the end, whatever comes", "a b!", decide.LetAll, 5, nil, "b"},
		{"none beside those that run without traffic", "a? b? c!", 2, 0, nil, ""},
		{"traffic for one that passed, and the start of another", "a? b!", 2, 0, []types.UID{"a"}, "b a"},
	} {
		t.Run(row.name, func(t *testing.T) {
			var got []string
			for _, pod := range decide.PodsToOpen(gatedPods(row.pods), row.let, row.coming, sets.New(row.passed...), now) {
				got = append(got, pod.Name)
			}
			NewWithT(t).Expect(strings.Join(got, " ")).To(Equal(row.want))
		})
	}
}

func TestOrdinalsPodsToReturn(t *testing.T) {
	gated := func(name, revision string, changes ...func(*corev1.Pod)) corev1.Pod {
		pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"revision": revision}}}
		beforeStart(&pod)
		for _, change := range changes {
			change(&pod)
		}
		return pod
	}
	pods := []corev1.Pod{
		gated("web-18", "b", func(pod *corev1.Pod) { pod.Spec.SchedulingGates = nil }),
		gated("web-19", "b", func(pod *corev1.Pod) { pod.DeletionTimestamp = &metav1.Time{Time: now} }),
		gated("web-20", "b"), gated("web-21", "a"), gated("web-22", "b", func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodFailed }), gated("web-39", "b"),
	}
	for _, row := range []struct {
		name      string
		partition int32
		update    string
		unseen    bool
		want      string
	}{
		{"those that come back as before", 2147483647, "b", false, "web-20 web-39"},
		{"not those above the partition", 30, "b", false, "web-20"},
		{"all that the next release replaces", 0, "c", false, "web-20 web-21 web-39"},
		{"none before the controller knows the partition", 2147483647, "b", true, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			web := decide.Ordinals{Label: "revision", Current: "a", Update: row.update, Replicas: 40, Partition: row.partition, Observed: !row.unseen}
			var got []string
			for _, pod := range web.PodsToReturn(pods) {
				got = append(got, pod.Name)
			}
			NewWithT(t).Expect(strings.Join(got, " ")).To(Equal(row.want))
		})
	}
}

func TestPodFinishedBeforeTraffic(t *testing.T) {
	for _, row := range []struct {
		name     string
		pod      *corev1.Pod
		seconds  int32
		finished bool
		wait     time.Duration
	}{
		{"once its containers are ready", podWith(beforeTraffic, has("ContainersReady", "True"), has("Ready", "False")), 0, true, 0},
		{"once they have been for long enough", podWith(beforeTraffic, has("ContainersReady", "True")), 60, true, 0},
		{"not before", podWith(beforeTraffic, has("ContainersReady", "True")), 90, false, 30 * time.Second},
		{"not while they aren't", podWith(beforeTraffic, has("ContainersReady", "False")), 0, false, 0},
		{"with traffic, once it is ready", podWith(beforeTraffic, has(podGate, "True"), has("ContainersReady", "True"), has("Ready", "False")), 0, false, 0},
		{"without a gate, once it is ready", podWith(has("ContainersReady", "True"), has("Ready", "False")), 0, false, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			finished, wait := decide.PodFinished(row.pod, decide.Rollout{MinReadySeconds: row.seconds}, now)
			g.Expect(finished).To(Equal(row.finished))
			g.Expect(wait).To(Equal(row.wait))
			g.Expect(decide.IsReady(row.pod)).To(Equal(finished || wait > 0))
		})
	}
}

func TestFindStuckCountsFromTheEndOfAGate(t *testing.T) {
	opened := func(text string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			pod.Annotations = map[string]string{"altershield.defense.antgroup.com/gate-opened": text}
		}
	}
	minuteAgo := "1795255140" // of 2026-11-21T09:59:00Z
	for _, row := range []struct {
		name  string
		pod   corev1.Pod
		stuck int
		next  time.Duration
	}{
		{"never behind it", podOfAge(time.Hour, unschedulable, beforeStart), 0, 0},
		{"since its end", podOfAge(time.Hour, unschedulable, opened(minuteAgo)), 0, time.Minute},
		{"since its end, too long ago", podOfAge(time.Hour, unschedulable, opened("1795251600")), 1, 0},
		{"since its creation if that is later", podOfAge(30*time.Second, unschedulable, opened("1795251600")), 0, 90 * time.Second},
		{"since its creation where the time is unreadable", podOfAge(time.Hour, unschedulable, opened("soon")), 1, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			stuck := decide.FindStuck(decide.Revision{}, []corev1.Pod{row.pod}, decide.Patience{Threshold: 2 * time.Minute}, now)
			NewWithT(t).Expect(stuck.Pods).To(HaveLen(row.stuck))
			NewWithT(t).Expect(stuck.Next).To(Equal(row.next))
		})
	}
}

func TestPolicyStuckAfter(t *testing.T) {
	policy := func(text string) *appv1alpha1.ReleasePolicy {
		made := &appv1alpha1.ReleasePolicy{}
		if text != "" {
			after, _ := time.ParseDuration(text)
			made.Spec.StuckAfter = &metav1.Duration{Duration: after}
		}
		return made
	}
	for _, row := range []struct {
		name       string
		policy     *appv1alpha1.ReleasePolicy
		annotation string
		setting    time.Duration
		want       time.Duration
		fails      bool
	}{
		{"the setting", nil, "", time.Minute, time.Minute, false},
		{"the annotation", policy(""), "90s", time.Minute, 90 * time.Second, false},
		{"the policy before the annotation", policy("2m"), "90s", time.Minute, 2 * time.Minute, false},
		{"the policy without the setting", policy("2m"), "", 0, 2 * time.Minute, false},
		{"never by the policy", policy("0s"), "90s", time.Minute, 0, false},
		{"the annotation does not switch it on", nil, "90s", 0, 0, false},
		{"an invalid annotation", nil, "soon", time.Minute, time.Minute, true},
		{"an invalid annotation that doesn't count", policy("2m"), "soon", time.Minute, 2 * time.Minute, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			annotations := map[string]string{}
			if row.annotation != "" {
				annotations["altershield.defense.antgroup.com/stuck-after"] = row.annotation
			}
			after, err := decide.PolicyStuckAfter(row.policy, annotations, row.setting)
			NewWithT(t).Expect(after).To(Equal(row.want))
			NewWithT(t).Expect(err != nil).To(Equal(row.fails))
		})
	}
}

func TestTurnNextWithALimit(t *testing.T) {
	for _, row := range []struct {
		name, pods string
		let        int32
		nodes      []string
		want       string
	}{
		{"as many as may run", "ao bo co do eo", 2, nil, "ao bo"},
		{"none", "ao bo co do eo", 0, nil, ""},
		{"one more", "an bo co do eo", 2, nil, "bo"},
		{"none while as many run", "an bn co do eo", 2, nil, ""},
		{"none in place of one that is being deleted", "an bo- co do eo", 2, nil, ""},
		{"none in place of one that is coming", "an co do eo", 2, nil, ""},
		{"none in place of one that isn't ready", "an bo! co do eo", 1, nil, ""},
		{"one that isn't ready first", "an bo co! do eo", 2, nil, "co"},
		{"only on the first nodes", "ao bo co do eo", 5, []string{"b"}, "bo"},
		{"all in the end", "an bn co do eo", decide.LetAll, nil, "co do eo"},
	} {
		t.Run(row.name, func(t *testing.T) {
			turn := decide.Turn{Version: version, Nodes: row.nodes, Desired: 5, Unavailable: 5, Let: ptr.To(row.let)}
			next, _ := turn.Next(nodePods(row.pods), now)
			var got []string
			for _, pod := range next {
				got = append(got, pod.Name[:2])
			}
			NewWithT(t).Expect(strings.Join(got, " ")).To(Equal(row.want))
		})
	}
	t.Run("those that have ended, besides", func(t *testing.T) {
		pods := nodePods("an bo co! do eo")
		pods[2].Status.Phase = corev1.PodFailed
		next, _ := decide.Turn{Version: version, Desired: 5, Unavailable: 5, Let: ptr.To[int32](2)}.Next(pods, now)
		NewWithT(t).Expect(next).To(HaveExactElements(HaveField("Name", "co")))
		pods[0].Labels = nil
		next, _ = decide.Turn{Version: version, Desired: 5, Unavailable: 5, Let: ptr.To[int32](2)}.Next(pods, now)
		NewWithT(t).Expect(next).To(HaveExactElements(HaveField("Name", "co"), HaveField("Name", "an")))
	})
	t.Run("none before a pod gets traffic", func(t *testing.T) {
		pods := nodePods("an bo co do eo")
		beforeTraffic(&pods[0])
		next, _ := decide.Turn{Version: version, Desired: 5, Unavailable: 1, Let: ptr.To[int32](5)}.Next(pods, now)
		NewWithT(t).Expect(next).To(BeEmpty())
	})
}
