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
		return Request{}, fmt.Errorf("%s is paused by a user, so that the operator would drop the request: kubectl altershield resume %s", argument, argument)
	}
	targets := pastOf(facts).VerifiedTargets(now)
	if len(targets) == 0 {
		return Request{}, fmt.Errorf("there is no verified version that %s may go back to: kubectl altershield history %s shows its releases", argument, argument)
	}
	version, err := target(facts, targets, to)
	if err != nil {
		return Request{}, fmt.Errorf("%s can't go back to %s: %w", argument, to, err)
	}
	request := requestOf(RollbackRequest, facts)
	request.To = Side{Release: numberOf(facts, version), Version: version}
	return request, nil
}

// target returns the version that a user names by a release or by its first digits, the first one if none is named.
func target(facts Facts, targets []string, to string) (string, error) {
	if to == "" {
		return targets[0], nil
	}
	var found []string
	number, err := strconv.ParseInt(to, 10, 64)
	for _, version := range targets {
		isNumber := err == nil && numberOf(facts, version) == number
		if isNumber || len(to) >= leastVersion && strings.HasPrefix(version, to) {
			found = append(found, version)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return "", fmt.Errorf("it isn't among the verified versions, which are %s", strings.Join(namesOf(facts, targets), ", "))
	}
	return "", errors.New("several versions begin like that")
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
