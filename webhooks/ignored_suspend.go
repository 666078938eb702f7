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
	"fmt"
	"strconv"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// ignoresSuspension reports whether the label ignored-suspend is set.
func (m marks) ignoresSuspension() bool {
	return m.labels[appv1alpha1.LabelIgnoredSuspend] == appv1alpha1.IgnoredSuspendTrue
}

// hasSpentLabel reports whether the label is set but without effect, as it was already used or removed at this release.
func (m marks) hasSpentLabel() bool {
	return m.ignoresSuspension() && decide.IsIgnoredSuspendSpent(m.annotations)
}

// ignores reports whether the label lets a release from old through.
func (m marks) ignores(old marks) bool { return m.ignoresSuspension() && !old.hasSpentLabel() }

// ignoreDenial records a release that overrides its denial, and consumes the label.
func (m marks) ignoreDenial(old, updated marks, record appv1alpha1.IgnoredSuspend) error {
	rollbacks := appv1alpha1.RollbacksOf(old.annotations)
	facts := decide.Admission{Suspended: old.suspended(), Ignored: updated.ignores(old)}
	facts.Refused = decide.RefusalOf(rollbacks, record.Version, record.Time.Time) != nil ||
		decide.RefusalOf(rollbacks, updated.knownAs, record.Time.Time) != nil
	used := decide.Admit(facts).Ignores
	switch {
	case used:
		if err := m.write(appv1alpha1.AnnotationIgnoredSuspendBy, record); err != nil {
			return err
		}
	case !facts.Suspended && !facts.Refused && len(refusedVersions(rollbacks, record.Time.Time)) > 0:
		// A later webhook may turn the template into a quarantined one, and then this webhook is called again. If none does, the
		// record reconciler removes the label.
		return nil
	}
	if m.ignoresSuspension() {
		delete(m.labels, appv1alpha1.LabelIgnoredSuspend)
		if !used { // a GitOps client sets it again, by when the release may have failed
			m.annotations[appv1alpha1.AnnotationIgnoredSuspendRemoved] = strconv.FormatInt(record.Release, 10)
		}
	}
	return nil
}

// takeOut advises to remove a label that a manifest sets.
func takeOut(kind string) string {
	return fmt.Sprintf("remove it from the manifest that sets it: otherwise it lets every release through while the %s is suspended", kind)
}

// labelAdvice warns if an update sets the label without being a release. A manifest with the label would set it again after each
// release.
func labelAdvice(old, updated marks) []string {
	if old.ignoresSuspension() || !updated.ignoresSuspension() || updated.releases(old) {
		return nil
	}
	key := appv1alpha1.LabelIgnoredSuspend
	switch {
	case decide.IsIgnoredSuspendSpent(old.annotations):
		return []string{fmt.Sprintf("the label %s has no effect, since it was already used or removed at this release; %s", key, takeOut(old.noun()))}
	case old.suspended():
		return []string{fmt.Sprintf("the label %s lets the next release through; then %s", key, takeOut(old.noun()))}
	}
	return []string{fmt.Sprintf("the label %s is removed again, since the %s isn't suspended; %s", key, old.noun(), takeOut(old.noun()))}
}

// spentAdvice explains how to get a release through if the label of the workload is spent.
func spentAdvice(old marks) []string {
	if !old.hasSpentLabel() {
		return nil
	}
	return []string{fmt.Sprintf("the label %s on the %s has no effect, since it was already used or removed at this release: "+
		"remove it, then set it in the update that changes the %s", appv1alpha1.LabelIgnoredSuspend, old.noun(), workload.ContentNoun(old.kind))}
}
