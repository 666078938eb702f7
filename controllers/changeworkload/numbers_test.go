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

package changeworkload

import (
	"fmt"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
)

func TestNumbersRememberTheHighest(t *testing.T) {
	one, two := record{namespace: "default", name: "one"}, record{namespace: "default", name: "two"}
	elsewhere := record{namespace: "other", name: "one"}
	successor := record{namespace: "default", name: "one", owner: "d-2"}
	type step struct {
		workload         record
		number, expected int64
	}
	for _, row := range []struct {
		name  string
		steps []step
	}{
		{"a number that is raised is remembered", []step{{one, 3, 3}, {one, 0, 3}}},
		{"a lower number changes nothing", []step{{one, 3, 3}, {one, 2, 3}, {one, 4, 4}}},
		{"nothing is known of a ChangeWorkload at first", []step{{one, 0, 0}}},
		{"each ChangeWorkload has its own", []step{{one, 3, 3}, {two, 1, 1}, {elsewhere, 2, 2}, {successor, 0, 0}, {one, 0, 3}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			known := newNumbers()
			for _, step := range row.steps {
				g.Expect(known.raise(step.workload, step.number)).To(Equal(step.expected))
			}
		})
	}
}

func TestNumbersAreForgottenForTheirChangeWorkloadAlone(t *testing.T) {
	g := NewWithT(t)
	one, two := record{name: "one"}, record{name: "two"}
	known := newNumbers()
	known.forget(one) // Nothing is known yet: no panic.
	known.raise(one, 3)
	known.raise(two, 4)
	known.forget(one)
	g.Expect(known.raise(one, 0)).To(BeZero())
	g.Expect(known.raise(two, 0)).To(Equal(int64(4)))
	g.Expect(known.highest.Len()).To(Equal(2))
	known.forget(one)
	g.Expect(known.highest.Len()).To(Equal(1))
}

func TestNumbersAreSafeToUseByManyReconcilesAtOnce(t *testing.T) {
	g := NewWithT(t)
	known := newNumbers()
	var group sync.WaitGroup
	for number := range int64(100) {
		group.Go(func() {
			known.raise(record{name: "one"}, number)
			known.raise(record{name: "two"}, 100-number)
			known.forget(record{name: "three"})
		})
	}
	group.Wait()
	g.Expect(known.raise(record{name: "one"}, 0)).To(Equal(int64(99)))
	g.Expect(known.raise(record{name: "two"}, 0)).To(Equal(int64(100)))
}

func TestNumbersAreBounded(t *testing.T) {
	known := newNumbers()
	for i := range 10001 {
		known.raise(record{name: fmt.Sprint(i)}, 1)
	}
	NewWithT(t).Expect(known.highest.Len()).To(Equal(10000))
}
