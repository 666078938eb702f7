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

func TestSummarizeGivesTheMedianAndTheSpread(t *testing.T) {
	g := NewWithT(t)
	g.Expect(summarize([]float64{9, 1, 4})).To(Equal(Summary{Median: 4, Low: 1, High: 9, Count: 3}))
	g.Expect(summarize([]float64{1, 2})).To(Equal(Summary{Median: 1.5, Low: 1, High: 2, Count: 2}))
	g.Expect(summarize(nil)).To(Equal(Summary{}))
}

func TestPercentileLiesBetweenTheNearestValues(t *testing.T) {
	g := NewWithT(t)
	values := make([]float64, 101)
	for i := range values {
		values[100-i] = float64(i)
	}
	g.Expect(percentile(values, 99)).To(BeNumerically("~", 99, 1e-9))
	g.Expect(percentile([]float64{10, 20}, 25)).To(Equal(12.5))
	g.Expect(percentile([]float64{7}, 99)).To(Equal(7.0))
	g.Expect(percentile(nil, 50)).To(BeZero())
	g.Expect(values[0]).To(Equal(100.0), "the values stay in their order")
}

func TestRatioIsThatOfTheMediansAndItsSpreadThatOfTheRounds(t *testing.T) {
	g := NewWithT(t)
	g.Expect(ratio([]float64{12, 30, 22}, []float64{10, 20, 20})).To(Equal(Summary{Median: 1.1, Low: 1.1, High: 1.5, Count: 3}))
	g.Expect(ratio([]float64{1}, nil)).To(Equal(Summary{}))
	g.Expect(ratio([]float64{1}, []float64{0})).To(Equal(Summary{}))
}

func TestOrderRunsForthInOneRoundAndBackInTheNext(t *testing.T) {
	g := NewWithT(t)
	g.Expect(order(3, 0)).To(Equal([]int{0, 1, 2}))
	g.Expect(order(3, 1)).To(Equal([]int{2, 1, 0}))
	g.Expect(order(3, 2)).To(Equal([]int{0, 1, 2}))
}
