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

package history_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	. "github.com/onsi/gomega/gstruct"

	"github.com/traas-stack/altershield-operator/hack/soak/history"
)

// logged writes lines to an audit log.
func logged(t *testing.T, lines string) *history.Reader {
	path := filepath.Join(t.TempDir(), "audit.log")
	NewWithT(t).Expect(os.WriteFile(path, []byte(lines), 0o600)).To(Succeed())
	return &history.Reader{Path: path, Operator: "operator"}
}

const (
	release = `{"stage":"ResponseComplete","verb":"patch","requestURI":"/apis","user":{"username":"admin"},` +
		`"objectRef":{"resource":"deployments","namespace":"shop","name":"cart"},"responseStatus":{"code":200},` +
		`"requestObject":{"metadata":{"labels":{"altershield.defense.antgroup.com/ignored-suspend":"true"}}},` +
		`"responseObject":{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"uid":"u1","resourceVersion":"7","namespace":"shop","name":"cart",` +
		`"labels":{"admission-webhook-altershield.antgroup.com/version":"v2","altershield.defense.antgroup.com/suspend":"1"},` +
		`"annotations":{"altershield.defense.antgroup.com/release":"2"}},"spec":{"template":{"metadata":{"labels":{"app":"cart"}}}}}}` + "\n"
	labelled = `{"stage":"ResponseComplete","verb":"patch","requestURI":"/api","user":{"username":"operator"},` +
		`"objectRef":{"resource":"pods","namespace":"shop","name":"cart-1"},"responseStatus":{"code":200},` +
		`"requestObject":{"metadata":{"labels":{"a":"b"}}}}` + "\n"
	operations = `{"stage":"ResponseComplete","verb":"patch","requestURI":"/api","user":{"username":"operator"},` +
		`"objectRef":{"resource":"pods","namespace":"shop","name":"cart-1"},"responseStatus":{"code":200},` +
		`"requestObject":[{"op":"test","path":"/metadata/uid","value":"1"},{"op":"replace","path":"/spec/containers/0/image","value":"x"}]}` + "\n"
	deleted = `{"stage":"ResponseComplete","verb":"delete","requestURI":"/apis","user":{"username":"admin"},` +
		`"objectRef":{"resource":"deployments","namespace":"shop","name":"cart"},"responseStatus":{"code":200},` +
		`"responseObject":{"kind":"Status","details":{"uid":"u1"}}}` + "\n"
	leaving = `{"stage":"ResponseComplete","verb":"patch","requestURI":"/apis","user":{"username":"operator"},` +
		`"objectRef":{"resource":"changeworkloads","namespace":"shop","name":"cart--x--v"},"responseStatus":{"code":200},` +
		`"responseObject":{"kind":"ChangeWorkload","metadata":{"uid":"u2","resourceVersion":"9","deletionTimestamp":"2026-11-21T10:00:00Z"},` +
		`"status":{"status":"Success"}}}` + "\n"
	evicted = `{"stage":"ResponseComplete","requestReceivedTimestamp":"2026-11-21T10:00:00.000000Z","stageTimestamp":"2026-11-21T10:00:20.000000Z","verb":"patch","requestURI":"/api","user":{"username":"admin"},` +
		`"objectRef":{"resource":"pods","subresource":"status","namespace":"shop","name":"cart-1"},"responseStatus":{"code":200},` +
		`"responseObject":{"kind":"Pod","metadata":{"uid":"u3","resourceVersion":"8"},"status":{"phase":"Failed","reason":"Evicted"}}}` + "\n"
	denied = `{"stage":"ResponseComplete","verb":"patch","requestURI":"/apis","user":{"username":"admin"},` +
		`"objectRef":{"resource":"deployments","namespace":"shop","name":"cart"},"responseStatus":{"code":403}}` + "\n"
	givenUp = `{"stage":"ResponseComplete","verb":"patch","requestURI":"/apis","user":{"username":"operator"},` +
		`"objectRef":{"resource":"changepods","subresource":"status","namespace":"shop","name":"cart--x--v--x--1"},"responseStatus":{"code":504},` +
		`"requestObject":{"status":{"status":"ExecuteDone"}},"responseObject":{"kind":"Status","code":504}}` + "\n"
	dryRun = `{"stage":"ResponseComplete","verb":"patch","requestURI":"/apis?dryRun=All","user":{"username":"admin"},` +
		`"objectRef":{"resource":"deployments","namespace":"shop","name":"cart"},"responseStatus":{"code":200}}` + "\n"
	read = `{"stage":"ResponseComplete","verb":"get","requestURI":"/apis","user":{"username":"operator"},` +
		`"objectRef":{"resource":"deployments","namespace":"shop","name":"cart"},"responseStatus":{"code":200}}` + "\n"
)

func TestNextReadsAWriteToABatchThatWasGivenUp(t *testing.T) {
	g := NewWithT(t)
	writes, err := logged(t, givenUp+strings.Replace(givenUp, "changepods", "pods", 1)).Next()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(writes).To(ConsistOf(MatchFields(IgnoreExtras, Fields{
		"Resource": Equal("changepods"), "Name": Equal("cart--x--v--x--1"), "Unanswered": BeTrue(), "Batch": BeNil(),
	})))
}

func TestNextReadsWritesWithWhatTheyMadeOfTheirObjects(t *testing.T) {
	g := NewWithT(t)
	writes, err := logged(t, release+labelled+operations+deleted).Next()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(writes).To(HaveLen(4))
	g.Expect(writes[0].Deployment).To(PointTo(MatchFields(IgnoreExtras, Fields{
		"UID": Equal("u1"), "Version": Equal("v2"), "Release": Equal(int64(2)), "Suspended": BeTrue(), "MayPass": BeTrue(), "Template": HaveLen(32),
	})))
	g.Expect(writes[0].Revision).To(Equal(int64(7)))
	g.Expect(writes[1].Touched).To(ConsistOf("metadata.labels"))
	g.Expect(writes[2].Touched).To(ConsistOf("spec.containers"))
	g.Expect(writes[3]).To(MatchFields(IgnoreExtras, Fields{"Ended": Equal("u1"), "Revision": Equal(int64(7))}))
}

func TestNextEndsARecordThatIsAboutToGo(t *testing.T) {
	g := NewWithT(t)
	writes, err := logged(t, leaving).Next()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(writes).To(HaveExactElements(MatchFields(IgnoreExtras, Fields{"Ended": Equal("u2"), "Workload": BeNil(), "Revision": Equal(int64(9))})))
}

func TestNextKnowsWhetherAPodIsOver(t *testing.T) {
	g := NewWithT(t)
	for phase, over := range map[string]bool{"Failed": true, "Succeeded": true, "Running": false, "Pending": false} {
		writes, err := logged(t, strings.Replace(evicted, `"Failed"`, strconv.Quote(phase), 1)).Next()
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(writes).To(HaveExactElements(MatchFields(IgnoreExtras, Fields{"Name": Equal("cart-1"), "PodOver": Equal(over), "PodRuns": Equal(phase == "Running")})), phase)
	}
}

func TestNextKnowsWhenAWriteWasAskedForAndWhenItWasMade(t *testing.T) {
	writes, err := logged(t, evicted).Next()
	g := NewWithT(t)
	g.Expect(err).NotTo(HaveOccurred())
	asked := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	g.Expect(writes).To(HaveExactElements(MatchFields(IgnoreExtras, Fields{
		"Asked": BeTemporally("==", asked), "Time": BeTemporally("==", asked.Add(20*time.Second)),
	})))
}

func TestNextLeavesOutWhatWroteNothing(t *testing.T) {
	g := NewWithT(t)
	writes, err := logged(t, denied+dryRun+read).Next()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(writes).To(BeEmpty())
}

func TestNextReadsALogAsItGrows(t *testing.T) {
	g := NewWithT(t)
	reader := logged(t, labelled+labelled[:20])
	g.Expect(reader.Next()).To(HaveLen(1))
	g.Expect(reader.Next()).To(BeEmpty())
	g.Expect(os.WriteFile(reader.Path, []byte(labelled+labelled+release), 0o600)).To(Succeed())
	g.Expect(reader.Next()).To(HaveLen(2))
}

func TestNextFailsAtALineThatIsNoEvent(t *testing.T) {
	_, err := logged(t, "no JSON\n").Next()
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("read the audit log")))
}
