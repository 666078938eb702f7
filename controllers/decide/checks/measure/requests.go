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
	"maps"
)

// Paired is a check with two queries of the same metric, of which the first has a part of what the second has.
type Paired interface {
	Check
	// IsPair reports whether the queries are asked in one request.
	IsPair() bool
}

// partLabel is the label of the series of the first query where two are asked in one request.
const partLabel = "altershield_part"

// Requests returns what a source is asked for the queries of a check: each by itself, or both of a pair at once. That spares the source a request,
// and the two are of the same moment: what was scraped between two requests would be in one of them alone.
func Requests(check Check, queries []string) []string {
	if !isPair(check) || len(queries) != 2 {
		return queries
	}
	return []string{fmt.Sprintf(`label_replace(%s, %q, "1", "", "") or %s`, queries[0], partLabel, queries[1])}
}

// AnswersOf returns the series of each query of a check in the answers to its requests. They have the same labels however it was asked: in another
// window it may be asked otherwise.
func AnswersOf(check Check, answers [][]Series) [][]Series {
	if !isPair(check) || len(answers) != 1 {
		return answers
	}
	apart := make([][]Series, 2)
	for _, series := range answers[0] {
		query := 1
		if series.Labels[partLabel] != "" {
			query, series.Labels = 0, maps.Clone(series.Labels) // others use the answer as well
			delete(series.Labels, partLabel)
		}
		apart[query] = append(apart[query], series)
	}
	return apart
}

func isPair(check Check) bool {
	pair, ok := check.(Paired)
	return ok && pair.IsPair()
}
