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
	"iter"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/measure"
)

// maxRequests is the most requests to sources at a look at a release. Equal ones count once. Where its checks have more, they look in turn.
const maxRequests = 12

// turns has the turns of the checks of a release that look at metrics. Where it is nil, each one looks at every look.
type turns map[CheckID]turn

// turn is at which look of so many a check looks.
type turn struct{ at, of int }

// turnsOf returns the turns of the checks of a release, which are the same for each leader: they follow from the policies alone. Policies with another
// interval look at other times, so they count by themselves.
func turnsOf(verification *appv1alpha1.ReleaseVerification) turns {
	if verification == nil || mostRequests(verification) <= maxRequests {
		return nil
	}
	all := turns{}
	filled := map[int32]*round{}
	for policy, check := range measuring(verification) {
		one := filled[policy.IntervalSeconds]
		if one == nil {
			one = &round{asked: map[string]bool{}}
			filled[policy.IntervalSeconds] = one
		}
		all[CheckID{policy.Policy, check.Name}] = turn{at: one.add(requestsOf(check))}
	}
	for policy, check := range measuring(verification) {
		id := CheckID{policy.Policy, check.Name}
		all[id] = turn{at: all[id].at, of: filled[policy.IntervalSeconds].at + 1}
	}
	return all
}

// round has what is asked at the last turn of a round.
type round struct {
	at    int
	asked map[string]bool
}

// add returns the turn of a check with these requests: the last one, or one more if that would have too many.
func (r *round) add(requests []string) int {
	more := 0
	for _, request := range requests {
		if !r.asked[request] {
			more++
		}
	}
	if len(r.asked)+more > maxRequests {
		r.at, r.asked = r.at+1, map[string]bool{}
	}
	for _, request := range requests {
		r.asked[request] = true
	}
	return r.at
}

// measuring returns the checks of a release that look at metrics.
func measuring(verification *appv1alpha1.ReleaseVerification) iter.Seq2[*appv1alpha1.AppliedPolicy, *appv1alpha1.VerificationCheck] {
	return func(yield func(*appv1alpha1.AppliedPolicy, *appv1alpha1.VerificationCheck) bool) {
		for i := range verification.Policies {
			policy := &verification.Policies[i]
			for j := range policy.Checks {
				if check := &policy.Checks[j]; Measured(check) != nil && !yield(policy, check) {
					return
				}
			}
		}
	}
}

// mostRequests returns a number of requests that the checks of a release don't exceed, without asking them: most releases have few.
func mostRequests(verification *appv1alpha1.ReleaseVerification) (most int) {
	for _, check := range measuring(verification) {
		most += 2
		if looksBack(check) {
			most += 4
		}
	}
	return most
}

// requestsOf returns what a check asks its source at a look, with any pods: it names the source, and is equal where the requests are.
func requestsOf(check *appv1alpha1.VerificationCheck) (requests []string) {
	measured, pods, names := Measured(check), &checks.Scene{}, appv1alpha1.SourceLabels{Pod: "pod", Namespace: "namespace"}
	add := func(what string, queries []string, err error) {
		if err != nil { // then nothing is asked
			return
		}
		for _, request := range measure.Requests(measured, queries) {
			requests = append(requests, measured.Source()+" "+what+" "+request)
		}
	}
	queries, err := measured.Queries(pods, names)
	add("now", queries, err)
	if past, hasPast := measured.(measure.PastCheck); hasPast && looksBack(check) {
		add("before", queries, err)
		others, err := past.QueriesOfOthers(pods, names)
		add("others", others, err)
	}
	return requests
}

// looksBack reports whether a check asks for the time before the release at each look. One with the baseline Auto does so only where a release has no
// old pods to compare with.
func looksBack(check *appv1alpha1.VerificationCheck) bool {
	var comparison *appv1alpha1.RatioComparison
	switch {
	case check.Ratio != nil:
		comparison = check.Ratio.Comparison
	case check.Latency != nil:
		comparison = check.Latency.Comparison
	}
	return comparison != nil && comparison.Baseline == appv1alpha1.BaselineBefore
}
