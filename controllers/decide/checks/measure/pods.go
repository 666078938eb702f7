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

package measure

import (
	"math"
	"slices"
	"time"

	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
)

// Pod is a pod whose metrics are compared.
type Pod struct {
	Name string
	// New reports whether it runs the release.
	New bool
	// Ready is since when it is, Gone is when it was seen last, zero for one that still exists.
	Ready, Gone time.Time
	// Values are those of its metric at the moments until it was gone, NaN where there is none.
	Values []float64
}

// Pods returns the pods of a release, and those that don't run it, with the values of a metric by their names: those that are looked at. Old pods that are gone are
// known by their name and by a value from before the release began; other pods that are gone are left out.
func Pods(release *checks.Scene, moments []time.Time, values map[string][]float64) (pods []Pod) {
	count := len(release.New) + len(release.Old)
	known := make(map[string]bool, count)
	pods = make([]Pod, 0, count)
	of := func(pod *checks.Pod) []float64 {
		known[pod.Name] = true
		if values, found := values[pod.Name]; found {
			return values
		}
		return None(moments)
	}
	for i := range release.New {
		pod := &release.New[i]
		seen := of(pod)
		if !pod.Created.Before(release.Began) { // its predecessor in a StatefulSet had the same name
			ended := pod.Created
			if !pod.First.IsZero() && pod.First.Before(ended) { // in between, it was one of the release
				ended = pod.First
			}
			first, _ := slices.BinarySearchFunc(moments, ended, time.Time.Compare)
			pods = appendGone(pods, pod.Name, release.Began, moments, seen[:first])
		}
		pods = append(pods, Pod{Name: pod.Name, New: true, Ready: pod.Since, Values: seen})
	}
	for i := range release.Old {
		pod := &release.Old[i]
		pods = append(pods, Pod{Name: pod.Name, Ready: pod.Since, Values: of(pod)})
	}
	if _, exact := PodNames(release.Kind, release.Name); !exact {
		return sampled(release, pods)
	}
	var unknown []string
	for name := range values {
		if !known[name] {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	for _, name := range unknown {
		pods = appendGone(pods, name, release.Began, moments, values[name])
	}
	return sampled(release, pods)
}

// appendGone appends an old pod that is gone, with its values until then, if it has one from before the release began.
func appendGone(pods []Pod, name string, began time.Time, moments []time.Time, values []float64) []Pod {
	first := slices.IndexFunc(values, func(value float64) bool { return !math.IsNaN(value) })
	if first < 0 || !moments[first].Before(began) {
		return pods
	}
	last := len(values) - 1
	for math.IsNaN(values[last]) {
		last--
	}
	return append(pods, Pod{Name: name, Ready: moments[first], Gone: moments[last], Values: values[:last+1]})
}
