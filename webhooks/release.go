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

package webhooks

import (
	"encoding/json"
	"maps"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/lifecycle"
)

// ownedLabels and ownedAnnotations are the keys of a Deployment that nobody but the operator writes.
func ownedLabels() []string {
	return []string{appv1alpha1.LabelVersion, appv1alpha1.LabelDefenseStatus, appv1alpha1.LabelSuspend}
}

func ownedAnnotations() []string {
	return []string{appv1alpha1.AnnotationRelease, appv1alpha1.AnnotationIgnoredSuspendBy, appv1alpha1.AnnotationHeld}
}

// ownedTemplateLabels are the keys of a pod template that nobody but the operator writes. A template that brought the
// Finished label along would have its pods checked before they are ready.
func ownedTemplateLabels() []string {
	return []string{appv1alpha1.LabelVersion, appv1alpha1.LabelOperateFinished}
}

// marks are the parts of a Deployment that tell one release from another.
type marks struct {
	labels         map[string]string
	annotations    map[string]string
	templateLabels map[string]string
	template       template
	paused         bool
}

func newMarks(deployment *unstructured.Unstructured) marks {
	templateLabels, _, _ := unstructured.NestedStringMap(deployment.Object, "spec", "template", "metadata", "labels")
	paused, _, _ := unstructured.NestedBool(deployment.Object, "spec", "paused")
	return marks{
		paused:         paused,
		labels:         deployment.GetLabels(),
		annotations:    deployment.GetAnnotations(),
		templateLabels: templateLabels,
		template:       newTemplate(deployment.Object),
	}
}

func (m marks) suspended() bool {
	_, suspended := m.labels[appv1alpha1.LabelSuspend]
	return suspended
}

// ignoresSuspension says whether an update that makes the given release asks to pass the suspension. Besides the label, a
// record of this very release in the user's own name counts: the API server calls the defaulter again when a later
// webhook changed the template, and by then the label is consumed. Writing the record by hand grants no more than the
// label does.
func (m marks) ignoresSuspension(release int64, user string) bool {
	if m.labels[appv1alpha1.LabelIgnoredSuspend] == appv1alpha1.IgnoredSuspendTrue {
		return true
	}
	record, found := appv1alpha1.IgnoredSuspendOf(m.annotations)
	return found && record.User == user && record.Release == release
}

// stampNew returns the marks that a new Deployment must carry. Whatever it brings of the operator's keys, say from an
// export of another Deployment, is not its own.
func stampNew(created marks) (marks, error) {
	version, err := created.template.version()
	if err != nil {
		return marks{}, err
	}
	stamped := created.clone()
	stamped.restoreOwned(marks{})
	stamped.setRelease(version, 1)
	delete(stamped.labels, appv1alpha1.LabelIgnoredSuspend)
	return stamped, nil
}

// stampUpdate returns the marks that a Deployment must carry when user updates it from old to updated at now. While
// its template stays the same nothing of the operator's changes, so that no pod restarts.
func stampUpdate(old, updated marks, user string, now time.Time) (marks, error) {
	stamped := updated.clone()
	stamped.restoreOwned(old)
	if updated.template.equal(old.template) {
		return stamped, nil
	}
	version, err := updated.template.version()
	if err != nil {
		return marks{}, err
	}
	release := lifecycle.ReleaseNumber(old.annotations) + 1
	stamped.setRelease(version, release)
	delete(stamped.labels, appv1alpha1.LabelDefenseStatus)
	stamped.resume(old)
	if old.suspended() && updated.ignoresSuspension(release, user) {
		record, err := json.Marshal(appv1alpha1.IgnoredSuspend{
			User: user, Time: metav1.NewMicroTime(now), Version: version, Release: release,
		})
		if err != nil {
			return marks{}, err
		}
		stamped.annotations[appv1alpha1.AnnotationIgnoredSuspendBy] = string(record)
	}
	if stamped.labels[appv1alpha1.LabelIgnoredSuspend] == appv1alpha1.IgnoredSuspendTrue {
		delete(stamped.labels, appv1alpha1.LabelIgnoredSuspend)
	}
	return stamped, nil
}

func (m marks) clone() marks {
	return marks{
		labels:         cloneOrNew(m.labels),
		annotations:    cloneOrNew(m.annotations),
		templateLabels: cloneOrNew(m.templateLabels),
		template:       m.template,
		paused:         m.paused,
	}
}

// resume ends the pause of the operator, which was for the release before: held back, the new one could never repair it. A
// user's pause stays.
func (m *marks) resume(old marks) {
	held, known := old.annotations[appv1alpha1.AnnotationHeld]
	delete(m.annotations, appv1alpha1.AnnotationHeld)
	if known && old.paused && !strings.HasSuffix(held, appv1alpha1.HeldOverridden) {
		m.paused = false
	}
}

// restoreOwned sets the operator's keys to what old has.
func (m marks) restoreOwned(old marks) {
	restore(m.labels, old.labels, ownedLabels())
	restore(m.annotations, old.annotations, ownedAnnotations())
	restore(m.templateLabels, old.templateLabels, ownedTemplateLabels())
}

func (m marks) setRelease(version string, number int64) {
	m.labels[appv1alpha1.LabelVersion] = version
	m.templateLabels[appv1alpha1.LabelVersion] = version
	m.annotations[appv1alpha1.AnnotationRelease] = strconv.FormatInt(number, 10)
}

func restore(current, old map[string]string, keys []string) {
	for _, key := range keys {
		value, present := old[key]
		if present {
			current[key] = value
		} else {
			delete(current, key)
		}
	}
}

func cloneOrNew(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return maps.Clone(m)
}
