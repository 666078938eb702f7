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

package lifecycle_test

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/lifecycle"
)

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

func TestTwoSettingsExistByDefaultAsDocumented(t *testing.T) {
	g := NewWithT(t)
	g.Expect(lifecycle.DefaultSettings()).To(Equal(map[string]appv1alpha1.OpsConfigInfoSpec{
		"blocking": {Type: "isBlockingUp", Enable: true, Remark: "Enabling Blockade"},
		"branch":   {Type: "isBranch", Enable: false, Content: "10", Remark: "Enabling Batch Protection"},
	}))
	for name, spec := range lifecycle.DefaultSettings() {
		g.Expect(lifecycle.CheckSetting(name, spec)).To(Succeed())
	}
}

func TestTheSettingBranchInEffect(t *testing.T) {
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
			value := lifecycle.Setting("branch", row.object)
			g.Expect(value).To(Equal(appv1alpha1.ConfigValue{Enable: row.enable, Content: row.content}))
			g.Expect(lifecycle.BatchSize(value)).To(Equal(row.size))
		})
	}
}

func TestTheSettingBlockingInEffect(t *testing.T) {
	for _, row := range []struct {
		name   string
		object *appv1alpha1.OpsConfigInfo
		enable bool
	}{
		{"is on where its object is missing", nil, true},
		{"is on where it is on", setting("blocking", "isBlockingUp", true, ""), true},
		{"is off where it is off", setting("blocking", "isBlockingUp", false, ""), false},
		{"needs no content", setting("blocking", "isBlockingUp", true, "abc"), true},
		{"is on where the type was wrong from the start", setting("blocking", "isBranch", false, ""), true},
		{"stays off where the type became wrong later", lastGood(setting("blocking", "isBranch", true, ""), false, ""), false},
	} {
		t.Run(row.name, func(t *testing.T) {
			NewWithT(t).Expect(lifecycle.Setting("blocking", row.object).Enable).To(Equal(row.enable))
		})
	}
}

func TestABatchSizeIsNeverOutOfBounds(t *testing.T) {
	for content, size := range map[string]int32{"0": 1, "-1": 1, "abc": 1, "": 1, "501": 500, "99999999999999999999": 1} {
		NewWithT(t).Expect(lifecycle.BatchSize(appv1alpha1.ConfigValue{Enable: true, Content: content})).To(Equal(size), content)
	}
}

func TestAnOpsConfigInfoIsToldWhetherItHasAnEffect(t *testing.T) {
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
		{"one in another namespace is told where settings are read", elsewhere,
			"False", "OtherNamespace", "no effect: the operator reads its settings in namespace altershieldoperator-system", nil},
		{"one in another namespace is told that before anything else", strangerElsewhere,
			"False", "OtherNamespace", "no effect: the operator reads its settings in namespace altershieldoperator-system", nil},
		{"one of another name is told the names there are", setting("brunch", "isBranch", true, "20"),
			"False", "UnknownName", `no effect: no setting is named "brunch"; there are blocking, branch`, nil},
		{"one with unusable content is told what stays in effect", lastGood(setting("branch", "isBranch", true, "abc"), true, "7"),
			"False", "UnusableSpec",
			`spec.content of "branch" must be a whole number from 1 to 500, not "abc"; enable: true, content: "7" stays in effect`,
			&appv1alpha1.ConfigValue{Enable: true, Content: "7"}},
		{"one that was never usable is told that the default stays in effect", setting("branch", "isBranch", true, "501"),
			"False", "UnusableSpec",
			`spec.content of "branch" must be a whole number from 1 to 500, not "501"; enable: false, content: "10" stays in effect`, nil},
		{"one of the wrong type is told the right one", setting("blocking", "isBranch", false, ""),
			"False", "UnusableSpec", `spec.type of "blocking" must be "isBlockingUp", not "isBranch"; enable: true stays in effect`, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			spec := row.object.Spec
			condition := lifecycle.AssessSetting(row.object, "altershieldoperator-system", now)
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

func TestAnOpsConfigInfoIsAssessedTheSameASecondTime(t *testing.T) {
	g := NewWithT(t)
	object := lastGood(setting("branch", "isBranch", true, "abc"), true, "7")
	lifecycle.AssessSetting(object, "altershieldoperator-system", now)
	before := object.DeepCopy()
	lifecycle.AssessSetting(object, "altershieldoperator-system", now.Add(1))
	g.Expect(object).To(Equal(before))
}
