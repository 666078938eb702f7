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
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// author is the author of a request.
type author struct {
	// user is the user name of the author.
	user string
	// isOperator reports whether the author is the operator, whose releases are rollbacks.
	isOperator bool
}

// marks are the parts of a workload that identify a release.
type marks struct {
	kind        workload.Kind
	labels      map[string]string
	annotations map[string]string
	// content is what a release changes. exempt reports whether a change of it is no release.
	content workload.Content
	exempt  bool
	// templates are the pod templates that carry the version label, by JSON pointer.
	templates map[string]templateMarks
	paused    bool
	// holdWith is what the pause of a new release needs to know of the workload before it; empty for nothing.
	holdWith string
	// originals are the fields that the pause of the previous release overwrote, in JSON, if resumed is set: the operator ends that pause.
	originals string
	resumed   bool
	// steer has the operations that changed object since it was sent, and further ones; sent is the object before, nil if it is object.
	steer []workload.Operation
	sent  *unstructured.Unstructured
	// gate is the gate label that pods of the version have.
	gate string
	// first reports whether the release is to start on its first nodes.
	first bool
	// course is what the freezes that are on make of the release.
	course course
	// object is the object with the marks.
	object *unstructured.Unstructured
	// knownAs is the earlier version of the template, if another build of the operator computed it. It is empty if there is none, or
	// if it makes no difference.
	knownAs string
}

func newMarks(kind workload.Kind, object *unstructured.Unstructured) marks {
	pauser, canPause := kind.(workload.Pauser)
	return marks{
		kind:        kind,
		paused:      canPause && pauser.Paused(object),
		labels:      object.GetLabels(),
		annotations: object.GetAnnotations(),
		content:     workload.ContentOf(kind, object.Object),
		templates:   newTemplateMarks(kind, object.Object),
		object:      object,
	}
}

// marksOfUpdate returns the marks of both objects of an update.
func marksOfUpdate(kind workload.Kind, oldObject, updatedObject *unstructured.Unstructured) (old, updated marks, err error) {
	released, err := workload.IsRelease(kind, oldObject.Object, updatedObject.Object)
	old, updated = newMarks(kind, oldObject), newMarks(kind, updatedObject)
	updated.exempt = !released
	return old, updated, err
}

// releases reports whether an update from old is a release.
func (m marks) releases(old marks) bool { return !m.exempt && !m.content.Equal(old.content) }

// computedVersion returns the version of the content.
func (m marks) computedVersion() (string, error) { return workload.VersionOf(m.kind, m.content) }

// noun names the kind in messages.
func (m marks) noun() string { return m.kind.GroupVersionKind().Kind }

func (m marks) suspended() bool {
	_, suspended := m.labels[appv1alpha1.LabelSuspend]
	return suspended
}

// release returns the current release of the workload.
func (m marks) release() decide.Release {
	return decide.Release{Version: m.labels[appv1alpha1.LabelVersion], Number: decide.ReleaseNumber(m.annotations)}
}

// isLeftAlone reports whether another controller manages the workload, and it has not come under change control before: a release is that
// of the object which this controller reconciles.
func (m marks) isLeftAlone(old marks) bool {
	// workload.Controls decides the same on a stored object, by its own annotations. Here those of before the request count: its controller may
	// send the number of a release that it copies from the workload of which this is a part.
	_, decides := m.kind.(workload.Selective)
	return !decides && metav1.GetControllerOfNoCopy(m.object) != nil && decide.ReleaseNumber(old.annotations) == 0
}

// stampNew returns the marks for a new workload. It drops the operator's keys that the workload brings, for example from an
// export of another one, except for the labels of an orphaned revision that it adopts. An object that is no release gets none.
func stampNew(created marks, user string, now time.Time) (marks, error) {
	stamped := created.clone()
	stamped.restoreOwned(marks{})
	if created.exempt {
		return stamped, nil
	}
	version, err := created.computedVersion()
	if err != nil {
		return marks{}, err
	}
	if created.knownAs != "" {
		version = created.knownAs
	}
	stamped.setRelease(version, 1)
	stamped.setGate(created.gate)
	delete(stamped.labels, appv1alpha1.LabelIgnoredSuspend)
	delete(stamped.annotations, appv1alpha1.AnnotationRollback) // there is nothing to go back to
	delete(stamped.annotations, appv1alpha1.AnnotationGoOn)
	record := appv1alpha1.ReleaseRecord{User: user, Time: metav1.NewTime(now), Version: version, Release: 1, Reason: reasonIn(created)}
	if _, once := created.kind.(workload.Once); once && created.ignoresSuspension() {
		record.Ended = &appv1alpha1.Ended{IgnoredSuspend: true}
	}
	return stamped, stamped.write(appv1alpha1.AnnotationReleasedBy, record)
}

// stampUpdate returns the marks for a workload that is updated from old to updated at now. Unless the template changes, the
// operator's keys don't, so no pod restarts. The API server may call the webhook again for the same request, with an object that
// this function has already stamped, so it relies on old.
func stampUpdate(old, updated marks, by author, now time.Time) (marks, error) {
	updated = updated.beforeFirstCall(old)
	if updated.course.frozen != nil && updated.paused { // the pause goes on as it began
		updated.holdWith = old.annotations[appv1alpha1.AnnotationHoldWith]
	}
	stamped := updated.clone()
	stamped.restoreOwned(old)
	if !updated.releases(old) {
		stamped.settleRequests(old, updated, by.user)
		return stamped, stamped.settle(updated.course, old.release().Number)
	}
	stamped.settleRollback(updated, by)
	release := decide.NextRelease(old.annotations)
	named, err := updated.name(by, release)
	if err != nil {
		return marks{}, err
	}
	version := named.version
	stamped.setRelease(version, release)
	stamped.setGate(updated.gate)
	if named.unstamped {
		stamped.unstampTemplates()
	}
	delete(stamped.labels, appv1alpha1.LabelDefenseStatus)
	stamped.resume(old)
	if !by.isOperator { // its rollbacks need no label; a user set it for another release
		if err := stamped.ignoreDenial(old, updated, appv1alpha1.IgnoredSuspend{
			User: by.user, Time: metav1.NewMicroTime(now), Version: version, Release: release,
		}); err != nil {
			return marks{}, err
		}
	}
	reason := stamped.takeReason(old, updated, by, release)
	end := ended(updated, stamped)
	stamped.startOnFirstNodes(release)
	if err := stamped.settle(updated.course, release); err != nil {
		return marks{}, err
	}
	return stamped, stamped.write(appv1alpha1.AnnotationReleasedBy, appv1alpha1.ReleaseRecord{
		User: releaser(updated, by, release), Time: metav1.NewTime(now), Version: version, Release: release,
		Changes: workload.Changes(updated.kind, old.content, updated.content), Reason: reason, Ended: end,
		Computed: named.computed,
	})
}

func (m marks) clone() marks {
	clone := m
	clone.labels, clone.annotations = cloneOrNew(m.labels), cloneOrNew(m.annotations)
	clone.templates = make(map[string]templateMarks, len(m.templates))
	for pointer, template := range m.templates {
		template.labels = cloneOrNew(template.labels)
		clone.templates[pointer] = template
	}
	return clone
}

// resume ends the operator's pause of the previous release, which would hold back the repair too. A user's pause stays.
func (m *marks) resume(old marks) {
	for _, key := range []string{
		appv1alpha1.AnnotationHeld, appv1alpha1.AnnotationHeldFrom, appv1alpha1.AnnotationParked, appv1alpha1.AnnotationFrozen,
		appv1alpha1.AnnotationBreakGlass, appv1alpha1.AnnotationPaced, appv1alpha1.AnnotationGoOn, appv1alpha1.AnnotationGoOnBy,
		appv1alpha1.AnnotationGoOnReason,
	} {
		delete(m.annotations, key)
	}
	if m.paused && old.isHeld() {
		m.paused, m.originals, m.resumed = false, appv1alpha1.OriginalsOf(old.annotations), true
	}
}

// isHeld reports whether the operator has paused the rollout.
func (m marks) isHeld() bool { return m.paused && m.isMarkedHeld() }

// isMarkedHeld reports whether a pause, as the annotations show it, is the operator's. A workload without a number is at its first release, as
// decide.ReleaseOf counts.
func (m marks) isMarkedHeld() bool {
	return decide.IsMarkedHeld(m.annotations, max(m.release().Number, 1))
}

// originalsOf returns the fields that a pause of the operator overwrites, in JSON; empty for none.
func (m marks) originalsOf(pauser workload.Pauser) string {
	if m.resumed {
		return m.originals
	}
	return pauser.Originals(m.object)
}

// restoreOwned resets the operator's keys to their values in old.
func (m marks) restoreOwned(old marks) {
	m.restoreKeys(old)
	m.restoreTemplates(old)
}

func (m marks) restoreKeys(old marks) {
	restore(m.labels, old.labels, appv1alpha1.OwnedLabels())
	restore(m.annotations, old.annotations, appv1alpha1.OwnedAnnotations())
}

// leftAlone returns the marks of a workload that is left alone. It keeps a version that its pod template has, too: the workload of which it is a part may
// have been stamped, and finds its pods by that.
func (m marks) leftAlone(old marks) marks {
	left := m.clone()
	left.restoreKeys(old)
	if version := m.labels[appv1alpha1.LabelVersion]; version != "" && version == m.templateLabel(appv1alpha1.LabelVersion) {
		left.labels[appv1alpha1.LabelVersion] = version
	}
	return left
}

// write stores a record in an annotation, as JSON.
func (m marks) write(key string, record any) error {
	var written strings.Builder
	encoder := json.NewEncoder(&written)
	encoder.SetEscapeHTML(false) // keeps the "->" of changes readable
	if err := encoder.Encode(record); err != nil {
		return fmt.Errorf("writing annotation %s: %w", key, err)
	}
	m.annotations[key] = strings.TrimSuffix(written.String(), "\n")
	return nil
}

func (m marks) setRelease(version string, number int64) {
	m.labels[appv1alpha1.LabelVersion] = version
	m.annotations[appv1alpha1.AnnotationRelease] = strconv.FormatInt(number, 10)
	delete(m.annotations, appv1alpha1.AnnotationHoldWith)
	if m.holdWith != "" {
		m.annotations[appv1alpha1.AnnotationHoldWith] = m.holdWith
	}
	m.stampTemplates(version)
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
