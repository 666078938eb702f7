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

package altershield_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/traas-stack/altershield-operator/controllers/verifier"
	"github.com/traas-stack/altershield-operator/controllers/verifier/altershield"
)

// in returns the operator's client in a cluster.
func in(cluster string) *altershield.Client {
	return altershield.NewClient(altershield.Config{Cluster: cluster}, nil, clocktesting.NewFakePassiveClock(today()), nil)
}

func recorded() verifier.Release {
	return verifier.Release{Namespace: "default", Name: "sleep", Version: "9b4d4f7c", Number: 7, Record: "uid-1", Recorded: 1795375748}
}

func TestOrderIDIsUniqueForeverAndCarriesWhereItIsFrom(t *testing.T) {
	g := NewWithT(t)
	id := in("hangzhou-1").OrderID(recorded())
	g.Expect(id).To(Equal("hangzhou-1/default/sleep/f221f435b8/7"), "it is the same each time it is sent, by any version of the operator")
	announced := recorded()
	announced.Order = "under-another-name"
	g.Expect(in("hangzhou-1").OrderID(announced)).To(Equal(id))

	different := map[string]bool{id: true}
	for _, change := range []func(*verifier.Release){
		func(release *verifier.Release) { release.Number = 8 },
		func(release *verifier.Release) { release.Record = "uid-2" },
		func(release *verifier.Release) { release.Recorded = 1 },
	} {
		other := recorded()
		change(&other)
		different[in("hangzhou-1").OrderID(other)] = true
	}
	g.Expect(different).To(HaveLen(4), "a release counter may return, a record and its time never do")
}

func TestOrderIDFitsInto128BytesWhateverTheNames(t *testing.T) {
	g := NewWithT(t)
	release := recorded()
	release.Number, release.Namespace, release.Name = 9223372036854775807, strings.Repeat("n", 63), strings.Repeat("d", 253)
	id := in(strings.Repeat("c", 63)).OrderID(release)
	g.Expect(len(id)).To(BeNumerically("<=", 128))
	g.Expect(id).To(HaveSuffix("/9223372036854775807"))
	release.Name = strings.Repeat("d", 252) + "e"
	g.Expect(in(strings.Repeat("c", 63)).OrderID(release)).NotTo(Equal(id))
}
