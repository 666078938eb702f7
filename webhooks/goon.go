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

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// goOnForm returns the annotation that lets a release go on to a step.
func goOnForm(release int64, step string) string {
	return fmt.Sprintf("%s=%d:%s", appv1alpha1.AnnotationGoOn, release, step)
}

// asksToGoOn reports whether an update lets a release go on.
func (m marks) asksToGoOn(old marks) bool {
	asked := m.annotations[appv1alpha1.AnnotationGoOn]
	return asked != "" && asked != old.annotations[appv1alpha1.AnnotationGoOn]
}

// goOnDenial returns why an update may not let a release go on, empty if it may.
func goOnDenial(phrase string, old, updated marks) string {
	if !updated.asksToGoOn(old) {
		return ""
	}
	present := old.release().Number
	use := fmt.Sprintf("set %s or %s", goOnForm(present, "<step>"), goOnForm(present, appv1alpha1.GoOnAll))
	switch asked, ok := appv1alpha1.ParseGoOn(updated.annotations[appv1alpha1.AnnotationGoOn]); {
	case !ok:
		return fmt.Sprintf("%s can't go on by the annotation %s=%q: %s", phrase, appv1alpha1.AnnotationGoOn, updated.annotations[appv1alpha1.AnnotationGoOn], use)
	case asked.Release != present:
		return fmt.Sprintf("%s is at release %d, not at release %d, which is to go on: %s", phrase, present, asked.Release, use)
	}
	return ""
}

// goOnAdvice warns of an update that lets a release go on which isn't paced.
func goOnAdvice(phrase string, old, updated marks) []string {
	release := old.release().Number
	if !updated.asksToGoOn(old) || appv1alpha1.PacedOf(old.annotations, release) != nil {
		return nil
	}
	return []string{fmt.Sprintf("the annotation %s has no effect: release %d of %s is not paced", appv1alpha1.AnnotationGoOn, release, phrase)}
}

// requestAdvice warns of requests of a user that come with a release, which removes them. kubectl rollout undo brings back those of an earlier one.
func requestAdvice(phrase string, old, updated marks, release int64) (advice []string) {
	if updated.isBroughtBack(old) {
		return nil
	}
	for _, request := range []string{appv1alpha1.AnnotationGoOn, appv1alpha1.AnnotationRollback} {
		if asked := updated.annotations[request]; asked != "" && asked != old.annotations[request] {
			advice = append(advice, fmt.Sprintf("the annotation %s is removed, since this update makes release %d of %s: set it afterwards", request, release, phrase))
		}
	}
	return advice
}
