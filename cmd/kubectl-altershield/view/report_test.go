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

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
)

func TestRedactorRemovesWhatMayBeSecret(t *testing.T) {
	g := NewWithT(t)
	object := map[string]any{
		"metadata": map[string]any{
			"name": "web", "managedFields": []any{"f"},
			"annotations": map[string]any{
				"kubectl.kubernetes.io/last-applied-configuration": "s3cret", "note": "kept",
				"kapp.k14s.io/original":                  `{"spec":{"token":{"x":1},"env":[{"name":"A","value":"s3cret"}]}}`,
				"objectset.rio.cattle.io/applied":        "H4sIAAAAAAAA/6pWKs4tTlWyUko2TkpVqgUAAAD//w==",
				"altershield.defense.antgroup.com/paced": `{"release":7}`,
			},
		},
		"spec": map[string]any{
			"url": "https://bob:s3cret@prometheus/api", "replicas": int64(3), "dbPassword": "s3cret", "secretRef": map[string]any{"name": "token-of-x"},
			"headers": []any{map[string]any{"name": "X-Tenant", "value": "s3cret"}},
			"containers": []any{map[string]any{
				"name": "web", "args": []any{"--token=s3cret", "--port=8080"},
				"env": []any{map[string]any{"name": "A", "value": "s3cret"}, map[string]any{"name": "B", "valueFrom": map[string]any{"secretKeyRef": map[string]any{"name": "x", "key": "k"}}}},
			}},
		},
	}
	g.Expect(view.NewRedactor().Object(object)).To(Equal(map[string]any{
		"metadata": map[string]any{"name": "web", "annotations": map[string]any{"note": "kept", "altershield.defense.antgroup.com/paced": `{"release":7}`}},
		"spec": map[string]any{
			"url": "https://(redacted)@prometheus/api", "replicas": int64(3), "dbPassword": "(redacted)", "secretRef": map[string]any{"name": "token-of-x"},
			"headers": []any{map[string]any{"name": "X-Tenant", "value": "(redacted)"}},
			"containers": []any{map[string]any{
				"name": "web", "args": []any{"--token=(redacted)", "--port=8080"},
				"env": []any{map[string]any{"name": "A", "value": "(redacted)"}, map[string]any{"name": "B", "valueFrom": map[string]any{"secretKeyRef": map[string]any{"name": "x", "key": "k"}}}},
			}},
		},
	}))
	g.Expect(object["spec"]).To(HaveKeyWithValue("dbPassword", "s3cret"), "the object itself stays")
}

func TestRedactorRemovesTheWholeValueOfAFieldThatIsCalledLikeASecret(t *testing.T) {
	NewWithT(t).Expect(view.NewRedactor().Object(map[string]any{
		"tokens": []any{"s3cret"}, "credentials": map[string]any{"user": "bob", "pin": "s3cret"}, "password": int64(12345),
		"secretRef": map[string]any{"name": "x"}, "secretRefs": []any{map[string]any{"name": "x"}}, "hasToken": true, "secret": nil,
		"args": []any{"--api-key", "s3cret", "-u", "bob:s3cret", "--token", "--port", "8080"},
	})).To(Equal(map[string]any{
		"tokens": "(redacted)", "credentials": "(redacted)", "password": "(redacted)",
		"secretRef": map[string]any{"name": "x"}, "secretRefs": []any{map[string]any{"name": "x"}}, "hasToken": true, "secret": nil,
		"args": []any{"--api-key", "(redacted)", "-u", "(redacted)", "--token", "--port", "8080"},
	}))
}

func TestRedactorLeavesOutTheScriptsOfChecks(t *testing.T) {
	NewWithT(t).Expect(view.NewRedactor().Object(map[string]any{"spec": map[string]any{"checks": []any{
		map[string]any{"name": "tests", "job": map[string]any{"image": "curl", "command": []any{"sh", "-c"}, "args": []any{"login bob s3cret"}}},
	}}})).To(Equal(map[string]any{"spec": map[string]any{"checks": []any{
		map[string]any{"name": "tests", "job": map[string]any{"image": "curl", "command": "(redacted)", "args": "(redacted)"}},
	}}}))
}

func TestRedactorRemovesLoginsFromTexts(t *testing.T) {
	for text, wanted := range map[string]string{
		"GET https://u:p@host/x":                     "GET https://(redacted)@host/x",
		"Authorization: Bearer abcdefgh12345":        "Authorization: (redacted)",
		"sent bearer abcdefgh12345":                  "sent bearer (redacted)",
		`{"msg":"x","apiKey":"k1","n":1}`:            `{"msg":"x","apiKey":"(redacted)","n":1}`,
		"db_password = hunter2; port=1":              "db_password = (redacted); port=1",
		"jwt eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl": "jwt (redacted)",
		"release 7 failed: 5xx above 1%":             "release 7 failed: 5xx above 1%",
		`password: "correct horse", port: 1`:         `password: "(redacted)", port: 1`,
		`password='a,b;c&d' port=1`:                  `password='(redacted)' port=1`,
		`"token": "a \"quoted\" horse", "n": 1`:      `"token": "(redacted)", "n": 1`,
		`{"msg":"\"secret\":\"correct horse\",1"}`:   `{"msg":"\"secret\":\"(redacted)\",1"}`,
		"token: \"cut off\nnext line \"a\"":          "token: \"(redacted)\nnext line \"a\"",
		"push --api-key s3cr3t --port 1":             "push --api-key (redacted) --port 1",
		`push --api-key "correct horse" --port 1`:    `push --api-key "(redacted)" --port 1`,
		"push --token-refresh --port 1":              "push --token-refresh --port 1",
		"the x-token is invalid":                     "the x-token is invalid",
		`["--token","abc","--port","1"]`:             `["--token","(redacted)","--port","1"]`,
		`{"args":"[\"--token\", \"abc\"]"}`:          `{"args":"[\"--token\", \"(redacted)\"]"}`,
		"curl -u admin:s3cr3t http://shop":           "curl -u (redacted) http://shop",
		`curl --user="admin:s3c r3t" http://shop`:    `curl --user="(redacted)" http://shop`,
		`["curl","-u","admin:s3cr3t","http://shop"]`: `["curl","-u","(redacted)","http://shop"]`,
		"Authorization: ApiKey s3cr3t, next":         "Authorization: (redacted), next",
		`curl -H "authorization: s3cr3t"`:            `curl -H "authorization: (redacted)"`,
		`{"Authorization":["ApiKey s3cr3t"]}`:        `{"Authorization":["(redacted)"]}`,
		// Quotes, backslashes and brackets in a value.
		`{"msg":"\"password\":\"it's me\",1"}`:                            `{"msg":"\"password\":\"(redacted)\",1"}`,
		`{"msg":"\"password\":\"a\\\\b \\\"c\\\" d\",\"n\":1"}`:           `{"msg":"\"password\":\"(redacted)\",\"n\":1"}`,
		`{"msg":"password: \"two\nlines\", 1"}`:                           `{"msg":"password: \"(redacted)\", 1"}`,
		`{"a":"{\"b\":\"{\\\"token\\\":\\\"it's me\\\",\\\"n\\\":1}\"}"}`: `{"a":"{\"b\":\"{\\\"token\\\":\\\"(redacted)\\\",\\\"n\\\":1}\"}"}`,
		`{'password': 'it\'s me', 'n': 1}`:                                `{'password': '(redacted)', 'n': 1}`,
		`password: 'say "hi" now', n: 1`:                                  `password: '(redacted)', n: 1`,
		`push --token "it's me" --port 1`:                                 `push --token "(redacted)" --port 1`,
		`curl --user "admin:it's me" http://shop`:                         `curl --user "(redacted)" http://shop`,
		`sudo -u "bob" id`:                                                `sudo -u "bob" id`,
		`{"tokens": ["k1","k2"], "n": 1}`:                                 `{"tokens": [(redacted)], "n": 1}`,
		`{"tokens": ["k]1", "k2"], "n": 1}`:                               `{"tokens": [(redacted)], "n": 1}`,
		`{"msg":"\"tokens\":[\"k]1\",\"k2\"],1"}`:                         `{"msg":"\"tokens\":[(redacted)],1"}`,
		"tokens: [k1, k2]; port: 1":                                       "tokens: [(redacted)]; port: 1",
		"\"tokens\": [\n  \"k1\",\n  \"k2\"\n], \"n\": 1":                 "\"tokens\": [\n  (redacted)\n], \"n\": 1",
		"tokens: [\"cut off\nnext line":                                   "tokens: [(redacted)\nnext line",
	} {
		NewWithT(t).Expect(view.NewRedactor().Text(text)).To(Equal(wanted))
	}
}

func TestReportHasMetadataOfWorkloadsAlone(t *testing.T) {
	NewWithT(t).Expect(view.NewRedactor().Workload(map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "spec": map[string]any{"x": "s3cret"},
		"metadata": map[string]any{
			"namespace": "shop", "name": "web", "labels": map[string]any{"team": "s3cret", "altershield.defense.antgroup.com/suspend": "1"}, "annotations": map[string]any{"x": "s3cret"},
		},
	})).To(Equal(map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{
		"namespace": "shop", "name": "web", "labels": map[string]any{"altershield.defense.antgroup.com/suspend": "1"},
	}}))
}

func TestReportHasEventsOfTheOperator(t *testing.T) {
	g := NewWithT(t)
	g.Expect(view.OfOperator(map[string]any{"reportingComponent": "altershield-operator"})).To(BeTrue())
	g.Expect(view.OfOperator(map[string]any{"source": map[string]any{"component": "altershield-operator"}})).To(BeTrue())
	g.Expect(view.OfOperator(map[string]any{"involvedObject": map[string]any{"apiVersion": "app.ops.cloud.alipay.com/v1alpha1"}})).To(BeTrue())
	g.Expect(view.OfOperator(map[string]any{"source": map[string]any{"component": "kubelet"}})).To(BeFalse())
}

func TestReportHasTheKindsOfTheRecords(t *testing.T) {
	clone := record(1, "a1", func(record *appv1alpha1.ChangeWorkload) {
		record.Spec.WorkloadRef = &appv1alpha1.WorkloadReference{APIVersion: "apps.kruise.io/v1alpha1", Kind: "CloneSet", Name: "web"}
	})
	proxy := record(1, "d1", of("shop", "Proxy", "web"))
	proxy.Labels = map[string]string{"altershield.defense.antgroup.com/workload": "proxies.web"}
	kinds := view.WorkloadKinds([]appv1alpha1.ChangeWorkload{record(1, "a1"), clone, clone, proxy})
	g := NewWithT(t)
	g.Expect(kinds).To(HaveLen(7))
	g.Expect(kinds[0].Resource).To(Equal("deployments"))
	g.Expect(kinds[5].WorkloadReference).To(Equal(appv1alpha1.WorkloadReference{APIVersion: "apps.kruise.io/v1alpha1", Kind: "CloneSet"}))
	g.Expect(kinds[6].Kind+" "+kinds[6].Resource).To(Equal("Proxy proxies"), "no guess")
}
