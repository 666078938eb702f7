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

package decide

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// recordKeyLength is the number of hex digits by which the name of a ChangeRecord identifies its workload.
const recordKeyLength = 16

// RecordKey returns what identifies a workload in the names of its ChangeRecords, and in their label: a hash of its UID. Observed releases,
// which are counted separately, have a key of their own.
func RecordKey(workload types.UID, observed bool) string {
	if observed {
		workload += "/observed"
	}
	sum := sha256.Sum256([]byte(workload))
	return hex.EncodeToString(sum[:])[:recordKeyLength]
}

// TraceID returns the ID of the trace of a release. It is the same on every replica and after a restart, so that all add to one trace.
// docs/tracing.md describes how to compute it.
func TraceID(workload types.UID, release int64) [16]byte {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d", workload, release))
	return [16]byte(sum[:16])
}

// ChangeRecordName returns <key>-<release> for the first record of a release, and <key>-<release>-<n> for the n-th one that corrects it. Two
// leaders that write the same record write one of the same name.
func ChangeRecordName(key string, release int64, correction int32) string {
	name := key + "-" + strconv.FormatInt(release, 10)
	if correction > 0 {
		name += "-" + strconv.FormatInt(int64(correction), 10)
	}
	return name
}

// RecordPlace is the place of a ChangeRecord among those of its workload.
type RecordPlace struct {
	// Key identifies the workload, and the count of its releases.
	Key string
	// Release is the number of the release, or a later one where the count began anew. Correction is that of the correction, 0 for the first
	// record of the release.
	Release    int64
	Correction int32
}

// PlaceOf returns the place in the name of a ChangeRecord.
func PlaceOf(name string) (place RecordPlace, ok bool) {
	parts := strings.Split(name, "-")
	if len(parts) != 2 && len(parts) != 3 || len(parts[0]) != recordKeyLength {
		return RecordPlace{}, false
	}
	place.Key = parts[0]
	var err error
	if place.Release, err = strconv.ParseInt(parts[1], 10, 64); err != nil || place.Release < 1 {
		return RecordPlace{}, false
	}
	if len(parts) == 3 {
		correction, err := strconv.ParseInt(parts[2], 10, 32)
		if err != nil || correction < 1 {
			return RecordPlace{}, false
		}
		place.Correction = int32(correction)
	}
	return place, true
}

// Compare orders the records of a workload: by release, and those of a release by correction.
func (p RecordPlace) Compare(other RecordPlace) int {
	return cmp.Or(cmp.Compare(p.Key, other.Key), cmp.Compare(p.Release, other.Release), cmp.Compare(p.Correction, other.Correction))
}

// NewestRecord returns the newest among the names of the records of a workload, empty where there is none.
func NewestRecord(names []string) string {
	newest, before := Neighbours(names, math.MaxInt64)
	return cmp.Or(newest, before)
}

// IsRecordOf reports whether a record is that of a release. The number alone doesn't tell: the count begins anew where its annotation is lost.
func IsRecordOf(record *appv1alpha1.ChangeRecord, workload *appv1alpha1.ChangeWorkload) bool {
	spec := &record.Spec
	return spec.Release == workload.Spec.Release && spec.Version == workload.Spec.Reversion && spec.StartedAt.Unix() == workload.Spec.CreateTimeUnix
}

// Neighbours returns the newest record of a release, and the newest one of the releases before it, among the names of the records of its
// workload; empty where there is none.
func Neighbours(names []string, release int64) (own, before string) {
	var ownPlace, beforePlace RecordPlace
	for _, name := range names {
		switch place, ok := PlaceOf(name); {
		case !ok, place.Release > release:
		case place.Release == release && (own == "" || place.Compare(ownPlace) > 0):
			own, ownPlace = name, place
		case place.Release < release && (before == "" || place.Compare(beforePlace) > 0):
			before, beforePlace = name, place
		}
	}
	return own, before
}

// RecordHash returns the SHA-256 of a ChangeRecord: of its namespace, name and spec in JSON with sorted keys, without spaces. The spec is
// hashed as the API server has it, so that one from another version of the operator, with further fields, has the same hash.
func RecordHash(namespace, name string, spec any) (string, error) {
	var canonical bytes.Buffer
	encoder := json.NewEncoder(&canonical)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(map[string]any{"namespace": namespace, "name": name, "spec": spec}); err != nil {
		return "", fmt.Errorf("encoding ChangeRecord %s/%s: %w", namespace, name, err)
	}
	sum := sha256.Sum256(bytes.TrimSuffix(canonical.Bytes(), []byte("\n")))
	return hex.EncodeToString(sum[:]), nil
}

// DecodeRecord returns a ChangeRecord as the API server has it, and its hash: that of all fields, also of those that this version doesn't know.
func DecodeRecord(stored *unstructured.Unstructured) (record appv1alpha1.ChangeRecord, hash string, err error) {
	if hash, err = RecordHash(stored.GetNamespace(), stored.GetName(), stored.Object["spec"]); err != nil {
		return record, "", err
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(stored.Object, &record); err != nil {
		return record, "", fmt.Errorf("decoding ChangeRecord %s/%s: %w", stored.GetNamespace(), stored.GetName(), err)
	}
	return record, hash, nil
}

// RecordLink is a ChangeRecord as a link of the chain of its workload.
type RecordLink struct {
	Namespace, Name, Hash string
	// Previous is the record before, as this one has it.
	Previous *appv1alpha1.PreviousRecord
}

// ChainFault is a ChangeRecord that is missing or was edited.
type ChainFault struct {
	Namespace string `json:"namespace"`
	// Name is the name of the record.
	Name string `json:"name"`
	// Missing reports whether it is missing; otherwise it was edited.
	Missing bool `json:"missing"`
	// By is the record that shows it.
	By string `json:"by"`
}

// VerifyRecords returns the ChangeRecords that are missing or were edited. Those before the oldest record of a workload may be missing:
// they are removed by age and number, oldest first. The newest record of a workload has no other one that shows what happened to it.
func VerifyRecords(links []RecordLink) []ChainFault {
	type key struct{ namespace, name string }
	byName, oldest := map[key]*RecordLink{}, map[key]RecordPlace{}
	for i := range links {
		link := &links[i]
		byName[key{link.Namespace, link.Name}] = link
		if place, ok := PlaceOf(link.Name); ok {
			chain := key{link.Namespace, place.Key}
			if known, found := oldest[chain]; !found || place.Compare(known) < 0 {
				oldest[chain] = place
			}
		}
	}
	var faults []ChainFault
	for i := range links {
		link := &links[i]
		if link.Previous == nil {
			continue
		}
		before := byName[key{link.Namespace, link.Previous.Name}]
		place, _ := PlaceOf(link.Name)
		missing, _ := PlaceOf(link.Previous.Name)
		first := oldest[key{link.Namespace, place.Key}]
		// A later correction may keep a record from being the oldest one, whose previous one was removed all the same.
		wasOlder := missing.Key == place.Key && missing.Compare(first) < 0
		switch {
		case before == nil && first != place && !wasOlder:
			faults = append(faults, ChainFault{Namespace: link.Namespace, Name: link.Previous.Name, Missing: true, By: link.Name})
		case before != nil && before.Hash != link.Previous.SHA256:
			faults = append(faults, ChainFault{Namespace: link.Namespace, Name: link.Previous.Name, By: link.Name})
		}
	}
	slices.SortFunc(faults, func(a, b ChainFault) int {
		before, _ := PlaceOf(a.Name)
		after, _ := PlaceOf(b.Name)
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), before.Compare(after), cmp.Compare(a.By, b.By))
	})
	return faults
}

// StoredRecord is a ChangeRecord for which it is decided whether it stays.
type StoredRecord struct {
	Name    string
	Created time.Time
}

// ExpiredRecords returns the ChangeRecords of one workload that are too old, or too many: more than keep releases, 0 for no limit. They are
// the oldest ones, without a gap, so that a missing one in between shows.
func ExpiredRecords(records []StoredRecord, keep int, age time.Duration, now time.Time) []string {
	ordered := slices.DeleteFunc(slices.Clone(records), func(record StoredRecord) bool {
		_, ok := PlaceOf(record.Name)
		return !ok
	})
	slices.SortFunc(ordered, func(a, b StoredRecord) int {
		first, _ := PlaceOf(a.Name)
		second, _ := PlaceOf(b.Name)
		return first.Compare(second)
	})
	var releases []int64
	for _, record := range ordered {
		if place, _ := PlaceOf(record.Name); len(releases) == 0 || releases[len(releases)-1] != place.Release {
			releases = append(releases, place.Release)
		}
	}
	first := int64(0) // of the releases that stay by number
	if keep > 0 && len(releases) > keep {
		first = releases[len(releases)-keep]
	}
	var expired []string
	for _, record := range ordered {
		place, _ := PlaceOf(record.Name)
		if place.Release >= first && now.Sub(record.Created) <= age {
			break
		}
		expired = append(expired, record.Name)
	}
	return expired
}
