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

package decide_test

import (
	"math"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/traas-stack/altershield-operator/controllers/decide"
)

func TestChangeWorkloadNameChangePodNameAndLabelValueAreAsDocumented(t *testing.T) {
	g := NewWithT(t)
	g.Expect(decide.ChangeWorkloadName("sleep", version)).To(Equal("sleep--x--c6c45d23c098bdf181853a85b60b5d74"))
	g.Expect(decide.ChangePodName("sleep--x--c6c45d23c098bdf181853a85b60b5d74", 1)).
		To(Equal("sleep--x--c6c45d23c098bdf181853a85b60b5d74--x--1"))
	g.Expect(decide.LabelValue("sleep")).To(Equal("sleep"))
}

func TestChangeWorkloadNameAndChangePodNameAreValidForAnyDeployment(t *testing.T) {
	letters := strings.Repeat("abcdefghij", 26)
	for _, row := range []struct {
		name, deployment string
		kept             bool
	}{
		{"a short name is kept", "sleep", true},
		{"the longest name that fits is kept", letters[:192], true},
		{"a name one character too long is shortened", letters[:193], false},
		{"the longest name of a Deployment is shortened", letters[:253], false},
		{"a cut behind a dot leaves no dot before the dash", letters[:180] + "." + letters[:60], false},
		{"a cut behind dashes leaves a valid name", letters[:170] + "-----------" + letters[:60], false},
		{"a cut in a row of one-letter segments leaves a valid name", strings.Repeat("a.", 126) + "a", false},
		{"a cut behind dash and dot leaves no empty segment", letters[:178] + "b-.-c" + letters[:60], false},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			workload := decide.ChangeWorkloadName(row.deployment, version)
			changePod := decide.ChangePodName(workload, math.MaxInt64)
			for _, name := range []string{workload, changePod} {
				g.Expect(validation.IsDNS1123Subdomain(name)).To(BeEmpty(), name)
			}
			g.Expect(workload).To(HaveSuffix("--x--" + version))
			if row.kept {
				g.Expect(workload).To(HavePrefix(row.deployment + "--x--"))
			} else {
				g.Expect(workload).NotTo(HavePrefix(row.deployment))
				g.Expect(workload).To(HavePrefix(row.deployment[:150]), "users recognise the beginning")
			}
		})
	}
}

func TestChangePodNameOfTheLongestDeploymentJustFits(t *testing.T) {
	g := NewWithT(t)
	workload := decide.ChangeWorkloadName(strings.Repeat("a", 253), version)
	g.Expect(workload).To(HaveLen(229))
	g.Expect(decide.ChangePodName(workload, math.MaxInt64)).To(HaveLen(253))
}

func TestChangeWorkloadNameAndLabelValueDifferForLongNamesThatBeginAlike(t *testing.T) {
	for _, row := range []struct {
		name, one, two string
	}{
		{"names that differ in their last character", strings.Repeat("a", 252) + "b", strings.Repeat("a", 252) + "c"},
		{"names that differ in their length", strings.Repeat("a", 252), strings.Repeat("a", 253)},
		{"names that differ in what is trimmed", strings.Repeat("a", 181) + "-" + strings.Repeat("b", 60), strings.Repeat("a", 181) + "." + strings.Repeat("b", 60)},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(decide.ChangeWorkloadName(row.one, version)).NotTo(Equal(decide.ChangeWorkloadName(row.two, version)))
			g.Expect(decide.LabelValue(row.one)).NotTo(Equal(decide.LabelValue(row.two)))
		})
	}
}

func TestLabelValueAndChangeWorkloadNameNeverChange(t *testing.T) {
	g := NewWithT(t)
	long := strings.Repeat("a", 253)
	g.Expect(decide.LabelValue(long)).To(Equal(strings.Repeat("a", 52) + "-32859a3ab6"))
	g.Expect(decide.ChangeWorkloadName(long, version)).
		To(Equal(strings.Repeat("a", 181) + "-32859a3ab6--x--c6c45d23c098bdf181853a85b60b5d74"))
}

func TestLabelValueHoldsAnyDeploymentName(t *testing.T) {
	for _, row := range []struct {
		name, deployment string
		kept             bool
	}{
		{"63 characters are kept", strings.Repeat("a", 63), true},
		{"64 characters are shortened", strings.Repeat("a", 64), false},
		{"253 characters are shortened", strings.Repeat("a", 253), false},
		{"a name cut behind a dot is a valid value", strings.Repeat("a", 51) + "." + strings.Repeat("b", 60), false},
		{"a name with dots is kept", "sleep.default.example", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			value := decide.LabelValue(row.deployment)
			g.Expect(validation.IsValidLabelValue(value)).To(BeEmpty(), value)
			if row.kept {
				g.Expect(value).To(Equal(row.deployment))
			} else {
				g.Expect(value).NotTo(Equal(row.deployment))
			}
		})
	}
}

func TestChangePodNumberIsReadFromTheName(t *testing.T) {
	for _, row := range []struct {
		name, changePod string
		number          int64
	}{
		{"the number behind the last separator counts", "sleep--x--c6c45d23c098bdf181853a85b60b5d74--x--12", 12},
		{"a Deployment named like a ChangePod doesn't confuse it", "sleep--x--7--x--c6c45d23c098bdf181853a85b60b5d74--x--3", 3},
		{"the highest number is read", "sleep--x--c6c4--x--9223372036854775807", math.MaxInt64},
		{"a number that is too high counts as none", "sleep--x--c6c4--x--9223372036854775808", 0},
		{"a negative number counts as none", "sleep--x--c6c4--x---3", 0},
		{"a word counts as none", "sleep--x--c6c4--x--first", 0},
		{"an empty number counts as none", "sleep--x--c6c4--x--", 0},
		{"a name without a separator has none", "sleep-12", 0},
		{"bare digits have none", "12", 0},
		{"an empty name has none", "", 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			NewWithT(t).Expect(decide.ChangePodNumber(row.changePod)).To(Equal(row.number))
		})
	}
}

func FuzzTheNumberOfAChangePod(f *testing.F) {
	for _, seed := range []string{"", "sleep", "--x--", "--x----x--1", "sleep--x--c6c4--x--1", "sleep--x--c6c4--x---1",
		"sleep--x--99999999999999999999", "a--x--+5", "\xff--x--\x00", "--x--٣"} {
		f.Add(seed, int64(1))
	}
	f.Add("sleep--x--c6c4", int64(math.MaxInt64))
	f.Add("sleep--x--c6c4", int64(0))
	f.Fuzz(func(t *testing.T, name string, number int64) {
		if decide.ChangePodNumber(name) < 0 {
			t.Errorf("the number of %q is negative", name)
		}
		if number >= 0 && decide.ChangePodNumber(decide.ChangePodName(name, number)) != number {
			t.Errorf("the number %d does not come back from the name of a ChangePod of %q", number, name)
		}
	})
}
