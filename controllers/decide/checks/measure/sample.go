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
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
)

// vowelless are the characters of which Kubernetes makes names (k8s.io/apimachinery/pkg/util/rand).
const vowelless = "bcdfghjklmnpqrstvwxz2456789"

// ending is how the names of those old pods end that are looked at where a workload has many. A query can't hash names, but Kubernetes makes their
// last characters at random, and the last digits of ordinals are spread evenly. So a pod that is gone stays in the sample.
type ending struct {
	// letters are those of which a name has one before last; none if all pods are looked at.
	letters, last string
}

// endingOf returns the ending that some hundred of the old pods of a release have.
func endingOf(release *checks.Scene) (end ending) {
	alphabet := map[string]string{"Deployment": vowelless, "DaemonSet": vowelless, "StatefulSet": "0123456789"}[release.Kind]
	pods := max(len(release.Old), int(release.Before.Pods))
	if pods <= checks.MaxSample || alphabet == "" {
		return ending{}
	}
	share := checks.MaxSample * len(alphabet)
	for ; share < pods; share *= len(alphabet) {
		end.last += alphabet[:1]
	}
	end.letters = alphabet[:share/pods]
	return end
}

func (e ending) has(name string) bool {
	before, found := strings.CutSuffix(name, e.last)
	return e.letters == "" || found && before != "" && strings.Contains(e.letters, before[len(before)-1:])
}

// after returns a pattern of so many of the characters, or more for a negative number, that have the ending.
func (e ending) after(characters string, count int) string {
	switch {
	case e.letters == "" && count < 0:
		return characters + "+"
	case e.letters == "":
		return fmt.Sprintf("%s{%d}", characters, count)
	case count < 0:
		return characters + "*[" + e.letters + "]" + e.last
	default:
		return fmt.Sprintf("%s{%d}[%s]%s", characters, count-1-len(e.last), e.letters, e.last)
	}
}

// sampledNames returns a pattern of the names of the pods of a workload that are looked at, those of the past as well: all, or where it had many
// old ones those with an ending, and at most a hundred new ones by name.
func sampledNames(release *checks.Scene) string {
	end := endingOf(release)
	pattern, _ := podNames(release.Kind, release.Name, end)
	if end.letters == "" {
		return pattern
	}
	for _, pod := range checks.Sample(release.New, checks.MaxSample) {
		pattern += "|" + regexp.QuoteMeta(pod.Name)
	}
	return pattern
}

// sampled returns those of the pods that are looked at. The others aren't missed.
func sampled(release *checks.Scene, pods []Pod) []Pod {
	end := endingOf(release)
	if end.letters == "" && len(release.New) <= checks.MaxSample {
		return pods
	}
	chosen := make(map[string]bool, checks.MaxSample)
	for _, pod := range checks.Sample(release.New, checks.MaxSample) {
		chosen[pod.Name] = true
	}
	return slices.DeleteFunc(pods, func(pod Pod) bool {
		return pod.New && !chosen[pod.Name] || !pod.New && !end.has(pod.Name)
	})
}
