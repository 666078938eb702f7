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

package isolate

import (
	"context"
	"errors"
	"os/exec"
	"testing"

	. "github.com/onsi/gomega"
)

func TestExitCode(t *testing.T) {
	for name, c := range map[string]struct {
		result error
		code   int
	}{
		"success":                      {nil, 0},
		"failure":                      {exec.Command("sh", "-c", "exit 3").Run(), 3},
		"ended by a signal":            {exec.Command("sh", "-c", "kill -9 $$").Run(), 137},
		"success although told to end": {context.Canceled, 130},
	} {
		t.Run(name, func(t *testing.T) { NewWithT(t).Expect(ExitCode(c.result)).To(Equal(c.code)) })
	}
	_, err := ExitCode(errors.New("not found"))
	NewWithT(t).Expect(err).To(HaveOccurred())
}
