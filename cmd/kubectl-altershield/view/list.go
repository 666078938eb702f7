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

package view

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// Filter selects workloads of a list by the state of their present release. Without any field it hides what is verified.
type Filter struct {
	All, Suspended, Running, Failed bool
	// Since is the earliest start of a release; zero for any.
	Since time.Time
	// Names are what a user may mean by the name of a workload; empty for any.
	Names []Name
}

// ReleaseList is the present release of each workload, or all known releases of one.
type ReleaseList struct {
	Kind       string    `json:"kind"`
	APIVersion string    `json:"apiVersion"`
	Items      []Release `json:"items"`
	// Counts counts the workloads by state, also those that are not listed.
	Counts map[State]int `json:"counts"`
	// Hidden is the number of verified releases that are not listed.
	Hidden int    `json:"hidden,omitempty"`
	Notes  []Note `json:"notes,omitempty"`
	// Narrowed reports whether only releases of a name or with some labels were looked for.
	Narrowed bool `json:"-"`
}

// Note is what the view lacks, since the user may not read it.
type Note struct {
	Verb     string `json:"verb"`
	Resource string `json:"resource"`
	// Namespace is empty for all namespaces.
	Namespace string `json:"namespace,omitempty"`
	// Lacks is what isn't shown, a Lack.
	Lacks Lack `json:"lacks"`
}

// Lack is a part of a view that isn't shown.
type Lack string

const (
	// LacksWorkload means that the state of the workload itself isn't shown.
	LacksWorkload Lack = "workload"
	// LacksBatches means that the batches aren't shown.
	LacksBatches Lack = "batches"
	// LacksKept means that it isn't shown which contents are kept.
	LacksKept Lack = "kept"
	// LacksRecorded means that releases are missing that ChangeRecords alone know.
	LacksRecorded Lack = "recorded"
	// LacksReviews means that it isn't shown what the user may do.
	LacksReviews Lack = "reviews"
	// LacksPolicies means that some policies are missing.
	LacksPolicies Lack = "policies"
	// LacksPods means that it isn't known where pods run, and which ones wait.
	LacksPods Lack = "pods"
)

// ListOf returns the present release of each workload with a record, those that need a person first.
func ListOf(records []appv1alpha1.ChangeWorkload, filter Filter) ReleaseList {
	list := ReleaseList{Kind: "ReleaseList", APIVersion: APIVersion, Items: []Release{}, Counts: map[State]int{}}
	for _, record := range newest(records) {
		release := releaseOf(record)
		release.Current = true
		if back := record.Spec.Rollback; back != nil && release.State == Success {
			release.State, release.Reason, release.Why, release.RefusedUntil = RolledBack, string(back.Reason), back.Message, back.RefusedUntil
		}
		if !filter.names(record) {
			continue
		}
		list.Counts[release.State]++
		switch {
		case filter.shows(release):
			list.Items = append(list.Items, release)
		case release.State == Success:
			list.Hidden++
		}
	}
	slices.SortFunc(list.Items, func(a, b Release) int {
		return cmp.Or(cmp.Compare(urgency(a.State), urgency(b.State)), cmp.Compare(a.Namespace, b.Namespace),
			cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Workload, b.Workload))
	})
	return list
}

func (f Filter) shows(release Release) bool {
	if !f.Since.IsZero() && (release.Started == nil || release.Started.Time.Before(f.Since)) {
		return false
	}
	if !f.Suspended && !f.Running && !f.Failed {
		return f.All || !f.Since.IsZero() || release.State != Success
	}
	switch release.State {
	case Suspend:
		return f.Suspended && !release.NotSuspended || f.Failed
	case RolledBack, Failed:
		return f.Failed
	case Pending, Running, Waiting:
		return f.Running
	}
	return false
}

// names reports whether a user may mean the workload of a record.
func (f Filter) names(record *appv1alpha1.ChangeWorkload) bool {
	return len(f.Names) == 0 || slices.ContainsFunc(f.Names, func(name Name) bool {
		return (name.Namespace == "" || name.Namespace == record.Namespace) && len(name.Of([]appv1alpha1.ChangeWorkload{*record})) > 0
	})
}

// urgency orders states: what needs a person comes first.
func urgency(state State) int {
	return slices.Index([]State{Suspend, Failed, Waiting, Running, Pending, RolledBack, NotChecked, Superseded, Success}, state)
}

// Key identifies a workload, whatever the version of the API by which it is read.
type Key struct {
	Namespace string
	Kind      schema.GroupKind
	Name      string
}

// KeyOf returns the workload of a record.
func KeyOf(record *appv1alpha1.ChangeWorkload) Key {
	reference := record.Workload()
	return Key{record.Namespace, reference.GroupKind(), reference.Name}
}

// newest returns the newest record of each workload.
func newest(records []appv1alpha1.ChangeWorkload) []*appv1alpha1.ChangeWorkload {
	byWorkload := map[Key]*appv1alpha1.ChangeWorkload{}
	for i := range records {
		record := &records[i]
		of := KeyOf(record)
		if known := byWorkload[of]; known == nil || isNewer(record, known) {
			byWorkload[of] = record
		}
	}
	found := make([]*appv1alpha1.ChangeWorkload, 0, len(byWorkload))
	for _, record := range byWorkload {
		found = append(found, record)
	}
	return found
}

// isNewer reports whether a record is of a later release. Records of a deleted workload of the same name may still be there, and observed
// releases are numbered otherwise than enforced ones: between these the time decides.
func isNewer(record, than *appv1alpha1.ChangeWorkload) bool {
	if record.Workload().UID == than.Workload().UID && record.Spec.Observed == than.Spec.Observed {
		return record.Spec.Release > than.Spec.Release
	}
	return record.Spec.CreateTimeUnix > than.Spec.CreateTimeUnix
}
