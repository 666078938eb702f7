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

package render

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// usedKeys returns the keys of sentences that the code names.
func usedKeys(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`(?:text|paragraph|key)\("([a-z.]+)"|, "(passed|failed|checking|waiting|left)"\}|name(?:, of)? = "([a-z.]+)"`)
	used := []string{
		"lack.workload", "lack.batches", "lack.kept", "lack.pods", "lack.reviews", "lack.policies", "lack.recorded", "way.repair", "way.rollback", "way.withdraw", "way.park", "way.approve", "way.resume", "way.breakglass", "freeze.park", "freeze.deny", // by their values
	}
	symptoms, err := os.ReadFile("../view/doctor_symptoms.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range regexp.MustCompile(`(Topic|Symptom) += "(\w+)"`).FindAllStringSubmatch(string(symptoms), -1) {
		used = append(used, strings.ToLower(found[1]+"."+found[2]))
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") || file == "english.go" || file == "chinese.go" {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range named.FindAllStringSubmatch(string(text), -1) {
			for _, group := range found[1:] {
				if group != "" && !strings.HasSuffix(group, ".") {
					used = append(used, group)
				}
			}
		}
	}
	return used
}
