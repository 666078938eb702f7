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
package config

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	ctrlyaml "sigs.k8s.io/yaml"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

const subscriptions = "app.ops.cloud.alipay.com_changesubscriptions.yaml"

func TestChangeSubscriptionsHaveDefaults(t *testing.T) {
	g := NewWithT(t)
	object, message := judgeOf(t, subscriptions).apply(t, `spec: {events: [All], sink: {type: Slack, secretRef: {name: a}}}`)
	g.Expect(message).To(BeEmpty())
	g.Expect(object["spec"]).To(Equal(map[string]any{
		"events": []any{"All"}, "sink": map[string]any{"type": "Slack", "secretRef": map[string]any{"name": "a"}}, "environment": "default", "language": "en",
	}))
}

func TestChangeSubscriptionsAreRefused(t *testing.T) {
	judge := judgeOf(t, subscriptions)
	const sink = "sink: {type: DingTalk, secretRef: {name: a}}"
	for name, row := range map[string]struct{ spec, message string }{
		"with everything": {
			`{events: [Failures, ApprovalAwaited], ` + sink + `, environment: prod-1, language: zh, linkBase: "https://a/b", digestSeconds: 60, suspend: true, selector: {matchLabels: {a: b}}, namespaceSelector: {}}`, "",
		},
		"of every event": {
			`{events: [All, Failures, ReleaseStarted, ReleaseBypassed, ReleaseVerified, RollbackVerified, ReleaseSuspended, ReleaseRecovered, ReleaseFailed, ReleaseRolledBack, ReleaseUnchecked, ReleaseSuperseded, ReleaseFrozen, ApprovalAwaited, FreezeStarted, FreezeEnded, BatchChecked, ApprovalGiven, ApprovalDenied, WorkloadDeleted], ` + sink + "}", "",
		},
		"without events":         {"{events: [], " + sink + "}", "spec.events in body should have at least 1 items"},
		"of an unknown event":    {"{events: [ReleaseDenied], " + sink + "}", `Unsupported value: "ReleaseDenied"`},
		"to an unknown receiver": {"{events: [All], sink: {type: Email, secretRef: {name: a}}}", `Unsupported value: "Email"`},
		"without a Secret":       {"{events: [All], sink: {type: Slack}}", "spec.sink.secretRef: Required value"},
		"in another language":    {"{events: [All], " + sink + ", language: de}", `Unsupported value: "de"`},
		"with digests of CDEvents": {
			"{events: [All], digestSeconds: 60, sink: {type: CDEvents, secretRef: {name: a}}}", "digestSeconds is not for type CDEvents, whose events are sent one by one",
		},
		"with endless digests":    {"{events: [All], digestSeconds: 3601, " + sink + "}", "should be less than or equal to 3600"},
		"with a link to a query":  {`{events: [All], linkBase: "https://a/?b", ` + sink + "}", "linkBase is http or https, with a host, and without user info, query and fragment"},
		"with a link to a scheme": {`{events: [All], linkBase: "javascript:alert(1)", ` + sink + "}", "linkBase is http or https, with a host, and without user info, query and fragment"},
		"with an odd environment": {`{events: [All], environment: "a b", ` + sink + "}", "spec.environment in body should match"},
	} {
		t.Run(name, func(t *testing.T) {
			_, message := judge.apply(t, "spec: "+row.spec)
			if row.message == "" {
				NewWithT(t).Expect(message).To(BeEmpty())
				return
			}
			NewWithT(t).Expect(message).To(ContainSubstring(row.message))
		})
	}
}

func TestChangeSubscriptionsOfTheSamplesAreTaken(t *testing.T) {
	g := NewWithT(t)
	text, err := os.ReadFile(filepath.Join(sources, "samples", "notifications", "dingtalk.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	var subscription appv1alpha1.ChangeSubscription
	g.Expect(ctrlyaml.UnmarshalStrict(text, &subscription)).To(Succeed())
	_, message := judgeOf(t, subscriptions).apply(t, string(text))
	g.Expect(message).To(BeEmpty())
}
