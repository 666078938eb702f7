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

package view_test

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
)

func setting(name, kind string, enable bool, content string) appv1alpha1.OpsConfigInfo {
	return appv1alpha1.OpsConfigInfo{
		ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: name}, Spec: appv1alpha1.OpsConfigInfoSpec{Type: kind, Enable: enable, Content: content, Remark: "mine"},
	}
}

func TestSettingsShowTheValueInEffect(t *testing.T) {
	g := NewWithT(t)
	unusable := setting("branch", "isBranch", true, "many")
	unusable.Status.Effective = &appv1alpha1.ConfigValue{Enable: true, Content: "20"}
	old := setting("refusal", "isRefusal", true, "12h")
	old.Generation = 2
	old.Status.Conditions = []metav1.Condition{{Type: "Effective", Status: "False", ObservedGeneration: 1, Message: "of an earlier value"}}
	elsewhere := setting("park", "isPark", true, "")
	elsewhere.Status.Conditions = []metav1.Condition{{Type: "Effective", Status: "False", Message: "no effect: the operator reads its settings in namespace system"}}
	list, err := view.SettingsOf([]appv1alpha1.OpsConfigInfo{setting("blocking", "isBlockingUp", false, ""), unusable, old, elsewhere}, "")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(list.Items).To(HaveLen(12))
	g.Expect(list.Items[:2]).To(Equal([]view.Setting{
		{Name: "blocking", Remark: "mine"},
		{Name: "branch", Enable: true, Content: "20", Problem: `spec.content of "branch" must be a whole number from 1 to 500, not "many"`, Remark: "mine"},
	}))
	for _, item := range list.Items {
		switch item.Name {
		case "refusal":
			g.Expect(item.Problem).To(BeEmpty())
			g.Expect(item.Content).To(Equal("12h"))
		case "park":
			g.Expect(item.Problem).To(HavePrefix("no effect"))
		case "stuck-rollback":
			g.Expect(item).To(Equal(view.Setting{Name: "stuck-rollback", Enable: true, Content: "2m", Default: true, Remark: "Roll back releases whose pods don't run for this long"}))
		}
	}
	list, err = view.SettingsOf(nil, "park")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(list.Items).To(HaveLen(1))
	_, err = view.SettingsOf(nil, "parks")
	g.Expect(err).To(MatchError(HavePrefix("there is no setting parks; the settings are blocking, branch,")))
}

func TestSettingIsChangedByOnOffOrAValue(t *testing.T) {
	branch := setting("branch", "isBranch", false, "10")
	for value, row := range map[string]struct {
		enable  bool
		content string
		changes []string
	}{
		"on": {true, "10", []string{"enable: false -> true"}},
		"20": {true, "20", []string{"enable: false -> true", "content: 10 -> 20"}},
	} {
		request, changed, err := view.SettingOf("system", "branch", value, &branch)
		NewWithT(t).Expect(err).NotTo(HaveOccurred(), value)
		NewWithT(t).Expect(changed.Spec).To(Equal(appv1alpha1.OpsConfigInfoSpec{Type: "isBranch", Enable: row.enable, Content: row.content, Remark: "mine"}), value)
		NewWithT(t).Expect(request).To(Equal(view.Request{
			Kind: "SettingRequest", APIVersion: "cli.altershield/v1", Namespace: "system", Object: "opsconfiginfo/branch", Changes: row.changes,
		}), value)
	}
	_, created, err := view.SettingOf("system", "blocking", "on", nil)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Expect(created.Spec.Type).To(Equal("isBlockingUp"))
	for says, row := range map[string]struct{ name, value string }{
		`spec.content of "branch" must be a whole number from 1 to 500, not "0"`: {"branch", "0"},
		"the setting branch has this value already":                              {"branch", "off"},
		"the setting blocking is on or off: it has no other value":               {"blocking", "5"},
		"there is no setting brunch; the settings are":                           {"brunch", "on"},
	} {
		_, _, err := view.SettingOf("system", row.name, row.value, &branch)
		NewWithT(t).Expect(err).To(MatchError(ContainSubstring(says)))
	}
}
