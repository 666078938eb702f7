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
package releasegate

import (
	"cmp"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

// maxListed is the greatest number of versions that a map of a ReleaseGate may list.
const maxListed = 5000

// Verified returns what a ReleaseGate lists, given the ChangeWorkloads of its namespace and what it lists already: the verified versions of
// workloads with a paced release, and the version whose pace has ended while it is the present one, as all of its pods may run. A workload
// whose releases are no longer paced keeps those that are listed, as their pods carry the label. The order of the records, which is another
// one with each list, doesn't matter: up to the limit, the newest version of each workload by its name is listed, then the older ones.
func Verified(listed map[string]string, records []appv1alpha1.ChangeWorkload) map[string]string {
	byWorkload := map[types.UID][]appv1alpha1.ChangeWorkload{}
	for i := range records {
		owner := metav1.GetControllerOfNoCopy(&records[i])
		if owner == nil || records[i].Spec.Observed {
			continue
		}
		byWorkload[owner.UID] = append(byWorkload[owner.UID], records[i])
	}
	workloads := slices.SortedFunc(maps.Keys(byWorkload), func(a, b types.UID) int {
		return cmp.Or(cmp.Compare(nameOf(&byWorkload[a][0]), nameOf(&byWorkload[b][0])), cmp.Compare(a, b))
	})
	type entry struct{ version, workload string }
	var newest, older []entry
	for _, workload := range workloads {
		of := byWorkload[workload]
		paced := slices.ContainsFunc(of, func(record appv1alpha1.ChangeWorkload) bool { return record.Status.Pace != nil })
		for i, version := range append(unpaced(of), decide.VerifiedVersions(of)...) {
			switch found := (entry{version, nameOf(&of[0])}); {
			case !paced && listed[version] == "":
			case i == 0:
				newest = append(newest, found)
			default:
				older = append(older, found)
			}
		}
	}
	verified := map[string]string{}
	for _, found := range append(newest, older...) {
		if _, known := verified[found.version]; !known && len(verified) < maxListed {
			verified[found.version] = found.workload
		}
	}
	return verified
}

// unpaced returns the version of the last release of a workload if it was paced and isn't any more, although the workload is at it.
func unpaced(of []appv1alpha1.ChangeWorkload) []string {
	last := slices.MaxFunc(of, func(a, b appv1alpha1.ChangeWorkload) int { return cmp.Compare(a.Spec.Release, b.Spec.Release) })
	paced := decide.StoredPace(&last)
	if last.Status.Pace == nil || paced == nil || paced.Status != metav1.ConditionFalse ||
		paced.Reason == appv1alpha1.ReasonSuperseded {
		return nil
	}
	return []string{last.Spec.Reversion}
}

// GatedFrom returns the first ordinals whose pods get a gate before they start, by the versions of paced releases that aren't verified. Of
// workloads with the same version the lowest counts. Up to the limit, those of the first versions are listed.
func GatedFrom(verified map[string]string, records []appv1alpha1.ChangeWorkload) map[string]int32 {
	var from map[string]int32
	for i := range records {
		version, first := records[i].Spec.Reversion, gatedFrom(&records[i])
		if first == nil || verified[version] != "" || !decide.IsPaced(&records[i]) {
			continue
		}
		if from == nil {
			from = map[string]int32{}
		}
		if known, listed := from[version]; !listed || *first < known {
			from[version] = *first
		}
	}
	if len(from) > maxListed {
		for _, version := range slices.Sorted(maps.Keys(from))[maxListed:] {
			delete(from, version)
		}
	}
	return from
}

// gatedFrom returns the first ordinal of a release whose pods get a gate before they start, nil if there is none.
func gatedFrom(record *appv1alpha1.ChangeWorkload) *int32 {
	if record.Status.Pace == nil {
		return nil
	}
	return record.Status.Pace.GatedFrom
}

// nameOf returns the kind and the name of the workload of a record, such as Deployment.apps/web.
func nameOf(record *appv1alpha1.ChangeWorkload) string {
	of := record.Workload()
	return of.GroupKind().String() + "/" + of.Name
}
