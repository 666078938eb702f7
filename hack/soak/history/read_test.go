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
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	. "github.com/onsi/gomega/gstruct"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/controllers/workload/deployment"
	"github.com/traas-stack/altershield-operator/controllers/workload/statefulset"
	"github.com/traas-stack/altershield-operator/hack/lab/webapp"
	"github.com/traas-stack/altershield-operator/hack/soak/history"
)

// logged writes lines to an audit log.
func logged(t *testing.T, lines string) *history.Reader {
	path := filepath.Join(t.TempDir(), "audit.log")
	NewWithT(t).Expect(os.WriteFile(path, []byte(lines), 0o600)).To(Succeed())
	declared, err := webapp.Kind()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return &history.Reader{Path: path, Operator: "operator", Kinds: workload.Registry{deployment.Kind{}, statefulset.Kind{}, declared}}
}

const (
	release = `{"stage":"ResponseComplete","verb":"patch","requestURI":"/apis","user":{"username":"admin"},` +
		`"objectRef":{"resource":"deployments","namespace":"shop","name":"cart"},"responseStatus":{"code":200},` +
		`"requestObject":{"metadata":{"labels":{"altershield.defense.antgroup.com/ignored-suspend":"true"}}},` +
		`"responseObject":{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"uid":"u1","resourceVersion":"7","namespace":"shop","name":"cart",` +
		`"labels":{"admission-webhook-altershield.antgroup.com/version":"v2","altershield.defense.antgroup.com/suspend":"1"},` +
		`"annotations":{"altershield.defense.antgroup.com/release":"2",` +
		`"altershield.defense.antgroup.com/frozen":"{\"release\":2,\"by\":[\"shop/night\"]}"}},"spec":{"template":{"metadata":{"labels":{"app":"cart"}}}}}}` + "\n"
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
		`"responseObject":{"kind":"Pod","metadata":{"name":"cart-1","uid":"u3","resourceVersion":"8","ownerReferences":[{"kind":"ReplicaSet","controller":true}]},"status":{"phase":"Failed","reason":"Evicted"}}}` + "\n"
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
	g.Expect(writes[0].Released).To(PointTo(MatchFields(IgnoreExtras, Fields{
		"Kind": Equal("Deployment"), "UID": Equal("u1"), "Paused": BeFalse(), "Parked": BeTrue(), "Version": Equal("v2"), "Release": Equal(int64(2)), "Suspended": BeTrue(), "MayPass": BeTrue(), "Template": HaveLen(32),
	})))
	g.Expect(writes[0].Revision).To(Equal(int64(7)))
	g.Expect(writes[1].Touched).To(ConsistOf("metadata.labels"))
	g.Expect(writes[2].Touched).To(ConsistOf("spec.containers"))
	g.Expect(writes[3]).To(MatchFields(IgnoreExtras, Fields{"Ended": Equal("u1"), "Revision": Equal(int64(7))}))
}

// answered returns the line of a write with its resulting object.
func answered(user, resource, object string) string {
	return fmt.Sprintf(`{"stage":"ResponseComplete","verb":"patch","requestURI":"/apis","user":{"username":%q},`+
		`"objectRef":{"resource":%q,"namespace":"shop"},"responseStatus":{"code":200},"responseObject":%s}`+"\n", user, resource, strings.Join(strings.Fields(object), ""))
}

func TestNextReadsWhatGovernsReleases(t *testing.T) {
	g := NewWithT(t)
	writes, err := logged(t, answered("operator", "changefreezes", `{"kind": "ChangeFreeze", "metadata": {"uid": "f", "resourceVersion": "7"},
		"spec": {"action": "Deny"}, "status": {"active": true}}`)+
		answered("admin", "breakglasses", `{"kind": "BreakGlass", "metadata": {"name": "inc-7", "resourceVersion": "8"}, "spec": {"overrides": ["Freeze"]}}`)+
		answered("boss", "changeapprovals", `{"kind": "ChangeApproval", "metadata": {"resourceVersion": "9"},
			"spec": {"uid": "u1", "version": "v2", "release": 2, "decision": "Approve", "approvedBy": "boss"}}`)+
		answered("operator", "changeworkloads", `{"kind": "ChangeWorkload", "metadata": {"uid": "cw", "resourceVersion": "10",
			"ownerReferences": [{"kind": "StatefulSet", "uid": "u1", "controller": true}]},
			"status": {"conditions": [{"type": "Paced", "reason": "AllSteps"}]}}`)).Next()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(writes).To(HaveExactElements(
		HaveField("Freeze", PointTo(Equal(history.Freeze{UID: "f", Action: "Deny", Active: true}))),
		HaveField("Glass", PointTo(Equal(history.Glass{Name: "inc-7", Overrides: []appv1alpha1.BreakGlassOverride{"Freeze"}}))),
		HaveField("Approval", PointTo(Equal(history.Approval{Workload: "u1", Version: "v2", Release: 2, By: "boss", Decides: "Approve"}))),
		HaveField("Workload", PointTo(MatchFields(IgnoreExtras, Fields{"Of": Equal("u1"), "Kind": Equal("StatefulSet"), "Paced": Equal("AllSteps")}))),
	))
}

func TestNextReadsWhetherAWorkloadIsHeldAndPassedByABreakGlass(t *testing.T) {
	g := NewWithT(t)
	writes, err := logged(t, answered("admin", "statefulsets", `{"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"resourceVersion": "7", "annotations":
		{"altershield.defense.antgroup.com/release": "3", "altershield.defense.antgroup.com/break-glass":
		"{\"release\":3,\"name\":\"inc-7\",\"time\":\"2026-11-21T10:00:00Z\"}"}},
		"spec": {"replicas": 2, "updateStrategy": {"rollingUpdate": {"partition": 2147483647}}, "template": {}}}`)+
		answered("admin", "webapps", `{"apiVersion": "lab.altershield.io/v1", "kind": "WebApp", "metadata": {"resourceVersion": "8", "annotations":
		{"altershield.defense.antgroup.com/hold-with": "{\"/spec/rollout/partition\":1}"}}, "spec": {"rollout": {"paused": true, "partition": 1}}}`)+
		answered("webapps", "statefulsets", `{"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"resourceVersion": "8",
		"ownerReferences": [{"kind": "WebApp", "controller": true}]}}`)).Next()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(writes).To(HaveExactElements(
		HaveField("Released", PointTo(MatchFields(IgnoreExtras, Fields{
			"Kind": Equal("StatefulSet"), "Release": Equal(int64(3)), "Paused": BeTrue(), "Pass": PointTo(HaveField("Name", "inc-7")),
		}))),
		HaveField("Released", PointTo(MatchFields(IgnoreExtras, Fields{"Kind": Equal("WebApp"), "Paused": BeTrue()}))),
		HaveField("Released", BeNil()),
	))
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
		g.Expect(writes).To(HaveExactElements(HaveField("Pod", PointTo(MatchAllFields(Fields{
			"Name": Equal("cart-1"), "UID": Equal("u3"), "Kind": Equal("ReplicaSet"), "Over": Equal(over), "Runs": Equal(phase == "Running"),
		})))), phase)
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
