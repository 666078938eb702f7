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
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

// leastVersion is how many digits of a version name it.
const leastVersion = 4

// RollbackOf returns the rollback of a workload to a release or version, to the newest verified version if none is named. The operator goes
// back to verified versions alone, and not while a user has paused the workload.
func RollbackOf(facts Facts, to string, now time.Time) (Request, error) {
	argument := Argument(facts.Reference)
	if facts.Workload == nil {
		return Request{}, fmt.Errorf("%s can't be read, so it can't be rolled back", argument)
	}
	if workloadOf(facts).Paused {
		return Request{}, fmt.Errorf("%s is paused by a user, so that the operator would drop the request: kubectl altershield resume %s", argument, facts.Arguments())
	}
	targets := pastOf(facts).VerifiedTargets(now)
	if len(targets) == 0 && to == "" {
		return Request{}, fmt.Errorf("there is no verified version that %s may go back to: kubectl altershield history %s shows its releases", argument, facts.Arguments())
	}
	version, err := target(facts, targets, to, now)
	if err != nil {
		return Request{}, fmt.Errorf("%s can't go back to %s: %w", argument, to, err)
	}
	request := requestOf(RollbackRequest, facts)
	request.To = Side{Release: numberOf(facts, version), Version: version}
	return request, nil
}

// ParkOf returns the request that parks the release of a workload. The operator parks those of StatefulSets whose rollout is held half way.
func ParkOf(facts Facts) (Request, error) {
	argument := Argument(facts.Reference)
	switch {
	case facts.Reference.Kind != "StatefulSet" || !IsBuiltIn(facts.Reference):
		return Request{}, fmt.Errorf("%s can't be parked: only a StatefulSet can", argument)
	case facts.Workload == nil:
		return Request{}, fmt.Errorf("%s can't be read, so it can't be parked", argument)
	case !mayPark(facts, presentRecord(facts)):
		return Request{}, fmt.Errorf("%s can't be parked: its rollout is complete, isn't held, or is parked already: kubectl altershield status %s", argument, facts.Arguments())
	}
	return requestOf(ParkRequest, facts), nil
}

// mayPark reports whether the release of a StatefulSet can be parked, as far as the plugin knows.
func mayPark(facts Facts, record *appv1alpha1.ChangeWorkload) bool {
	read := workloadOf(facts)
	return facts.Reference.Kind == "StatefulSet" && IsBuiltIn(facts.Reference) && read.Held && read.Old > 0 && record != nil && !isParked(record)
}

// target returns the version that a user names by a release or by its first digits, the first one if none is named.
func target(facts Facts, targets []string, to string, now time.Time) (string, error) {
	if to == "" {
		return targets[0], nil
	}
	var found []string
	for _, version := range targets {
		if names(to, numberOf(facts, version), version) {
			found = append(found, version)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return "", errors.New(obstacle(facts, targets, to, now))
	}
	return "", errors.New("several versions begin like that")
}

// names reports whether a user names a release by its number, or by the first digits of its version.
func names(to string, number int64, version string) bool {
	return to == strconv.FormatInt(number, 10) || len(to) >= leastVersion && strings.HasPrefix(version, to)
}

// obstacle returns why a workload can't go back to what a user names, which isn't among its targets, and what these are.
func obstacle(facts Facts, targets []string, to string, now time.Time) string {
	why := whyNot(facts, to, now)
	if len(targets) == 0 {
		return why
	}
	return why + "; the verified versions are " + strings.Join(namesOf(facts, targets), ", ")
}

// whyNot returns why a workload can't go back to what a user names.
func whyNot(facts Facts, to string, now time.Time) string {
	for _, release := range HistoryOf(facts, now).Items {
		if release.Observed || !names(to, release.Number, release.Version) {
			continue
		}
		name := fmt.Sprintf("release %d (version %s)", release.Number, release.Version)
		switch refused := decide.RefusalOf(rollbacksOf(facts), release.Version, now); {
		case release.Version == decide.ReleaseOf(facts.Workload).Version:
			return name + " has the version that runs now"
		case refused != nil:
			return fmt.Sprintf("%s is refused until %s, because release %d was rolled back: %s", name, refused.RefusedUntil.UTC().Format(time.RFC3339),
				refused.Release, joined(string(refused.Reason), refused.Message))
		case release.State == Success:
			return name + " is verified, but its content isn't kept any more"
		}
		return fmt.Sprintf("%s isn't verified: it is %s", name, joined(string(release.State), release.Reason, release.Why))
	}
	return "no such release is known"
}

// joined joins the parts of a sentence that aren't empty.
func joined(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), ": ")
}

func namesOf(facts Facts, versions []string) []string {
	names := slices.Clone(versions)
	for i, version := range versions {
		if number := numberOf(facts, version); number > 0 {
			names[i] = fmt.Sprintf("%s (release %d)", version, number)
		}
	}
	return names
}
