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

package changeworkload_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/delivery"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
)

// older is the version that releases go back to.
const older = "6a8ff823a5011291b0f02a1d83c2222d"

// measuring lets the reconciler write ChangeRecords and measure delivery.
func (r *release) measuring() *prometheus.Registry {
	r.t.Helper()
	r.recording(func() error { return nil })
	registry := prometheus.NewRegistry()
	measures, err := delivery.New(registry, r.kube)
	NewWithT(r.t).Expect(err).NotTo(HaveOccurred())
	r.reconciler.Delivery, r.reconciler.Records.Delivery = measures, measures
	return registry
}

// measured returns what isn't 0: counters as <name> <labels>, histograms as such with the sum of the seconds. It expects the namespace of
// the release in all but the bypasses.
func (r *release) measured(registry *prometheus.Registry) map[string]float64 {
	r.t.Helper()
	g := NewWithT(r.t)
	families, err := registry.Gather()
	g.Expect(err).NotTo(HaveOccurred())
	shown := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			labels := slices.DeleteFunc(slices.Clone(metric.GetLabel()), func(label *dto.LabelPair) bool { return label.GetName() == "workload_namespace" })
			g.Expect(len(labels) < len(metric.GetLabel()) || family.GetName() == "altershield_bypasses_total").To(BeTrue(), family.GetName())
			name := family.GetName()
			for _, label := range labels {
				name += " " + label.GetValue()
			}
			if histogram := metric.GetHistogram(); histogram.GetSampleCount() > 0 {
				g.Expect(histogram.GetSampleCount()).To(BeEquivalentTo(1), name)
				shown[name] = histogram.GetSampleSum()
			}
			if value := metric.GetCounter().GetValue(); value > 0 {
				shown[name] = value
			}
		}
	}
	return shown
}

// after lets minutes pass.
func (r *release) after(minutes int) {
	r.clock.SetTime(r.clock.Now().Add(time.Duration(minutes) * time.Minute))
}

// describe changes the spec of the release.
func (r *release) describe(change func(*appv1alpha1.ChangeWorkloadSpec)) {
	r.t.Helper()
	g := NewWithT(r.t)
	var record appv1alpha1.ChangeWorkload
	g.Expect(r.kube.Get(r.t.Context(), r.record, &record)).To(Succeed())
	change(&record.Spec)
	g.Expect(r.kube.Update(r.t.Context(), &record)).To(Succeed())
}

// at puts the Deployment at a release.
func (r *release) at(version, number string, annotations map[string]string) {
	r.t.Helper()
	g := NewWithT(r.t)
	g.Expect(r.kube.Get(r.t.Context(), client.ObjectKeyFromObject(r.deployment), r.deployment)).To(Succeed())
	r.deployment.Labels["admission-webhook-altershield.antgroup.com/version"] = version
	if r.deployment.Annotations == nil {
		r.deployment.Annotations = map[string]string{}
	}
	r.deployment.Annotations["altershield.defense.antgroup.com/release"] = number
	for key, value := range annotations {
		r.deployment.Annotations[key] = value
	}
	g.Expect(r.kube.Update(r.t.Context(), r.deployment)).To(Succeed())
}

// judge gives the pods of the batches of a release a verdict.
func (r *release) judge(number int64, verdict appv1alpha1.Verdict) {
	r.t.Helper()
	g := NewWithT(r.t)
	r.pass()
	var batches appv1alpha1.ChangePodList
	g.Expect(r.kube.List(r.t.Context(), &batches, client.InNamespace(r.record.Namespace))).To(Succeed())
	judged := 0
	for _, batch := range batches.Items {
		if batch.Spec.Release != number || batch.Spec.ChangeWorkloadID != r.record.Name {
			continue
		}
		judged++
		batch.Status.PodResults = []appv1alpha1.PodSummary{{Namespace: batch.Namespace, Pod: batch.Spec.PodInfos[0].Pod, UID: batch.Spec.PodInfos[0].UID, Verdict: verdict, Message: "find error"}}
		g.Expect(r.kube.Status().Update(r.t.Context(), &batch)).To(Succeed())
	}
	g.Expect(judged).To(Equal(1))
}

// goBack makes release 3: the Deployment went back to the version older, whose pod has finished.
func (r *release) goBack(made appv1alpha1.Rollback) client.ObjectKey {
	r.t.Helper()
	g, ctx, namespace := NewWithT(r.t), r.t.Context(), r.record.Namespace
	annotation, err := json.Marshal([]appv1alpha1.Rollback{made})
	g.Expect(err).NotTo(HaveOccurred())
	r.at(older, "3", map[string]string{"altershield.defense.antgroup.com/rollbacks": string(annotation)})
	labels := map[string]string{"app": "sleep", "admission-webhook-altershield.antgroup.com/version": older}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: r.deployment.Spec.Template.Spec}
	replicaSet := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "sleep-2", Labels: labels, OwnerReferences: []metav1.OwnerReference{
			*metav1.NewControllerRef(r.deployment, appsv1.SchemeGroupVersion.WithKind("Deployment"))}},
		Spec: appsv1.ReplicaSetSpec{Replicas: ptr.To[int32](1), Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template},
	}
	g.Expect(r.kube.Create(ctx, replicaSet)).To(Succeed())
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "sleep-2-a", Labels: map[string]string{
			"app": "sleep", "admission-webhook-altershield.antgroup.com/version": older, "altershield.defense.antgroup.com/operate-finished": "1795255200",
		}, OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(replicaSet, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))}},
		Spec: template.Spec,
	}
	g.Expect(r.kube.Create(ctx, pod)).To(Succeed())
	pod.Status.Phase = "Running"
	g.Expect(r.kube.Status().Update(ctx, pod)).To(Succeed())
	var left appv1alpha1.ChangeWorkload
	g.Expect(r.kube.Get(ctx, r.record, &left)).To(Succeed())
	back := &appv1alpha1.ChangeWorkload{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "sleep--x--" + older, OwnerReferences: left.OwnerReferences, Labels: map[string]string{
			"app.kubernetes.io/deployment-name": "sleep", "admission-webhook-altershield.antgroup.com/version": older,
		}},
		Spec: left.Spec,
	}
	back.Spec.ChangeWorkloadID, back.Spec.Reversion, back.Spec.Release, back.Spec.Rollback = back.Name, older, 3, &made
	back.Spec.CreateTimeUnix = r.clock.Now().Unix()
	g.Expect(r.kube.Create(ctx, back)).To(Succeed())
	return client.ObjectKeyFromObject(back)
}

func TestReconcileMeasuresAReleaseThatSucceeds(t *testing.T) {
	g, r := NewWithT(t), newRelease(t)
	registry := r.measuring()
	r.describe(func(spec *appv1alpha1.ChangeWorkloadSpec) {
		spec.CommitTime = &metav1.Time{Time: testkit.Now().Add(-time.Hour)}
	})
	r.reconcile()
	g.Expect(r.measured(registry)).To(BeEmpty())
	r.after(5)
	r.pass()
	for range 3 {
		r.reconcile()
		g.Expect(r.measured(registry)).To(Equal(map[string]float64{
			"altershield_deployments_total release verified": 1,
			"altershield_release_seconds verified":           300,
			"altershield_lead_time_seconds":                  3900,
			"altershield_pods_released_total true":           1,
		}))
	}
}

func TestReconcileMeasuresAReleaseThatIsSuspendedAndRepaired(t *testing.T) {
	g, r := NewWithT(t), newRelease(t)
	registry := r.measuring()
	r.deployment.Spec.Replicas = ptr.To[int32](3)
	g.Expect(r.kube.Update(t.Context(), r.deployment)).To(Succeed())
	r.deployment.Status.Replicas, r.deployment.Status.UpdatedReplicas = 3, 1
	g.Expect(r.kube.Status().Update(t.Context(), r.deployment)).To(Succeed())
	r.reconcile()
	r.after(2)
	r.judge(1, "unpass")
	for range 2 {
		r.reconcile()
		g.Expect(r.state()).To(Equal("Suspend"))
		g.Expect(r.measured(registry)).To(Equal(map[string]float64{
			"altershield_deployments_total release failed": 1,
			"altershield_release_seconds failed":           120,
			"altershield_pods_released_total true":         1,
			"altershield_pods_spared_total":                2,
		}))
	}
	r.after(1)
	r.deployment.Spec.Replicas = ptr.To[int32](1)
	r.at(testkit.Version, "2", nil)
	r.describe(func(spec *appv1alpha1.ChangeWorkloadSpec) {
		spec.Release, spec.IgnoredSuspend, spec.CreateTimeUnix = 2, true, r.clock.Now().Unix()
	})
	r.deployment.Spec.Replicas = ptr.To[int32](1)
	g.Expect(r.kube.Update(t.Context(), r.deployment)).To(Succeed())
	r.reconcile()
	r.after(4)
	r.judge(2, "pass")
	for range 2 {
		r.reconcile()
		g.Expect(r.state()).To(Equal("Success"))
		g.Expect(r.measured(registry)).To(Equal(map[string]float64{
			"altershield_deployments_total release failed":  1,
			"altershield_deployments_total repair verified": 1,
			"altershield_release_seconds failed":            120,
			"altershield_release_seconds verified":          240,
			"altershield_recovery_seconds repair":           300,
			"altershield_pods_released_total true":          2,
			"altershield_pods_spared_total":                 2,
			"altershield_bypasses_total ignored_suspend":    1,
		}))
	}
}

func TestReconcileMeasuresAReleaseThatIsRolledBack(t *testing.T) {
	g, r := NewWithT(t), newRelease(t)
	registry := r.measuring()
	r.at(testkit.Version, "2", nil)
	r.describe(func(spec *appv1alpha1.ChangeWorkloadSpec) { spec.Release = 2 })
	r.reconcile()
	r.after(3)
	back := r.goBack(appv1alpha1.Rollback{
		Version: testkit.Version, Release: 2, To: older, ToRelease: 3, Reason: "PodsNotRunning", Message: "pod sleep-1-a can't pull its image", Time: metav1.NewTime(r.clock.Now()),
	})
	r.after(1)
	for range 2 {
		r.reconcile()
		g.Expect(r.measured(registry)).To(Equal(map[string]float64{
			"altershield_deployments_total release rolledback": 1,
			"altershield_release_seconds rolledback":           240,
		}))
	}
	r.record = back
	r.reconcile()
	r.after(6)
	r.judge(3, "pass")
	for range 2 {
		r.reconcile()
		g.Expect(r.state()).To(Equal("Success"))
		g.Expect(r.measured(registry)).To(Equal(map[string]float64{
			"altershield_deployments_total release rolledback": 1,
			"altershield_deployments_total rollback verified":  1,
			"altershield_release_seconds rolledback":           240,
			"altershield_release_seconds verified":             420,
			"altershield_recovery_seconds rollback":            420,
			"altershield_pods_released_total true":             1,
		}))
	}
}

func TestReconcileMeasuresALateBadVerdict(t *testing.T) {
	g, r := NewWithT(t), newRelease(t)
	registry := r.measuring()
	r.reconcile()
	r.after(5)
	r.judge(1, "pass")
	r.reconcile()
	r.after(10)
	r.judge(1, "unpass")
	for range 2 {
		r.reconcile()
		g.Expect(r.state()).To(Equal("Suspend"))
		g.Expect(r.measured(registry)).To(Equal(map[string]float64{
			"altershield_deployments_total release verified":           1,
			"altershield_deployments_total release failed":             1,
			"altershield_deployments_corrected_total release verified": 1,
			"altershield_release_seconds verified":                     300,
			"altershield_pods_released_total true":                     1,
		}))
	}
	r.after(2)
	r.judge(1, "pass")
	r.reconcile()
	g.Expect(r.state()).To(Equal("Success"))
	g.Expect(r.measured(registry)).To(Equal(map[string]float64{
		"altershield_deployments_total release verified":           2,
		"altershield_deployments_total release failed":             1,
		"altershield_deployments_corrected_total release verified": 1,
		"altershield_deployments_corrected_total release failed":   1,
		"altershield_recovery_seconds withdrawn":                   120,
		"altershield_release_seconds verified":                     300,
		"altershield_pods_released_total true":                     1,
	}))
}

// A new leader, or one that crashed between the ChangeRecord and the status, counts nothing again.
func TestReconcileMeasuresAReleaseOnceForAllLeaders(t *testing.T) {
	g, r := NewWithT(t), newRelease(t)
	first := r.measuring()
	r.reconcile()
	r.after(5)
	r.pass()
	through := r.reconciler.Client
	r.reconciler.Client = withoutStatus(through)
	_, err := r.reconciler.Reconcile(t.Context(), ctrl.Request{NamespacedName: r.record})
	g.Expect(err).To(MatchError(errAway))
	g.Expect(r.measured(first)).To(HaveKeyWithValue("altershield_deployments_total release verified", 1.0))
	r.reconciler.Client = through
	second := r.measuring()
	r.reconcile()
	g.Expect(r.state()).To(Equal("Success"))
	g.Expect(r.measured(second)).To(BeEmpty())
}
