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
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	ctrlyaml "sigs.k8s.io/yaml"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// A judge defaults and validates objects of a CustomResourceDefinition as the API server does.
type judge struct {
	schema *schema.Structural
	types  validation.SchemaValidator
	rules  *cel.Validator
}

func judgeOf(t *testing.T, crd string) judge {
	t.Helper()
	g := NewWithT(t)
	text, err := os.ReadFile(filepath.Join(sources, "crd", "bases", crd))
	g.Expect(err).NotTo(HaveOccurred())
	var definition apiextensionsv1.CustomResourceDefinition
	g.Expect(ctrlyaml.UnmarshalStrict(text, &definition)).To(Succeed())
	var internal apiextensions.CustomResourceValidation
	g.Expect(apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(definition.Spec.Versions[0].Schema, &internal, nil)).To(Succeed())
	structural, err := schema.NewStructural(internal.OpenAPIV3Schema)
	g.Expect(err).NotTo(HaveOccurred())
	problems, err := defaulting.ValidateDefaults(t.Context(), field.NewPath("schema"), structural, true, true)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(problems.ToAggregate()).To(Succeed())
	types, _, err := validation.NewSchemaValidator(internal.OpenAPIV3Schema)
	g.Expect(err).NotTo(HaveOccurred())
	return judge{structural, types, cel.NewValidator(structural, true, celconfig.PerCallLimit)}
}

// apply returns an object with its defaults, and the message of the API server if it is refused.
func (j judge) apply(t *testing.T, text string) (object map[string]any, message string) {
	t.Helper()
	object = parsed(t, text)
	defaulting.Default(object, j.schema)
	return object, j.judge(t, object, nil)
}

// update returns the message of the API server if it refuses to change an object.
func (j judge) update(t *testing.T, before, after string) string {
	t.Helper()
	return j.judge(t, parsed(t, after), parsed(t, before))
}

// parsed returns an object whose integers are none of other types, as the API server decodes it.
func parsed(t *testing.T, text string) (object map[string]any) {
	t.Helper()
	encoded, err := ctrlyaml.YAMLToJSON([]byte(text))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Expect(json.Unmarshal(encoded, &object)).To(Succeed())
	return object
}

func (j judge) judge(t *testing.T, object, old map[string]any) string {
	t.Helper()
	problems := validation.ValidateCustomResource(nil, object, j.types)
	var before any // no old object is none at all
	if old != nil {
		before = old
	}
	broken, _ := j.rules.Validate(t.Context(), nil, j.schema, object, before, celconfig.RuntimeCELCostBudget)
	if err := append(problems, broken...).ToAggregate(); err != nil {
		return err.Error()
	}
	return ""
}

func TestVerificationSourcesHaveDefaults(t *testing.T) {
	g := NewWithT(t)
	object, message := judgeOf(t, "app.ops.cloud.alipay.com_verificationsources.yaml").apply(t, `spec: {type: Prometheus, url: "http://prometheus:9090", prometheus: {}}`)
	g.Expect(message).To(BeEmpty())
	g.Expect(object["spec"]).To(Equal(map[string]any{
		"type": "Prometheus", "url": "http://prometheus:9090", "auth": map[string]any{"type": "None"},
		"limits": map[string]any{
			"queriesPerSecond": int64(10), "burst": int64(20), "concurrent": int64(4), "timeoutSeconds": int64(5), "maxBytes": int64(8388608), "maxSeries": int64(5000),
		},
		"prometheus": map[string]any{"labels": map[string]any{"pod": "pod", "namespace": "namespace"}},
	}))
}

func TestVerificationSourcesAreRefused(t *testing.T) {
	judge := judgeOf(t, "app.ops.cloud.alipay.com_verificationsources.yaml")
	const address = "url is http or https, with a host, and without user info, query and fragment: credentials belong into auth"
	for name, row := range map[string]struct{ spec, message string }{
		"with nothing special":           {`{type: Prometheus, url: "https://mimir.example.com/prometheus", headers: [{name: X-Scope-OrgID, value: a}]}`, ""},
		"with an IPv6 address":           {`{type: Prometheus, url: "http://[fd00::1]:9090"}`, ""},
		"with credentials":               {`{type: Prometheus, url: "https://a", auth: {type: Basic, secretRef: {name: a}}, tls: {caSecretRef: {name: b}, serverName: c}}`, ""},
		"of HoloInsight":                 {`{type: HoloInsight, url: "https://a", auth: {type: AccessKey, secretRef: {name: a}}, prometheus: {enforceNamespace: true}}`, ""},
		"of another type":                {`{type: Graphite, url: "http://a"}`, `spec.type: Unsupported value: "Graphite": supported values: "Prometheus", "HoloInsight", "HTTP"`},
		"of no type":                     {`{url: "http://a"}`, "spec.type: Required value"},
		"with another scheme":            {`{type: Prometheus, url: "file:///etc/passwd"}`, address},
		"without a scheme":               {`{type: Prometheus, url: "prometheus:9090"}`, address},
		"without a host":                 {`{type: Prometheus, url: "http:///a"}`, address},
		"with user info":                 {`{type: Prometheus, url: "http://a:b@c"}`, address},
		"with a query":                   {`{type: Prometheus, url: "http://a/?b=c"}`, address},
		"with a fragment":                {`{type: Prometheus, url: "http://a/#b"}`, address},
		"with a line break":              {`{type: Prometheus, url: "http://a/\nb"}`, address},
		"with tls over http":             {`{type: Prometheus, url: "http://a", tls: {serverName: b}}`, "tls is for https only"},
		"with two authorities":           {`{type: Prometheus, url: "https://a", tls: {caBundle: b, caSecretRef: {name: c}}}`, "caBundle and caSecretRef exclude each other"},
		"with no Secret":                 {`{type: Prometheus, url: "https://a", auth: {type: BearerToken}}`, "spec.auth: Invalid value: secretRef is required for the types BearerToken, Basic, AccessKey and OAuth2, and not allowed for None"},
		"with a useless Secret":          {`{type: Prometheus, url: "https://a", auth: {secretRef: {name: b}}}`, "spec.auth: Invalid value: secretRef is required for the types BearerToken, Basic, AccessKey and OAuth2, and not allowed for None"},
		"with no access key":             {`{type: HoloInsight, url: "https://a", auth: {type: Basic, secretRef: {name: b}}}`, "auth.type AccessKey is for type HoloInsight only, which needs it"},
		"with an access key":             {`{type: Prometheus, url: "https://a", auth: {type: AccessKey, secretRef: {name: b}}}`, "auth.type AccessKey is for type HoloInsight only, which needs it"},
		"with labels of none":            {`{type: HTTP, url: "https://a", prometheus: {}}`, "prometheus is for the types Prometheus and HoloInsight only"},
		"with a password":                {`{type: Prometheus, url: "https://a", headers: [{name: authorization, value: b}]}`, "a header is none of HTTP itself and none of credentials, which belong into auth"},
		"with tokens":                    {`{type: HTTP, url: "https://a", auth: {type: OAuth2, secretRef: {name: a}, oauth2: {tokenURL: "https://b/token", scopes: [read, "https://c/.default"], audience: d, tls: {caSecretRef: {name: e}}}}}`, ""},
		"with a certificate":             {`{type: Prometheus, url: "https://a", tls: {clientCertSecretRef: {name: a}}}`, ""},
		"with a certificate over http":   {`{type: Prometheus, url: "http://a", tls: {clientCertSecretRef: {name: a}}}`, "tls is for https only"},
		"with no token endpoint":         {`{type: Prometheus, url: "https://a", auth: {type: OAuth2, secretRef: {name: b}}}`, "spec.auth: Invalid value: oauth2 is required for the type OAuth2, and not allowed for others"},
		"with a useless token endpoint":  {`{type: Prometheus, url: "https://a", auth: {type: Basic, secretRef: {name: b}, oauth2: {tokenURL: "https://b"}}}`, "spec.auth: Invalid value: oauth2 is required for the type OAuth2, and not allowed for others"},
		"with no client":                 {`{type: Prometheus, url: "https://a", auth: {type: OAuth2, oauth2: {tokenURL: "https://b"}}}`, "spec.auth: Invalid value: secretRef is required for the types BearerToken, Basic, AccessKey and OAuth2, and not allowed for None"},
		"with tokens over http":          {`{type: Prometheus, url: "https://a", auth: {type: OAuth2, secretRef: {name: b}, oauth2: {tokenURL: "http://b"}}}`, "spec.auth.oauth2.tokenURL: Invalid value: \"http://b\": tokenURL is https, with a host, and without user info, query and fragment"},
		"with two scopes in one":         {`{type: Prometheus, url: "https://a", auth: {type: OAuth2, secretRef: {name: b}, oauth2: {tokenURL: "https://b", scopes: [c d]}}}`, "spec.auth.oauth2.scopes[0] in body should match"},
		"with two authorities of tokens": {`{type: Prometheus, url: "https://a", auth: {type: OAuth2, secretRef: {name: b}, oauth2: {tokenURL: "https://b", tls: {caBundle: c, caSecretRef: {name: d}}}}}`, "spec.auth.oauth2.tls: Invalid value: caBundle and caSecretRef exclude each other"},
		"with tokens for HoloInsight":    {`{type: HoloInsight, url: "https://a", auth: {type: OAuth2, secretRef: {name: b}, oauth2: {tokenURL: "https://b"}}}`, "auth.type AccessKey is for type HoloInsight only, which needs it"},
		"with two headers":               {`{type: Prometheus, url: "https://a", headers: [{name: a, value: "b\r\nc: d"}]}`, `spec.headers[0].value in body should match`},
		"with no label":                  {`{type: Prometheus, url: "https://a", prometheus: {labels: {namespace: "a b"}}}`, "spec.prometheus.labels.namespace in body should match"},
		"with endless patience":          {`{type: Prometheus, url: "https://a", limits: {timeoutSeconds: 21}}`, "should be less than or equal to 20"},
		"with unbounded answers":         {`{type: Prometheus, url: "https://a", limits: {maxSeries: 0}}`, "should be greater than or equal to 1"},
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

func TestVerificationSourcesOfTheSamplesAreTaken(t *testing.T) {
	g := NewWithT(t)
	for _, sample := range []string{"source.yaml", "holoinsight.yaml"} {
		text, err := os.ReadFile(filepath.Join(sources, "samples", "verification", sample))
		g.Expect(err).NotTo(HaveOccurred())
		var source appv1alpha1.VerificationSource
		g.Expect(ctrlyaml.UnmarshalStrict(text, &source)).To(Succeed())
		_, message := judgeOf(t, "app.ops.cloud.alipay.com_verificationsources.yaml").apply(t, string(text))
		g.Expect(message).To(BeEmpty(), sample)
	}
}
