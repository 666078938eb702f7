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
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

const frozenKey = "altershield.defense.antgroup.com/frozen"

// saturday is the time of the plane.
var saturday = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

// lock is an incident lock of the namespace default that began an hour ago and ends after so many hours.
func lock(name string, hours int, changes ...func(*appv1alpha1.ChangeFreeze)) *appv1alpha1.ChangeFreeze {
	object := &appv1alpha1.ChangeFreeze{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, CreationTimestamp: metav1.NewTime(saturday.Add(-time.Hour))},
		Spec: appv1alpha1.ChangeFreezeSpec{
			Expires: &metav1.Duration{Duration: time.Duration(hours) * time.Hour}, Action: "Park", Running: "Finish", Thaw: appv1alpha1.FreezeThaw{Concurrent: 1},
		},
	}
	for _, change := range changes {
		change(object)
	}
	return object
}

func holding(object *appv1alpha1.ChangeFreeze) { object.Spec.Running = "Hold" }

// releasedAt records when the release of the Deployment sleep was admitted.
func releasedAt(at time.Time) func(*appsv1.Deployment) {
	return func(deployment *appsv1.Deployment) {
		deployment.Annotations["altershield.defense.antgroup.com/released-by"] =
			`{"user":"alice","time":"` + at.Format(time.RFC3339) + `","version":"` + version + `","release":2}`
	}
}

// parkedBy parks the Deployment sleep by the freeze lock.
func parkedByLock(deployment *appsv1.Deployment) {
	held(deployment)
	releasedAt(saturday.Add(-30 * time.Minute))(deployment)
	deployment.Annotations[frozenKey] = `{"release":2,"by":["default/lock"],"concurrent":1}`
}

// parkedRecord is the record of another workload that the same freeze parked, with the status of its condition Frozen and the reasons.
func parkedRecord(name, by, frozen, reason, verified string) *appv1alpha1.ChangeWorkload {
	record := recordAt(1, older, "Running", verified)
	record.Name, record.UID, record.Labels = name, "", nil
	record.OwnerReferences[0].Name, record.OwnerReferences[0].UID = name, types.UID("uid-of-"+name)
	record.Status.Frozen = &appv1alpha1.FrozenRelease{By: by}
	record.Status.Conditions = append(record.Status.Conditions, metav1.Condition{
		Type: "Frozen", Status: metav1.ConditionStatus(frozen), Reason: reason, LastTransitionTime: metav1.NewTime(saturday.Add(-10 * time.Minute))})
	return record
}

// frozenRecord is the record of the present release, which waits for the end of a freeze.
func frozenRecord(by string) *appv1alpha1.ChangeWorkload {
	record := recordAt(2, version, "Running", "Frozen")
	record.Spec.CreateTimeUnix = saturday.Add(-30 * time.Minute).Unix()
	record.Status.Frozen = &appv1alpha1.FrozenRelease{By: by}
	record.Status.Conditions = append(record.Status.Conditions, metav1.Condition{Type: "Frozen", Status: "True", Reason: "ChangeFreeze"})
	return record
}

func optIn(objects []client.Object) []client.Object {
	objects[0].(*corev1.Namespace).Labels = map[string]string{"admission-webhook-altershield": "enabled"}
	return objects
}

// frozenState is what a plane shows of the freeze of its release.
func (p *plane) frozenState() (condition, by string) {
	p.t.Helper()
	var record appv1alpha1.ChangeWorkload
	NewWithT(p.t).Expect(p.api.Get(p.t.Context(), client.ObjectKey{Namespace: "default", Name: "sleep--x--" + version}, &record)).To(Succeed())
	for _, one := range record.Status.Conditions {
		if one.Type == "Frozen" {
			condition = string(one.Status) + " " + one.Reason
		}
	}
	if record.Status.Frozen != nil {
		by = record.Status.Frozen.By
	}
	return condition, by
}

func TestReconcileKeepsAReleaseParkedDuringTheFreeze(t *testing.T) {
	for _, row := range []struct {
		name      string
		freezes   []client.Object
		condition string
		by        string
		wait      time.Duration
		paused    bool
	}{
		{"that parked it", []client.Object{lock("lock", 8)}, "True ChangeFreeze", "default/lock", 7 * time.Hour, true},
		{"not during one that let it pass", []client.Object{lock("lock", 8), lock("other", 100)}, "True ChangeFreeze", "default/lock", 7 * time.Hour, true},
		{"nor after the end of the one that parked it", []client.Object{lock("other", 100)}, "False Thawed", "default/lock", 0, false},
		{"also during one that began later", []client.Object{lock("other", 8, func(object *appv1alpha1.ChangeFreeze) {
			object.CreationTimestamp = metav1.NewTime(saturday)
		})}, "True ChangeFreeze", "default/other", 8 * time.Hour, true},
		{"not if none is on", nil, "False Thawed", "default/lock", 0, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			p := newPlane(t, append(optIn(sleepOf(1, parkedByLock)), append(row.freezes, frozenRecord("default/lock"))...), nil)
			result := p.reconcile()
			condition, by := p.frozenState()
			g.Expect(condition).To(Equal(row.condition))
			g.Expect(by).To(Equal(row.by))
			if row.wait > 0 {
				g.Expect(result.RequeueAfter).To(Equal(row.wait))
			}
			p.reconcile()
			g.Expect(p.deployment().Spec.Paused).To(Equal(row.paused))
			_, marked := p.deployment().Annotations[frozenKey]
			g.Expect(marked).To(Equal(row.paused))
		})
	}
}

func TestReconcileHoldsAReleaseThatBeganBeforeTheFreeze(t *testing.T) {
	rolling := func(deployment *appsv1.Deployment) { deployment.Status.Replicas = 1 }
	for _, row := range []struct {
		name    string
		admit   func(*appsv1.Deployment)
		created time.Duration
		held    bool
	}{
		{"by the time of its admission", releasedAt(saturday.Add(-2 * time.Hour)), time.Minute, true},
		{"not if it was admitted later", releasedAt(saturday.Add(-time.Minute)), 2 * time.Hour, false},
		{"without that by the time of its record", func(*appsv1.Deployment) {}, 2 * time.Hour, true},
		{"not if that is later", func(*appsv1.Deployment) {}, time.Minute, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			g, record := NewWithT(t), recordAt(2, version, "Running", "Verifying")
			record.Spec.CreateTimeUnix = saturday.Add(-row.created).Unix()
			p := newPlane(t, append(optIn(sleepOf(1, row.admit, rolling)), lock("lock", 8, holding), record), nil)
			p.reconcile()
			g.Expect(p.deployment().Spec.Paused).To(Equal(row.held))
			if row.held {
				g.Expect(p.deployment().Annotations).To(HaveKeyWithValue(frozenKey, `{"release":2,"by":["default/lock"],"concurrent":1}`))
			} else {
				g.Expect(p.deployment().Annotations).NotTo(HaveKey(frozenKey))
			}
		})
	}
}

func TestReconcileThawsAReleaseAfterThoseBeforeIt(t *testing.T) {
	for _, row := range []struct {
		name  string
		by    string
		other *appv1alpha1.ChangeWorkload
		goes  bool
	}{
		{"none", "default/lock", nil, true},
		{"one under way", "default/lock", parkedRecord("other", "default/lock", "False", "Thawed", "Verifying"), false},
		{"one whose Job runs", "default/lock", parkedRecord("other", "default/lock", "False", "Thawed", "Running"), false},
		{"one that another freeze parked", "default/lock", parkedRecord("other", "default/friday", "False", "Thawed", "Verifying"), true},
		{"one that the freeze parked which was on last", "default/friday", parkedRecord("other", "default/friday", "False", "Thawed", "Verifying"), false},
		{"one that waits and was recorded earlier", "default/lock", parkedRecord("other", "default/lock", "True", "Thawing", "Frozen"), false},
		{"one that wasn't looked at since", "default/lock", parkedRecord("other", "default/lock", "True", "ChangeFreeze", "Frozen"), false},
	} {
		t.Run(row.name, func(t *testing.T) {
			g, objects := NewWithT(t), append(optIn(sleepOf(1, parkedByLock)), frozenRecord(row.by))
			if row.other != nil {
				objects = append(objects, row.other)
			}
			p := newPlane(t, objects, nil)
			p.reconcile()
			p.reconcile()
			condition, _ := p.frozenState()
			g.Expect(condition).To(Equal(map[bool]string{true: "False Thawed", false: "True Thawing"}[row.goes]))
			g.Expect(p.deployment().Spec.Paused).To(Equal(!row.goes))
		})
	}
}

// A ChangeFreeze that is edited so that it no longer concerns a workload hasn't ended for others.
func TestReconcileThawsAReleaseThatTheFreezeNoLongerConcerns(t *testing.T) {
	for _, row := range []struct {
		name     string
		selected string
		goes     bool
	}{
		{"before those that it still concerns", "other", true},
		{"after those that it doesn't concern either", "another", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			other := sleepOf(1, parkedByLock)[1].(*appsv1.Deployment)
			other.Name, other.UID = "other", "d-2"
			waits := parkedRecord("other--x--"+version, "default/lock", "True", "ChangeFreeze", "Frozen")
			waits.Spec.Release, waits.Status.ObservedRelease, waits.OwnerReferences = 2, 2, ofSleep()
			waits.OwnerReferences[0].Name, waits.OwnerReferences[0].UID = "other", "d-2"
			edited := lock("lock", 8, func(object *appv1alpha1.ChangeFreeze) {
				object.Spec.Workloads = []appv1alpha1.WorkloadSelector{{Kind: "Deployment.apps", Name: row.selected}}
			})
			p := newPlane(t, append(optIn(sleepOf(1, parkedByLock)), frozenRecord("default/lock"), edited, other, waits), nil)
			p.reconcile()
			p.reconcile()
			g.Expect(p.deployment().Spec.Paused).To(Equal(!row.goes))
			var record appv1alpha1.ChangeWorkload
			g.Expect(p.api.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "sleep--x--" + version}, &record)).To(Succeed())
			g.Expect(record.Status.Conditions).To(ContainElement(And(
				HaveField("Type", "Frozen"), HaveField("Message", HavePrefix("ChangeFreeze default/lock doesn't freeze the release any more")))))
		})
	}
}

// A ChangeFreeze that only warns by now is on still.
func TestReconcileThawsAReleaseThatTheFreezeOnlyWarnsOf(t *testing.T) {
	g := NewWithT(t)
	warning := lock("lock", 8, func(object *appv1alpha1.ChangeFreeze) { object.Spec.Action = "Warn" })
	p := newPlane(t, append(optIn(sleepOf(1, parkedByLock)), frozenRecord("default/lock"), warning), nil)
	p.reconcile()
	p.reconcile()
	g.Expect(p.deployment().Spec.Paused).To(BeFalse())
	var record appv1alpha1.ChangeWorkload
	g.Expect(p.api.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "sleep--x--" + version}, &record)).To(Succeed())
	g.Expect(record.Status.Conditions).To(ContainElement(And(
		HaveField("Type", "Frozen"), HaveField("Message", "ChangeFreeze default/lock doesn't freeze the release any more: the rollout goes on"))))
}

func TestThawEnded(t *testing.T) {
	frozen, under := parkedRecord("a", "default/lock", "True", "Thawing", "Frozen"), parkedRecord("a", "default/lock", "False", "Thawed", "Verifying")
	verified := parkedRecord("a", "default/lock", "False", "Thawed", "AllPodsPassed")
	resumed := parkedRecord("a", "default/lock", "False", "Resumed", "Verifying")
	left := frozen.DeepCopy()
	left.OwnerReferences = nil
	for _, row := range []struct {
		name          string
		before, after *appv1alpha1.ChangeWorkload
		passes        bool
	}{
		{"one that is verified", under, verified, true},
		{"one that a user resumed", frozen, resumed, true},
		{"one that passed by a BreakGlass", frozen, parkedRecord("a", "default/lock", "False", "BreakGlass", "Verifying"), true},
		{"one that fails", under, parkedRecord("a", "default/lock", "False", "Thawed", "PodsFailed"), true},
		{"one that its deleted workload leaves", frozen, left, true},
		{"one that another freeze takes over", frozen, parkedRecord("a", "default/other", "True", "ChangeFreeze", "Frozen"), true},
		{"one that another freeze holds", under, parkedRecord("a", "default/other", "True", "ChangeFreeze", "Frozen"), true},
		{"not one that its freeze holds again", under, parkedRecord("a", "default/lock", "True", "ChangeFreeze", "Frozen"), false},
		{"not one that goes on", frozen, under, false},
		{"not one whose Job runs", under, parkedRecord("a", "default/lock", "False", "Thawed", "Running"), false},
		{"not one that is verified later", resumed, verified, false},
		{"not one that no freeze parked", recordAt(2, version, "Running", "Verifying"), recordAt(2, version, "Success", "AllPodsPassed"), false},
	} {
		t.Run(row.name, func(t *testing.T) {
			NewWithT(t).Expect(thawEnded().Update(event.UpdateEvent{ObjectOld: row.before, ObjectNew: row.after})).To(Equal(row.passes))
		})
	}
	g := NewWithT(t)
	g.Expect(thawEnded().Create(event.CreateEvent{Object: under})).To(BeFalse())
	g.Expect(thawEnded().Delete(event.DeleteEvent{Object: under})).To(BeTrue())
	g.Expect(thawEnded().Delete(event.DeleteEvent{Object: verified})).To(BeFalse())
}

func TestOfFreezeMapsItToReleasesThatItMayConcern(t *testing.T) {
	under, elsewhere := recordAt(2, version, "Running", "Verifying"), recordAt(2, version, "Running", "Verifying")
	elsewhere.Namespace = "shop"
	const failed, awaiting = "6a8ff823a5011291b0f02a1d83c2222d", "1f3870be274f6c49b3e31a0c6728957f"
	objects := append(sleepOf(1), under, elsewhere, parkedRecord("frozen", "default/lock", "True", "ChangeFreeze", "Frozen"),
		recordAt(1, older, "Success", "AllPodsPassed"), recordAt(2, failed, "Suspend", "PodsFailed"), recordAt(2, awaiting, "Running", "AwaitingRun"))
	p := newPlane(t, objects, nil)
	for namespace, names := range map[string][]string{
		"default":                    {"default/frozen", "default/sleep--x--" + version, "default/sleep--x--" + failed, "default/sleep--x--" + awaiting},
		"shop":                       {"shop/sleep--x--" + version},
		"altershieldoperator-system": {"default/frozen", "default/sleep--x--" + version, "default/sleep--x--" + failed, "default/sleep--x--" + awaiting, "shop/sleep--x--" + version},
	} {
		t.Run(namespace, func(t *testing.T) {
			var found []string
			for _, request := range p.ofFreeze(t.Context(), lock("lock", 8, func(object *appv1alpha1.ChangeFreeze) { object.Namespace = namespace })) {
				found = append(found, request.String())
			}
			NewWithT(t).Expect(found).To(ConsistOf(names))
		})
	}
	g := NewWithT(t)
	beside := p.frozenBeside(t.Context(), under)
	g.Expect(beside).To(HaveLen(1))
	g.Expect(beside[0].Name).To(Equal("frozen"))
}

func TestReconcileReportsAFreezeOnce(t *testing.T) {
	g := NewWithT(t)
	p := newPlane(t, append(optIn(sleepOf(1, parkedByLock)), lock("lock", 8), recordAt(2, version, "Running", "Verifying")), nil)
	p.reconcile()
	p.reconcile()
	g.Expect(p.recorded.Events).To(Receive(ContainSubstring("ReleaseFrozen")))
	g.Expect(p.recorded.Events).NotTo(Receive())
	g.Expect(p.api.Delete(t.Context(), lock("lock", 8))).To(Succeed())
	p.reconcile()
	p.reconcile()
	g.Expect(p.recorded.Events).To(Receive(ContainSubstring("ReleaseThawed")))
	g.Expect(p.recorded.Events).NotTo(Receive())
}

func TestReconcileLeavesARolloutThatAnExceptedUserResumed(t *testing.T) {
	g, record := NewWithT(t), recordAt(2, version, "Running", "Verifying")
	rolling := func(deployment *appsv1.Deployment) { deployment.Status.Replicas = 1 }
	p := newPlane(t, append(optIn(sleepOf(1, releasedAt(saturday.Add(-2*time.Hour)), rolling)), lock("lock", 8, holding), record), nil)
	p.reconcile()
	p.reconcile()
	g.Expect(p.deployment().Spec.Paused).To(BeTrue())
	deployment := p.deployment()
	deployment.Spec.Paused = false
	g.Expect(p.api.Update(t.Context(), deployment)).To(Succeed())
	for range 4 {
		p.reconcile()
		g.Expect(p.deployment().Spec.Paused).To(BeFalse())
	}
	condition, _ := p.frozenState()
	g.Expect(condition).To(Equal("False Resumed"))
	g.Expect(p.deployment().Annotations).NotTo(HaveKey(frozenKey))
}

// A user who let a release go on during one freeze didn't do so during a later one, although that ends before the first.
func TestReconcileHoldsAReleaseByAFreezeThatBeganAfterAUserLetItGoOn(t *testing.T) {
	for _, row := range []struct {
		name   string
		glass  string
		paused bool
	}{
		{"by a BreakGlass", `{"release":2,"name":"inc-1","uid":"u-1","user":"bob","time":"2026-11-21T10:00:00Z","overrides":["Freeze"],"would":["frozen"]}`, false},
		{"as one whom the first excepts, who does so again", "", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			g, record := NewWithT(t), recordAt(2, version, "Running", "Verifying")
			rolling := func(deployment *appsv1.Deployment) { deployment.Status.Replicas = 1 }
			p := newPlane(t, append(optIn(sleepOf(1, releasedAt(saturday.Add(-2*time.Hour)), rolling)), lock("lock", 100, holding), record), nil)
			isPaused := func() bool {
				for range 4 {
					p.reconcile()
				}
				return p.deployment().Spec.Paused
			}
			g.Expect(isPaused()).To(BeTrue())
			deployment := p.deployment()
			deployment.Spec.Paused = false
			if row.glass != "" {
				deployment.Annotations["altershield.defense.antgroup.com/break-glass"] = row.glass
			}
			g.Expect(p.api.Update(t.Context(), deployment)).To(Succeed())
			g.Expect(isPaused()).To(BeFalse(), "it goes on during the first one")

			p.Clock = clocktesting.NewFakePassiveClock(saturday.Add(time.Hour))
			incident := lock("incident", 2, holding, func(object *appv1alpha1.ChangeFreeze) {
				object.CreationTimestamp = metav1.NewTime(saturday.Add(time.Hour))
			})
			g.Expect(p.api.Create(t.Context(), incident)).To(Succeed())
			g.Expect(isPaused()).To(BeTrue())
			g.Expect(p.api.Delete(t.Context(), incident)).To(Succeed())
			g.Expect(isPaused()).To(Equal(row.paused))
		})
	}
}
