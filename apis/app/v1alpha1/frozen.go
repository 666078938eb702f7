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

package v1alpha1

import "encoding/json"

// Frozen is the value of AnnotationFrozen: the freezes that parked a release.
//
// +kubebuilder:object:generate=false
type Frozen struct {
	// Release is the number of the release. The record is void for other releases.
	Release int64 `json:"release"`
	// By are the ChangeFreezes, each as <namespace>/<name>. Others that were on at that time let the release pass.
	By []string `json:"by"`
	// Concurrent is how many parked releases of a namespace start at a time when they end.
	Concurrent int32 `json:"concurrent"`
}

// String returns the value of AnnotationFrozen.
func (f *Frozen) String() string {
	text, _ := json.Marshal(f) // it has no values that JSON lacks
	return string(text)
}

// FrozenOf returns the freezes that parked a release in the annotations of its workload, nil if there is none.
func FrozenOf(annotations map[string]string, release int64) *Frozen {
	var frozen Frozen
	if json.Unmarshal([]byte(annotations[AnnotationFrozen]), &frozen) != nil || frozen.Release != release || len(frozen.By) == 0 {
		return nil
	}
	return &frozen
}

// BreakGlassMark is the value of AnnotationBreakGlass: how a release passed by a BreakGlass.
//
// +kubebuilder:object:generate=false
type BreakGlassMark struct {
	// Release is the number of the release. The record is void for other releases.
	Release int64 `json:"release"`
	BreakGlassPass
}

// BreakGlassPassOf returns how a release passed by a BreakGlass, in the annotations of its workload, nil if there is none.
func BreakGlassPassOf(annotations map[string]string, release int64) *BreakGlassPass {
	var mark BreakGlassMark
	if json.Unmarshal([]byte(annotations[AnnotationBreakGlass]), &mark) != nil || mark.Release != release || !isWritable(mark.Time.Time) {
		return nil
	}
	return &mark.BreakGlassPass
}
