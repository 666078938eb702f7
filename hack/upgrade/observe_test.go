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

package main

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestPictureChanges(t *testing.T) {
	before := picture{
		pods:      map[string]string{"1": "web-a", "2": "web-b"},
		records:   map[string]string{"3": "web--x--1", "4": "api--x--1"},
		templates: map[string]string{"web": "{}", "api": "{}"},
	}
	g := NewWithT(t)
	g.Expect(before.changes(before)).To(BeEmpty())
	g.Expect(before.changes(picture{
		pods:      map[string]string{"1": "web-a", "5": "web-c"},
		records:   map[string]string{"4": "api--x--1", "6": "new--x--1"},
		templates: map[string]string{"web": `{"a":1}`, "api": "{}", "new": "{}"},
	})).To(Equal([]string{
		"ChangeWorkload web--x--1 is gone", "pod web-b is gone", "pod web-c is new", `the template of web: {"a":1}, before {}`,
	}))
}
