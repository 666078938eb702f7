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
	"io"
	"testing"

	. "github.com/onsi/gomega"
)

func TestParse(t *testing.T) {
	for name, c := range map[string]struct {
		args    []string
		options options
		fails   bool
	}{
		"a command":                           {[]string{"--", "kubectl", "get", "-A", "pods"}, options{2, []string{"kubectl", "get", "-A", "pods"}}, false},
		"without dashes":                      {[]string{"kubectl", "get", "-A", "pods"}, options{2, []string{"kubectl", "get", "-A", "pods"}}, false},
		"more nodes":                          {[]string{"--nodes=3", "--", "true"}, options{3, []string{"true"}}, false},
		"no command":                          {[]string{"--nodes=3"}, options{}, true},
		"no node":                             {[]string{"--nodes=0", "--", "true"}, options{}, true},
		"more nodes than there are addresses": {[]string{"--nodes=10", "--", "true"}, options{}, true},
		"an unknown flag":                     {[]string{"--node=1", "--", "true"}, options{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			parsed, err := parse(c.args, io.Discard)
			g.Expect(err != nil).To(Equal(c.fails), "%v", err)
			if !c.fails {
				g.Expect(parsed).To(Equal(c.options))
			}
		})
	}
}
