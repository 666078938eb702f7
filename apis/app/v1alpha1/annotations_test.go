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

package v1alpha1_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

func TestAddToSchemeKnowsTheKindsUnderTheirGroup(t *testing.T) {
	g := NewWithT(t)
	scheme := runtime.NewScheme()
	g.Expect(appv1alpha1.AddToScheme(scheme)).To(Succeed())
	for _, kind := range []string{"ChangeWorkload", "ChangeWorkloadList", "ChangePod", "ChangePodList", "OpsConfigInfo", "OpsConfigInfoList", "ControlledKind", "ControlledKindList"} {
		g.Expect(scheme.Recognizes(appv1alpha1.GroupVersion.WithKind(kind))).To(BeTrue(), kind)
	}
	g.Expect(appv1alpha1.GroupVersion.String()).To(Equal("app.ops.cloud.alipay.com/v1alpha1"))
}

func TestOwnedKeysAreUnderTheOperatorsDomains(t *testing.T) {
	keys := append(appv1alpha1.OwnedLabels(), appv1alpha1.OwnedAnnotations()...)
	NewWithT(t).Expect(keys).To(HaveEach(MatchRegexp(`^(admission-webhook-altershield\.antgroup\.com|altershield\.defense\.antgroup\.com)/`)))
	NewWithT(t).Expect(keys).To(ContainElements("admission-webhook-altershield.antgroup.com/version", "altershield.defense.antgroup.com/held"))
}

func TestParkOf(t *testing.T) {
	for _, row := range []struct {
		name, annotation string
		known            bool
	}{
		{"by the operator", `{"release":2,"reason":"PodsFailed","message":"m","time":"2026-11-21T10:00:00Z"}`, true},
		{"on request", `{"release":2,"reason":"Requested","user":"bob","time":"2026-11-21T10:00:00Z"}`, true},
		{"none", "", false},
		{"no JSON", "true", false},
		{"of another release", `{"release":1,"reason":"Requested","time":"2026-11-21T10:00:00Z"}`, false},
		{"of an unknown reason", `{"release":2,"reason":"Because","time":"2026-11-21T10:00:00Z"}`, false},
		{"at a time that can't be written", `{"release":2,"reason":"Requested","time":"9999-12-31T23:59:59-01:00"}`, false},
		{"with too long a message", `{"release":2,"reason":"Requested","message":"` + strings.Repeat("m", 2000) + `","time":"2026-11-21T10:00:00Z"}`, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			park := appv1alpha1.ParkOf(map[string]string{"altershield.defense.antgroup.com/parked": row.annotation}, 2)
			NewWithT(t).Expect(park != nil).To(Equal(row.known))
		})
	}
}

func rollback(edit ...string) string {
	return strings.NewReplacer(edit...).Replace(`{"version":"a","release":2,"to":"b","toRelease":3,"reason":"PodsFailed","message":"m","time":"2026-11-21T10:00:00Z"}`)
}

func TestWorkloadKind(t *testing.T) {
	g := NewWithT(t)
	workload := &appv1alpha1.ChangeWorkload{}
	g.Expect(workload.WorkloadKind()).To(Equal("Deployment"), "of a record from before v0.2")
	workload.Spec.WorkloadRef = &appv1alpha1.WorkloadReference{Kind: "StatefulSet"}
	g.Expect(workload.WorkloadKind()).To(Equal("StatefulSet"))
}

func TestReasonPaused(t *testing.T) {
	g := NewWithT(t)
	g.Expect(appv1alpha1.ReasonPaused("Deployment")).To(Equal("DeploymentPaused"), "as documented")
	g.Expect(appv1alpha1.ReasonPaused("StatefulSet")).To(Equal("StatefulSetPaused"))
}

func TestRollbacksOfReadsTheAnnotation(t *testing.T) {
	for _, row := range []struct {
		name, annotation string
		versions         []string
	}{
		{"newest first", "[" + rollback() + "," + rollback(`"a"`, `"c"`) + "]", []string{"a", "c"}},
		{"none of nonsense", "yes", nil},
		{"none of an object", rollback(), nil},
		{"but for one of the year 10000", "[" + rollback("2026-11-21T10:00:00Z", "9999-12-31T23:59:59-01:00") + "," + rollback(`"a"`, `"c"`) + "]", []string{"c"}},
		{"but for one of before the year 0", "[" + rollback("2026-11-21T10:00:00Z", "0000-01-01T00:00:00+01:00") + "]", nil},
		{"but for one that is refused until the year 10000", "[" + rollback(`"time"`, `"refusedUntil":"9999-12-31T23:59:59-01:00","time"`) + "]", nil},
		{"with the last second there is", "[" + rollback("2026-11-21T10:00:00Z", "9999-12-31T23:59:59Z") + "]", []string{"a"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			var versions []string
			for _, read := range appv1alpha1.RollbacksOf(map[string]string{"altershield.defense.antgroup.com/rollbacks": row.annotation}) {
				versions = append(versions, read.Version)
			}
			NewWithT(t).Expect(versions).To(Equal(row.versions))
		})
	}
}

func TestIsSoundIfTheOperatorMayHaveWrittenTheRollback(t *testing.T) {
	for _, row := range []struct {
		name, annotation string
		sound, automatic bool
	}{
		{"because pods failed", rollback(), true, true},
		{"because pods didn't run", rollback("PodsFailed", "PodsNotRunning"), true, true},
		{"because a user asked", rollback("PodsFailed", "Requested"), true, false},
		{"for no known reason", rollback("PodsFailed", "Because"), false, true},
		{"at no time", rollback(`"2026-11-21T10:00:00Z"`, "null"), false, true},
		{"with the longest message", rollback(`"m"`, `"`+strings.Repeat("m", 512)+`"`), true, true},
		{"with a message that is too long", rollback(`"m"`, `"`+strings.Repeat("m", 513)+`"`), false, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			read := appv1alpha1.RollbacksOf(map[string]string{"altershield.defense.antgroup.com/rollbacks": "[" + row.annotation + "]"})
			g.Expect(read).To(HaveLen(1))
			g.Expect(read[0].IsSound()).To(Equal(row.sound))
			g.Expect(read[0].IsAutomatic()).To(Equal(row.automatic))
		})
	}
}

func TestReleaseRecordOfNeedsAUserAndATimeThatCanBeWritten(t *testing.T) {
	for _, row := range []struct {
		user, time string
		found      bool
	}{
		{"alice", "2026-11-21T10:00:00.000000Z", true},
		{"", "2026-11-21T10:00:00.000000Z", false},
		{"alice", "9999-12-31T23:59:59.999999-01:00", false},
		{"alice", "yesterday", false},
	} {
		t.Run(row.user+" at "+row.time, func(t *testing.T) {
			g := NewWithT(t)
			written := `{"user":"` + row.user + `","time":"` + row.time + `","version":"a","release":3}`
			made, found := appv1alpha1.ReleaseRecordOf(map[string]string{"altershield.defense.antgroup.com/released-by": written})
			g.Expect(found).To(Equal(row.found))
			ignored, let := appv1alpha1.IgnoredSuspendOf(map[string]string{"altershield.defense.antgroup.com/ignored-suspend-by": written})
			g.Expect(let).To(Equal(row.found))
			if row.found {
				g.Expect(made.User).To(Equal("alice"))
				g.Expect(ignored.Release).To(BeEquivalentTo(3))
			} else {
				g.Expect(made).To(BeZero())
				g.Expect(ignored).To(BeZero())
			}
		})
	}
}

func TestFrozenOf(t *testing.T) {
	frozen := &appv1alpha1.Frozen{Release: 3, By: []string{"ops/friday", "shop/lock"}, Concurrent: 5}
	written := `{"release":3,"by":["ops/friday","shop/lock"],"concurrent":5}`
	for _, row := range []struct {
		name, annotation string
		frozen           *appv1alpha1.Frozen
	}{
		{"of the release", written, frozen},
		{"of another release", strings.Replace(written, "3", "2", 1), nil},
		{"by no freeze", `{"release":3,"by":[],"concurrent":5}`, nil},
		{"none", "", nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			NewWithT(t).Expect(appv1alpha1.FrozenOf(map[string]string{"altershield.defense.antgroup.com/frozen": row.annotation}, 3)).To(Equal(row.frozen))
		})
	}
	NewWithT(t).Expect(frozen.String()).To(Equal(written))
}

func TestBreakGlassPassOf(t *testing.T) {
	const key = "altershield.defense.antgroup.com/break-glass"
	for _, row := range []struct {
		name, value string
		found       bool
	}{
		{"of this release", `{"release":2,"name":"inc-7","user":"alice","time":"2026-11-23T10:00:00Z"}`, true},
		{"of another release", `{"release":1,"name":"inc-7","user":"alice","time":"2026-11-23T10:00:00Z"}`, false},
		{"with a time that can't be stored", `{"release":2,"name":"inc-7","user":"alice","time":"0000-01-01T00:00:00+01:00"}`, false},
		{"that can't be read", `{`, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			passed := appv1alpha1.BreakGlassPassOf(map[string]string{key: row.value}, 2)
			if (passed != nil) != row.found || row.found && (passed.Name != "inc-7" || passed.User != "alice") {
				t.Errorf("BreakGlassPassOf(%s) = %v", row.value, passed)
			}
		})
	}
}

func TestPacedOf(t *testing.T) {
	const key, written = "altershield.defense.antgroup.com/paced", `{"release":2,"policy":"shop/careful","lever":"Partition","from":{"partition":3}}`
	for _, row := range []struct {
		name, annotation string
		found            bool
	}{
		{"of the release", written, true},
		{"of another release", strings.Replace(written, "2", "3", 1), false},
		{"without a lever", `{"release":2,"policy":"shop/careful"}`, false},
		{"that can't be read", "{", false},
		{"none", "", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			NewWithT(t).Expect(appv1alpha1.PacedOf(map[string]string{key: row.annotation}, 2) != nil).To(Equal(row.found))
		})
	}
	g, paced := NewWithT(t), appv1alpha1.PacedOf(map[string]string{key: written}, 2)
	g.Expect(paced.Policy).To(Equal("shop/careful"))
	g.Expect(paced.Lever).To(Equal(appv1alpha1.LeverPartition))
}

func TestOriginalsOf(t *testing.T) {
	const paced, held = "altershield.defense.antgroup.com/paced", "altershield.defense.antgroup.com/held-from"
	for _, row := range []struct {
		name        string
		annotations map[string]string
		originals   string
	}{
		{"of a pace", map[string]string{paced: `{"release":2,"lever":"Partition","from":{"partition":3}}`}, `{"partition":3}`},
		{"of a pace of an earlier release, which nobody restored", map[string]string{paced: `{"release":1,"lever":"Partition","from":{"partition":3}}`}, `{"partition":3}`},
		{"of a hold", map[string]string{held: `{"partition":2}`}, `{"partition":2}`},
		{"of a hold and a pace without any", map[string]string{paced: `{"release":2,"lever":"Gates"}`, held: `{"partition":2}`}, `{"partition":2}`},
		{"of a hold and a pace that can't be read", map[string]string{paced: "{", held: `{"partition":2}`}, `{"partition":2}`},
		{"none", nil, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			NewWithT(t).Expect(appv1alpha1.OriginalsOf(row.annotations)).To(Equal(row.originals))
		})
	}
}

func TestParseGoOn(t *testing.T) {
	for value, expected := range map[string]appv1alpha1.GoOn{
		"2:3": {Release: 2, Step: 3}, "2:all": {Release: 2}, "12:1": {Release: 12, Step: 1},
		"": {}, "2": {}, "2:": {}, "2:0": {}, "2:-1": {}, "2:ALL": {}, "0:1": {}, "-1:1": {}, "two:1": {}, "2:3:4": {}, "2:99999999999": {},
	} {
		t.Run(value, func(t *testing.T) {
			asked, ok := appv1alpha1.ParseGoOn(value)
			NewWithT(t).Expect(ok).To(Equal(expected.Release > 0))
			NewWithT(t).Expect(asked).To(Equal(expected))
		})
	}
}

func TestGoOnOf(t *testing.T) {
	g := NewWithT(t)
	annotations := map[string]string{"altershield.defense.antgroup.com/go-on": "2:3", "altershield.defense.antgroup.com/go-on-by": "alice", "altershield.defense.antgroup.com/go-on-reason": "2:3 CHG-1", "altershield.defense.antgroup.com/reason": "of a pause"}
	g.Expect(appv1alpha1.GoOnOf(annotations, 2)).To(Equal(&appv1alpha1.GoOn{Release: 2, Step: 3, User: "alice", Reason: "CHG-1"}))
	g.Expect(appv1alpha1.GoOnOf(annotations, 3)).To(BeNil(), "of another release")
	g.Expect(appv1alpha1.GoOnOf(nil, 2)).To(BeNil())
	for _, reason := range []string{"", "2:2 CHG-1", "2:3", "CHG-1", "2:30 CHG-1"} {
		annotations["altershield.defense.antgroup.com/go-on-reason"] = reason
		g.Expect(appv1alpha1.GoOnOf(annotations, 2).Reason).To(BeEmpty(), reason)
	}
}
