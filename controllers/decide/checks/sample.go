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
	"cmp"
	"hash/crc32"
	"slices"
)

// MaxSample is the most pods of one version that are named in a query or in a question.
const MaxSample = 100

// Sample returns at most so many of the pods, in the order of their names: all of them, or those that a hash of their names chooses. Pods that
// come and go change the choice of few others, and it favors none: the first ones by name would be the oldest of a StatefulSet.
func Sample(pods []Pod, most int) []Pod {
	chosen := slices.Clone(pods)
	if len(chosen) > most {
		slices.SortFunc(chosen, func(a, b Pod) int {
			return cmp.Or(cmp.Compare(hashOf(a.Name), hashOf(b.Name)), cmp.Compare(a.Name, b.Name))
		})
		chosen = chosen[:most]
	}
	slices.SortFunc(chosen, func(a, b Pod) int { return cmp.Compare(a.Name, b.Name) })
	return chosen
}

func hashOf(name string) uint32 { return crc32.ChecksumIEEE([]byte(name)) }
