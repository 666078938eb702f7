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

package checks

import (
	"math"
	"strconv"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide/statistics"
)

// NumbersOfCounts returns the numbers of a test of counts, which has an e-value.
func NumbersOfCounts(found statistics.Finding) *appv1alpha1.CheckNumbers {
	numbers := compared(found)
	if !found.Reason.IsMissing() {
		numbers.Evidence, numbers.Threshold = Decimal(found.Evidence), Decimal(found.Threshold)
	}
	return orNone(numbers)
}

// NumbersOfLevel returns the numbers of a test that has a p-value, or none where there are too few pods for one.
func NumbersOfLevel(found statistics.Finding) *appv1alpha1.CheckNumbers {
	numbers := compared(found)
	if numbers.PValue = Decimal(found.PValue); numbers.PValue != "" {
		numbers.Threshold = Decimal(found.Threshold)
	}
	return orNone(numbers)
}

// NumbersOfLimit returns the numbers of new pods whose ratio has a fixed limit.
func NumbersOfLimit(found statistics.Finding) *appv1alpha1.CheckNumbers {
	numbers := seen(found)
	if !found.Reason.IsMissing() {
		numbers.New, numbers.Threshold = Decimal(found.New), Decimal(found.Threshold)
	}
	return orNone(numbers)
}

// NumbersSeen returns which of the pods had the metric, where that is all to tell.
func NumbersSeen(found statistics.Finding) *appv1alpha1.CheckNumbers { return orNone(seen(found)) }

// compared returns what was measured on new and old pods, if enough of them were seen.
func compared(found statistics.Finding) appv1alpha1.CheckNumbers {
	numbers := seen(found)
	if !found.Reason.IsMissing() {
		numbers.New, numbers.Old, numbers.Ratio = Decimal(found.New), Decimal(found.Old), Decimal(found.Ratio)
		numbers.MinimumDetectable = Decimal(found.MinimumDetectable)
	}
	return numbers
}

func seen(found statistics.Finding) (numbers appv1alpha1.CheckNumbers) {
	if of := found.NewPods; of.Wanted > 0 {
		numbers.PodsSeen, numbers.PodsWanted = new(int32(of.Seen)), new(int32(of.Wanted))
	}
	if of := found.OldPods; of.Wanted > 0 {
		numbers.OldPodsSeen, numbers.OldPodsWanted = new(int32(of.Seen)), new(int32(of.Wanted))
	}
	return numbers
}

// orNone returns the numbers, nil if there are none.
func orNone(numbers appv1alpha1.CheckNumbers) *appv1alpha1.CheckNumbers {
	if numbers == (appv1alpha1.CheckNumbers{}) {
		return nil
	}
	return &numbers
}

// Decimal returns a number as the API has it, empty for one that isn't known or is infinite.
func Decimal(value float64) string {
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return ""
	}
	return strconv.FormatFloat(value, 'g', 6, 64)
}
