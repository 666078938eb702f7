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

package lock

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

func TestAcquireGivesCommandsTurns(t *testing.T) {
	g := NewWithT(t)
	path := filepath.Join(t.TempDir(), "new", "lock")
	release, err := Acquire(t.Context(), path, func() { t.Error("the lock is free") })
	g.Expect(err).NotTo(HaveOccurred())

	// The second waits; meanwhile the first removes the lock's file, as down does, and releases the lock.
	secondRelease, err := Acquire(t.Context(), path, func() {
		g.Expect(os.Remove(path)).To(Succeed())
		release()
	})
	g.Expect(err).NotTo(HaveOccurred())
	defer secondRelease()

	// A third must find the second's lock although the first file is gone.
	ctx, cancel := context.WithCancel(t.Context())
	_, err = Acquire(ctx, path, cancel)
	g.Expect(err).To(MatchError(context.Canceled))
}
