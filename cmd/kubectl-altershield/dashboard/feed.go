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

package dashboard

import (
	"reflect"
	"sync"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
)

// feed turns the records that are followed into the lines of a stream. What a slow browser hasn't taken yet is kept once for each workload, so
// that it can't grow with the number of changes.
type feed struct {
	lock sync.Mutex
	// records are the known ones by workload and by name, releases the present release of each workload, as the browser has it or gets it.
	records  map[view.Key]map[string]appv1alpha1.ChangeWorkload
	releases map[view.Key]view.Release
	// snapshot is set until it is taken, changed are the workloads with a change after it.
	snapshot *view.ReleaseList
	changed  map[view.Key]bool
	// isStale reports whether nothing can be read at present, told whether the browser has this.
	isStale, told bool
	failure       Failure
	// limit is how many changed workloads are kept. Above it the browser begins anew.
	limit int
	// ready has an entry while there is something to take.
	ready chan struct{}
}

func newFeed(limit int) *feed {
	return &feed{
		records: map[view.Key]map[string]appv1alpha1.ChangeWorkload{}, changed: map[view.Key]bool{}, limit: limit, ready: make(chan struct{}, 1), told: true,
	}
}

// Replace takes all records. The first ones are the snapshot; later ones are compared with what is known.
func (f *feed) Replace(records []appv1alpha1.ChangeWorkload) {
	f.lock.Lock()
	defer f.wake()
	f.records = map[view.Key]map[string]appv1alpha1.ChangeWorkload{}
	for i := range records {
		f.keep(records[i])
	}
	f.refresh()
	if f.releases == nil {
		list := view.ListOf(records, view.Filter{All: true})
		f.snapshot, f.releases = &list, map[view.Key]view.Release{}
		for of := range f.records {
			f.compare(of)
		}
		clear(f.changed)
		return
	}
	for of := range f.releases {
		f.compare(of)
	}
	for of := range f.records {
		f.compare(of)
	}
}

// Set takes a record that is new or has changed.
func (f *feed) Set(record appv1alpha1.ChangeWorkload) {
	f.lock.Lock()
	defer f.wake()
	f.keep(record)
	f.refresh()
	f.compare(view.KeyOf(&record))
}

// Remove takes a record that is gone.
func (f *feed) Remove(record appv1alpha1.ChangeWorkload) {
	f.lock.Lock()
	defer f.wake()
	of := view.KeyOf(&record)
	delete(f.records[of], record.Name)
	f.compare(of)
}

// Stale takes the reason why nothing can be read at present.
func (f *feed) Stale(failure Failure) {
	f.lock.Lock()
	defer f.wake()
	if !f.isStale {
		f.isStale, f.told, f.failure = true, false, failure
	}
}

// refresh ends that nothing can be read.
func (f *feed) refresh() {
	if f.isStale {
		f.isStale, f.told = false, false
	}
}

// wake lets the stream take what there is.
func (f *feed) wake() {
	f.lock.Unlock()
	select {
	case f.ready <- struct{}{}:
	default: // it is woken already
	}
}

// keep keeps a record, without what no view shows.
func (f *feed) keep(record appv1alpha1.ChangeWorkload) {
	of := view.KeyOf(&record)
	if f.records[of] == nil {
		f.records[of] = map[string]appv1alpha1.ChangeWorkload{}
	}
	record.ManagedFields = nil
	f.records[of][record.Name] = record
}

// compare notes a workload whose present release isn't the known one.
func (f *feed) compare(of view.Key) {
	var records []appv1alpha1.ChangeWorkload
	for _, record := range f.records[of] {
		records = append(records, record)
	}
	known, isKnown := f.releases[of]
	present := view.ListOf(records, view.Filter{All: true}).Items
	switch {
	case len(present) == 0 && isKnown:
		delete(f.releases, of)
		delete(f.records, of)
	case len(present) == 0, isKnown && reflect.DeepEqual(known, present[0]):
		return
	default:
		f.releases[of] = present[0]
	}
	f.changed[of] = true
}

// line is a line of a stream.
type line struct {
	Type string `json:"type"`
	// List is that of a snapshot, Release that of a change.
	List    *view.ReleaseList `json:"list,omitempty"`
	Release *view.Release     `json:"release,omitempty"`
	// Namespace, Kind, Group and Workload are those of a workload without records.
	Namespace string `json:"namespace,omitempty"`
	Kind      string `json:"kind,omitempty"`
	Group     string `json:"group,omitempty"`
	Workload  string `json:"workload,omitempty"`
	// Error is why nothing can be read at present.
	Error string `json:"error,omitempty"`
	// Now is the time of the server.
	Now string `json:"now,omitempty"`
}

// Types of lines.
const (
	snapshotLine = "snapshot"
	releaseLine  = "release"
	goneLine     = "gone"
	beatLine     = "beat"
	staleLine    = "stale"
	resyncLine   = "resync"
)

// take returns the lines that the browser lacks.
func (f *feed) take(now string) []line {
	f.lock.Lock()
	defer f.lock.Unlock()
	var lines []line
	if f.snapshot != nil {
		lines = append(lines, line{Type: snapshotLine, List: f.snapshot, Now: now})
		f.snapshot = nil
	}
	if len(f.changed) > f.limit {
		return append(lines, line{Type: resyncLine})
	}
	for of := range f.changed {
		if release, has := f.releases[of]; has {
			lines = append(lines, line{Type: releaseLine, Release: &release})
		} else {
			lines = append(lines, line{Type: goneLine, Namespace: of.Namespace, Kind: of.Kind.Kind, Group: of.Kind.Group, Workload: of.Name})
		}
	}
	clear(f.changed)
	if !f.told && f.isStale {
		lines = append(lines, line{Type: staleLine, Error: f.failure.Message})
	} else if !f.told {
		lines = append(lines, line{Type: beatLine, Now: now})
	}
	f.told = true
	return lines
}

// isFresh reports whether what the browser has is what the cluster has.
func (f *feed) isFresh() bool {
	f.lock.Lock()
	defer f.lock.Unlock()
	return !f.isStale
}
