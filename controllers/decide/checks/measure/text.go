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
	"math"

	"github.com/traas-stack/altershield-operator/controllers/decide/statistics"
)

// PodCount returns the number of pods as a person reads it.
func PodCount(count int, which string) string {
	if count == 1 {
		return "1 " + which + " pod"
	}
	return fmt.Sprintf("%d %s pods", count, which)
}

// Detectable returns which difference would have been found where none was, as the end of a message; empty if that isn't known.
func Detectable(found statistics.Finding) string {
	if found.Verdict == statistics.Fail || math.IsInf(found.MinimumDetectable, 0) {
		return ""
	}
	return fmt.Sprintf(", x%.3g would have been found", found.MinimumDetectable)
}
