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
	"testing"

	. "github.com/onsi/gomega"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/platform/monotonic"
	kind "github.com/traas-stack/altershield-operator/controllers/workload/deployment"
)

func TestLiveRecordsAreThoseThatTheCacheWouldShow(t *testing.T) {
	g := NewWithT(t)
	own, ofBefore, ofAnother := recordAt(2, version, "Success", "AllPodsPassed"), recordAt(1, older, "Success", "AllPodsPassed"), recordAt(1, "another", "", "")
	ofAnother.OwnerReferences[0].UID = "d-2" // a Deployment of the same name that was deleted
	batch, mislabelled := passedBatch(1), passedBatch(2)
	mislabelled.Name, mislabelled.Spec.ChangeWorkloadID = "web--x--"+version+"--x--7", "web--x--"+version
	p := newPlane(t, append(sleepOf(1), own, ofBefore, ofAnother, batch, mislabelled), nil)
	for _, records := range []records{cachedRecords{p.Client, monotonic.NewReader(p.Client, p.Live)}, liveRecords{p.Live}} {
		batches, err := records.batches(t.Context(), kind.Kind{}, own)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(batches).To(HaveLen(1))
		g.Expect(batches[0].Name).To(Equal("sleep--x--" + version + "--x--1"))
		others, err := records.others(t.Context(), kind.Kind{}, p.deployment(), own)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(others).To(HaveLen(1))
		g.Expect(others[0].Spec.Reversion).To(Equal(older))
	}
}

func TestCachedRecordsAreNotOlderThanWhatWasSeen(t *testing.T) {
	g := NewWithT(t)
	verified := recordAt(1, older, "Success", "AllPodsPassed")
	p := newPlane(t, append(sleepOf(1), verified), nil)
	past := recordAt(1, older, "Suspend", "PodsFailed")
	past.UID, past.ResourceVersion = verified.UID, "1"
	cache := newPlane(t, append(sleepOf(1), past), nil).Client
	newest := monotonic.NewReader(cache, p.Live)
	read := func() []appv1alpha1.ChangeWorkload {
		found, err := cachedRecords{cache, newest}.others(t.Context(), kind.Kind{}, p.deployment(), recordAt(2, version, "Running", "Verifying"))
		g.Expect(err).NotTo(HaveOccurred())
		return found
	}
	g.Expect(read()[0].Status.Status).To(BeEquivalentTo("Suspend"), "nothing newer was seen")
	seen := past.DeepCopy()
	seen.ResourceVersion = "1000000"
	newest.Seen(seen)
	g.Expect(read()).To(HaveLen(1))
	g.Expect(read()[0].Status.Status).To(BeEquivalentTo("Success"), "it failed in the past, and was verified since")
	newest.Gone(past)
	g.Expect(read()).To(BeEmpty(), "it was removed since")
}
