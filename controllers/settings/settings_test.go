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

package settings

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

var now = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

func setting(name, kind string, enable bool, content string) *appv1alpha1.OpsConfigInfo {
	return &appv1alpha1.OpsConfigInfo{
		ObjectMeta: metav1.ObjectMeta{Namespace: "altershieldoperator-system", Name: name, Generation: 4},
		Spec:       appv1alpha1.OpsConfigInfoSpec{Type: kind, Enable: enable, Content: content},
	}
}

// lastGood gives a setting the value that was last usable.
func lastGood(object *appv1alpha1.OpsConfigInfo, enable bool, content string) *appv1alpha1.OpsConfigInfo {
	object.Status.Effective = &appv1alpha1.ConfigValue{Enable: enable, Content: content}
	return object
}

func TestDefaultsAreTheDocumentedOnes(t *testing.T) {
	g := NewWithT(t)
	g.Expect(Defaults()).To(Equal(map[string]appv1alpha1.OpsConfigInfoSpec{
		"blocking":           {Type: "isBlockingUp", Enable: true, Remark: "Enabling Blockade"},
		"branch":             {Type: "isBranch", Enable: false, Content: "10", Remark: "Enabling Batch Protection"},
		"stuck-rollback":     {Type: "isStuckRollback", Enable: true, Content: "2m", Remark: "Roll back releases whose pods don't run for this long"},
		"suspended-rollback": {Type: "isSuspendedRollback", Enable: false, Remark: "Roll back suspended releases without being asked"},
		"park":               {Type: "isPark", Enable: false, Remark: "Park suspended releases of StatefulSets without being asked"},
		"unstick":            {Type: "isUnstick", Enable: false, Remark: "Delete pods that keep a StatefulSet from going on to another version"},
		"refusal":            {Type: "isRefusal", Enable: true, Content: "24h", Remark: "Refuse versions that were rolled back for this long"},
		"template-history": {Type: "isTemplateHistory", Enable: true, Content: "10",
			Remark: "Keep this many verified pod templates of each workload"},
		"release-history": {Type: "isReleaseHistory", Enable: false, Content: "5",
			Remark: "Keep this many ChangeWorkloads of past releases of each workload"},
		"change-records": {Type: "isChangeRecords", Enable: true, Content: "100", Remark: "Write ChangeRecords, and keep this many of each workload"},
		"record-days":    {Type: "isRecordDays", Enable: true, Content: "90", Remark: "Keep ChangeRecords for this many days"},
		"finished-label": {Type: "isFinishedLabel", Enable: true, Remark: "Label finished pods"},
	}))
	for name, spec := range Defaults() {
		g.Expect(Check(name, spec)).To(Succeed())
		spec.Enable = true
		g.Expect(Check(name, spec)).To(Succeed(), "to switch it on takes no content")
	}
}

func TestInEffectOfBranch(t *testing.T) {
	for _, row := range []struct {
		name    string
		object  *appv1alpha1.OpsConfigInfo
		enable  bool
		content string
		size    int32
	}{
		{"is off where its object is missing", nil, false, "10", 1},
		{"is off where it is switched off", setting("branch", "isBranch", false, "10"), false, "10", 1},
		{"needs no usable content while it is off", setting("branch", "isBranch", false, "abc"), false, "abc", 1},
		{"makes batches of ten", setting("branch", "isBranch", true, "10"), true, "10", 10},
		{"makes batches of one", setting("branch", "isBranch", true, "1"), true, "1", 1},
		{"makes batches of 500 at most", setting("branch", "isBranch", true, "500"), true, "500", 500},
		{"is the default where 501 was never preceded by a good value", setting("branch", "isBranch", true, "501"), false, "10", 1},
		{"is the last good value where the content is 501", lastGood(setting("branch", "isBranch", true, "501"), true, "7"), true, "7", 7},
		{"is the last good value where the content is 0", lastGood(setting("branch", "isBranch", true, "0"), true, "7"), true, "7", 7},
		{"is the last good value where the content is -1", lastGood(setting("branch", "isBranch", true, "-1"), true, "7"), true, "7", 7},
		{"is the last good value where the content is abc", lastGood(setting("branch", "isBranch", true, "abc"), true, "7"), true, "7", 7},
		{"is the last good value where the content is 1.5", lastGood(setting("branch", "isBranch", true, "1.5"), true, "7"), true, "7", 7},
		{"is the last good value where the content is missing", lastGood(setting("branch", "isBranch", true, ""), true, "7"), true, "7", 7},
		{"is the last good value where the type is wrong", lastGood(setting("branch", "isBlockingUp", true, "10"), true, "7"), true, "7", 7},
		{"stays off where it was off before the content became unusable", lastGood(setting("branch", "isBranch", true, "abc"), false, "10"), false, "10", 1},
		{"is the spec and no longer the last good value once it is usable", lastGood(setting("branch", "isBranch", true, "20"), true, "7"), true, "20", 20},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			value := InEffect("branch", row.object)
			g.Expect(value).To(Equal(appv1alpha1.ConfigValue{Enable: row.enable, Content: row.content}))
			g.Expect(batchSize(value)).To(Equal(row.size))
		})
	}
}

func TestInEffectOfSwitches(t *testing.T) {
	for _, row := range []struct {
		setting, name string
		object        *appv1alpha1.OpsConfigInfo
		enable        bool
	}{
		{"blocking", "is on where its object is missing", nil, true},
		{"blocking", "is on where it is on", setting("blocking", "isBlockingUp", true, ""), true},
		{"blocking", "is off where it is off", setting("blocking", "isBlockingUp", false, ""), false},
		{"blocking", "needs no content", setting("blocking", "isBlockingUp", true, "abc"), true},
		{"blocking", "is on where the type was wrong from the start", setting("blocking", "isBranch", false, ""), true},
		{"blocking", "stays off where the type became wrong later", lastGood(setting("blocking", "isBranch", true, ""), false, ""), false},
		{"park", "is off where its object is missing", nil, false},
		{"park", "is on where it is on", setting("park", "isPark", true, ""), true},
		{"unstick", "is off where its object is missing", nil, false},
		{"unstick", "is on where it is on", setting("unstick", "isUnstick", true, ""), true},
		{"suspended-rollback", "is off where its object is missing", nil, false},
		{"suspended-rollback", "is on where it is on", setting("suspended-rollback", "isSuspendedRollback", true, ""), true},
		{"suspended-rollback", "is off where it is off", setting("suspended-rollback", "isSuspendedRollback", false, ""), false},
		{"suspended-rollback", "needs no content", setting("suspended-rollback", "isSuspendedRollback", true, "abc"), true},
		{"suspended-rollback", "is off where the type was wrong from the start", setting("suspended-rollback", "isStuckRollback", true, "2m"), false},
		{"suspended-rollback", "stays on where the type became wrong later", lastGood(setting("suspended-rollback", "isRefusal", false, ""), true, ""), true},
	} {
		t.Run(row.setting+" "+row.name, func(t *testing.T) {
			NewWithT(t).Expect(InEffect(row.setting, row.object).Enable).To(Equal(row.enable))
		})
	}
}

func TestInEffectOfPeriods(t *testing.T) {
	for _, row := range []struct {
		name     string
		setting  string
		object   *appv1alpha1.OpsConfigInfo
		enable   bool
		content  string
		duration time.Duration
	}{
		{"is two minutes where the object of stuck-rollback is missing", "stuck-rollback", nil, true, "2m", 2 * time.Minute},
		{"is that of stuck-rollback", "stuck-rollback", setting("stuck-rollback", "isStuckRollback", true, "90s"), true, "90s", 90 * time.Second},
		{"is none where stuck-rollback is off", "stuck-rollback", setting("stuck-rollback", "isStuckRollback", false, "90s"), false, "90s", 0},
		{"needs no usable content while stuck-rollback is off", "stuck-rollback", setting("stuck-rollback", "isStuckRollback", false, "abc"), false, "abc", 0},
		{"is the default where stuck-rollback was never usable", "stuck-rollback", setting("stuck-rollback", "isStuckRollback", true, "abc"), true, "2m", 2 * time.Minute},
		{"is the default where the type of stuck-rollback is wrong", "stuck-rollback", setting("stuck-rollback", "isRefusal", true, "5m"), true, "2m", 2 * time.Minute},
		{"is the last good one where stuck-rollback can not be used", "stuck-rollback", lastGood(setting("stuck-rollback", "isStuckRollback", true, "2d"), true, "5m"), true, "5m", 5 * time.Minute},
		{"stays none where stuck-rollback was off before it became unusable", "stuck-rollback", lastGood(setting("stuck-rollback", "isStuckRollback", true, "2d"), false, "5m"), false, "5m", 0},
		{"is a day where the object of refusal is missing", "refusal", nil, true, "24h", 24 * time.Hour},
		{"is a second at least", "refusal", setting("refusal", "isRefusal", true, "1s"), true, "1s", time.Second},
		{"is 99999 hours at most", "refusal", setting("refusal", "isRefusal", true, "99999h"), true, "99999h", 99999 * time.Hour},
		{"needs no content while refusal is off", "refusal", setting("refusal", "isRefusal", false, ""), false, "", 0},
		{"is the default where refusal has no content", "refusal", setting("refusal", "isRefusal", true, ""), true, "24h", 24 * time.Hour},
		{"is the last good one where the type of refusal is wrong", "refusal", lastGood(setting("refusal", "isStuckRollback", true, "5m"), true, "36h"), true, "36h", 36 * time.Hour},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			value := InEffect(row.setting, row.object)
			g.Expect(value).To(Equal(appv1alpha1.ConfigValue{Enable: row.enable, Content: row.content}))
			g.Expect(period(value)).To(Equal(row.duration))
		})
	}
}

func TestCheckTakesPeriodsOfWholeSecondsMinutesOrHours(t *testing.T) {
	for _, content := range []string{
		"", "0s", "-1m", "+1m", "2", "2d", "2ms", "1.5h", "1h30m", "100000s", "abc", "m", "2m ", " 2m", "2 m", "2M", "2µ", "0x2m", "99999999999999999999s",
	} {
		t.Run(content, func(t *testing.T) {
			g := NewWithT(t)
			for name, kind := range map[string]string{"stuck-rollback": "isStuckRollback", "refusal": "isRefusal"} {
				g.Expect(Check(name, setting(name, kind, true, content).Spec)).To(MatchError(fmt.Sprintf(
					"spec.content of %q must be a whole number of seconds, minutes or hours such as 90s, 2m or 24h, not %q", name, content)))
				g.Expect(Check(name, setting(name, kind, false, content).Spec)).To(Succeed(), "it is off")
			}
			g.Expect(period(appv1alpha1.ConfigValue{Enable: true, Content: content})).To(BeZero())
		})
	}
}

func TestInEffectOfHistories(t *testing.T) {
	for _, row := range []struct {
		name    string
		setting string
		object  *appv1alpha1.OpsConfigInfo
		enable  bool
		content string
		kept    int
	}{
		{"is ten templates where the object of template-history is missing", "template-history", nil, true, "10", 10},
		{"is one at least", "template-history", setting("template-history", "isTemplateHistory", true, "1"), true, "1", 1},
		{"is 100 at most", "template-history", setting("template-history", "isTemplateHistory", true, "100"), true, "100", 100},
		{"is the default where 101 was never preceded by a good value", "template-history", setting("template-history", "isTemplateHistory", true, "101"), true, "10", 10},
		{"is none where template-history is off", "template-history", setting("template-history", "isTemplateHistory", false, "20"), false, "20", 0},
		{"is the default where the type of template-history is wrong", "template-history", setting("template-history", "isReleaseHistory", true, "20"), true, "10", 10},
		{"is the last good value where the content is 0", "template-history", lastGood(setting("template-history", "isTemplateHistory", true, "0"), true, "7"), true, "7", 7},
		{"is no record where the object of release-history is missing", "release-history", nil, false, "5", 0},
		{"is that of release-history once it is on", "release-history", setting("release-history", "isReleaseHistory", true, "5"), true, "5", 5},
		{"needs no usable content while release-history is off", "release-history", setting("release-history", "isReleaseHistory", false, "abc"), false, "abc", 0},
		{"is none where release-history was never usable", "release-history", setting("release-history", "isReleaseHistory", true, "abc"), false, "5", 0},
		{"is the last good value where the content is missing", "release-history", lastGood(setting("release-history", "isReleaseHistory", true, ""), true, "7"), true, "7", 7},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			value := InEffect(row.setting, row.object)
			g.Expect(value).To(Equal(appv1alpha1.ConfigValue{Enable: row.enable, Content: row.content}))
			g.Expect(retention(value, 100)).To(Equal(row.kept))
		})
	}
}

func TestCheckTakesHistoriesFrom1To100(t *testing.T) {
	for _, content := range []string{"", "0", "-1", "101", "1.5", "abc", "10 ", "2m", "99999999999999999999"} {
		t.Run(content, func(t *testing.T) {
			g := NewWithT(t)
			for name, kind := range map[string]string{"template-history": "isTemplateHistory", "release-history": "isReleaseHistory"} {
				g.Expect(Check(name, setting(name, kind, true, content).Spec)).To(MatchError(fmt.Sprintf(
					"spec.content of %q must be a whole number from 1 to 100, not %q", name, content)))
				g.Expect(Check(name, setting(name, kind, false, content).Spec)).To(Succeed(), "it is off")
			}
		})
	}
}

func TestCheckTakesChangeRecordsFrom1To1000AndDaysFrom1To400(t *testing.T) {
	for _, row := range []struct {
		name, kind, content string
		limit               int
		fine                bool
	}{
		{"change-records", "isChangeRecords", "1", 1000, true},
		{"change-records", "isChangeRecords", "1000", 1000, true},
		{"change-records", "isChangeRecords", "1001", 1000, false},
		{"change-records", "isChangeRecords", "0", 1000, false},
		{"record-days", "isRecordDays", "400", 400, true},
		{"record-days", "isRecordDays", "401", 400, false},
		{"record-days", "isRecordDays", "90d", 400, false},
	} {
		t.Run(row.name+" "+row.content, func(t *testing.T) {
			err := Check(row.name, setting(row.name, row.kind, true, row.content).Spec)
			if row.fine {
				NewWithT(t).Expect(err).NotTo(HaveOccurred())
				return
			}
			NewWithT(t).Expect(err).To(MatchError(fmt.Sprintf("spec.content of %q must be a whole number from 1 to %d, not %q", row.name, row.limit, row.content)))
		})
	}
}

func TestRetentionIsNeverOutOfBounds(t *testing.T) {
	for content, kept := range map[string]int{"0": 0, "-1": 0, "abc": 0, "": 0, "101": 100, "99999999999999999999": 0} {
		NewWithT(t).Expect(retention(appv1alpha1.ConfigValue{Enable: true, Content: content}, 100)).To(Equal(kept), content)
	}
}

func TestBatchSizeIsNeverOutOfBounds(t *testing.T) {
	for content, size := range map[string]int32{"0": 1, "-1": 1, "abc": 1, "": 1, "501": 500, "99999999999999999999": 1} {
		NewWithT(t).Expect(batchSize(appv1alpha1.ConfigValue{Enable: true, Content: content})).To(Equal(size), content)
	}
}

func TestAssessSetsTheConditionEffective(t *testing.T) {
	elsewhere := setting("branch", "isBranch", true, "10")
	elsewhere.Namespace = "default"
	strangerElsewhere := setting("brunch", "isBranch", true, "abc")
	strangerElsewhere.Namespace = "default"
	for _, row := range []struct {
		name      string
		object    *appv1alpha1.OpsConfigInfo
		status    metav1.ConditionStatus
		reason    string
		message   string
		effective *appv1alpha1.ConfigValue
	}{
		{"a usable one is in effect", setting("branch", "isBranch", true, "20"),
			"True", "InEffect", `enable: true, content: "20" is in effect`, &appv1alpha1.ConfigValue{Enable: true, Content: "20"}},
		{"one that is off is in effect", setting("blocking", "isBlockingUp", false, ""),
			"True", "InEffect", `enable: false is in effect`, &appv1alpha1.ConfigValue{}},
		{"one in another namespace has the namespace of the settings", elsewhere,
			"False", "OtherNamespace", "no effect: the operator reads its settings in namespace altershieldoperator-system", nil},
		{"one in another namespace has that before anything else", strangerElsewhere,
			"False", "OtherNamespace", "no effect: the operator reads its settings in namespace altershieldoperator-system", nil},
		{"one of another name has the known names", setting("brunch", "isBranch", true, "20"),
			"False", "UnknownName", `no effect: unknown setting "brunch"; the settings are ` +
				"blocking, branch, change-records, finished-label, park, record-days, refusal, release-history, stuck-rollback, suspended-rollback, template-history, unstick", nil},
		{"one with invalid content has what stays in effect", lastGood(setting("branch", "isBranch", true, "abc"), true, "7"),
			"False", "UnusableSpec",
			`spec.content of "branch" must be a whole number from 1 to 500, not "abc"; enable: true, content: "7" stays in effect`,
			&appv1alpha1.ConfigValue{Enable: true, Content: "7"}},
		{"one that was never valid has the default in effect", setting("branch", "isBranch", true, "501"),
			"False", "UnusableSpec",
			`spec.content of "branch" must be a whole number from 1 to 500, not "501"; enable: false, content: "10" stays in effect`, nil},
		{"a time is in effect", setting("stuck-rollback", "isStuckRollback", true, "90s"),
			"True", "InEffect", `enable: true, content: "90s" is in effect`, &appv1alpha1.ConfigValue{Enable: true, Content: "90s"}},
		{"one that is off is in effect whatever its content", setting("release-history", "isReleaseHistory", false, "abc"),
			"True", "InEffect", `enable: false, content: "abc" is in effect`, &appv1alpha1.ConfigValue{Content: "abc"}},
		{"an invalid time has what it must be", setting("refusal", "isRefusal", true, "2d"),
			"False", "UnusableSpec", `spec.content of "refusal" must be a whole number of seconds, minutes or hours such as 90s, 2m or 24h, not "2d"; ` +
				`enable: true, content: "24h" stays in effect`, nil},
		{"an invalid number to keep has what it must be", lastGood(setting("template-history", "isTemplateHistory", true, "101"), true, "7"),
			"False", "UnusableSpec", `spec.content of "template-history" must be a whole number from 1 to 100, not "101"; ` +
				`enable: true, content: "7" stays in effect`, &appv1alpha1.ConfigValue{Enable: true, Content: "7"}},
		{"one of the wrong type has the right one", setting("blocking", "isBranch", false, ""),
			"False", "UnusableSpec", `spec.type of "blocking" must be "isBlockingUp", not "isBranch"; enable: true stays in effect`, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			spec := row.object.Spec
			condition := Assess(row.object, "altershieldoperator-system", now)
			g.Expect(condition).To(Equal(metav1.Condition{
				Type: "Effective", Status: row.status, Reason: row.reason, Message: row.message,
				ObservedGeneration: 4, LastTransitionTime: metav1.NewTime(now),
			}))
			g.Expect(row.object.Status.Conditions).To(HaveExactElements(condition))
			g.Expect(row.object.Status.ObservedGeneration).To(Equal(int64(4)))
			g.Expect(row.object.Status.Effective).To(Equal(row.effective))
			g.Expect(row.object.Spec).To(Equal(spec), "what the user wrote stays")
		})
	}
}

func TestAssessTwiceChangesNothing(t *testing.T) {
	g := NewWithT(t)
	object := lastGood(setting("branch", "isBranch", true, "abc"), true, "7")
	Assess(object, "altershieldoperator-system", now)
	before := object.DeepCopy()
	Assess(object, "altershieldoperator-system", now.Add(1))
	g.Expect(object).To(Equal(before))
}
