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

package altershield

import (
	"regexp"
	"strings"

	"github.com/traas-stack/altershield-operator/controllers/platform/oneline"
)

// Parts of the server's exceptions that are useless to users.
var (
	packageName = regexp.MustCompile(`^(?:[a-z]\w*\.)+([A-Z]\w*: )`)
	ofColumn    = regexp.MustCompile(`(?i) for (?:column|key) '[^']*'(?: at row \d+)?`)
	column      = regexp.MustCompile(`(?i)\b(column) '[^']*'`)
	path        = regexp.MustCompile(`(^|[\s\[("'=])(?:(?:jar:)?file:)?(?:/[\w.@+-]+){2,}[^\s\])"']*`)
)

// cause turns a message of the server into one line of at most the given number of characters. Of an exception it keeps the cause,
// around which MyBatis and Spring put the statement, files and classes.
func cause(message string, most int) string {
	for _, mark := range []string{"Cause: ", "nested exception is "} {
		if at := strings.LastIndex(message, mark); at >= 0 {
			message, _, _ = strings.Cut(message[at+len(mark):], "\n")
		}
	}
	for _, rest := range []string{"### ", "\n\tat "} {
		message, _, _ = strings.Cut(message, rest)
	}
	message = packageName.ReplaceAllString(message, "$1")
	message = column.ReplaceAllString(ofColumn.ReplaceAllString(message, ""), "$1")
	return oneline.Of(path.ReplaceAllString(message, "$1"), most)
}
