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

package controlledkind

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	review "sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	"sigs.k8s.io/yaml"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
	"github.com/traas-stack/altershield-operator/controllers/workload/declared"
)

// newValidator returns a Validator for an API server with these objects.
func newValidator(t *testing.T, objects ...client.Object) *Validator {
	t.Helper()
	compiler, err := declared.NewCompiler()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return &Validator{Kinds: testkit.Kinds(), Live: testkit.NewFake(t, objects...), Compiler: compiler}
}

// gadgetDefinition returns the CRD of gadgets.
func gadgetDefinition(t *testing.T) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	var crd apiextensionsv1.CustomResourceDefinition
	NewWithT(t).Expect(yaml.Unmarshal([]byte(gadgetCRD), &crd)).To(Succeed())
	return &crd
}

// applied returns the review of a ControlledKind with this spec. Without an old spec, it is created.
func applied(t *testing.T, name, old, spec string) review.Request {
	t.Helper()
	raw := func(spec string) runtime.RawExtension {
		text, err := yaml.YAMLToJSON([]byte("{apiVersion: app.ops.cloud.alipay.com/v1alpha1, kind: ControlledKind, " +
			"metadata: {name: " + name + "}, spec: " + spec + "}"))
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		return runtime.RawExtension{Raw: text}
	}
	request := review.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		Name: name, Operation: admissionv1.Create, Object: raw(spec),
		Kind: metav1.GroupVersionKind{Group: "app.ops.cloud.alipay.com", Version: "v1alpha1", Kind: "ControlledKind"},
	}}
	if old != "" {
		request.Operation, request.OldObject = admissionv1.Update, raw(old)
	}
	return request
}

const badGadgets = `{mode: Enforce, release: {templates: [spec.templates]}}`

func TestValidatorDeniesADeclarationWithThePlaceOfEachProblem(t *testing.T) {
	validator := newValidator(t, gadgetDefinition(t))
	for name, row := range map[string]struct {
		spec   string
		places []string
	}{
		"paths": {`{release: {templates: [spec.templates]}, immutable: [spec.replicas, "spec.nodes[*].name"], counts: {ready: status.}}`,
			[]string{"spec.release.templates[0]", "spec.immutable[1]", "spec.counts.ready"}},
		"expressions": {`{release: {templates: [spec.template], when: "object.spec.replicas +"},
			rules: [{name: fits, operations: [UPDATE], expression: "1", message: m}]}`,
			[]string{"spec.release.when", "spec.rules[0].expression"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			response := validator.Handle(t.Context(), applied(t, gadgets, "", row.spec))
			g.Expect(response.Allowed).To(BeFalse())
			g.Expect(response.Result.Code).To(BeEquivalentTo(http.StatusUnprocessableEntity))
			g.Expect(response.Result.Reason).To(Equal(metav1.StatusReasonInvalid))
			g.Expect(response.Result.Message).To(HavePrefix(`ControlledKind.app.ops.cloud.alipay.com "gadgets.example.com" is invalid: `))
			var places []string
			for _, cause := range response.Result.Details.Causes {
				places = append(places, cause.Field)
			}
			g.Expect(places).To(ConsistOf(row.places))
		})
	}
}

func TestValidatorAdmitsTheSamples(t *testing.T) {
	root := filepath.Join("..", "..")
	for sample, definition := range map[string]string{
		"kubernetescluster": "config/samples/kubernetescluster/crd.yaml",
		"leaderworkerset":   "controllers/workload/declared/testdata/crds/leaderworkersets.yaml",
	} {
		g := NewWithT(t)
		var crd apiextensionsv1.CustomResourceDefinition
		text, err := os.ReadFile(filepath.Join(root, definition))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(yaml.Unmarshal(text, &crd)).To(Succeed())
		crd.Status.Conditions = gadgetDefinition(t).Status.Conditions
		text, err = os.ReadFile(filepath.Join(root, "config", "samples", "kinds", sample+".yaml"))
		g.Expect(err).NotTo(HaveOccurred())
		var object struct {
			Metadata struct{ Name string }
			Spec     json.RawMessage
		}
		g.Expect(yaml.Unmarshal(text, &object)).To(Succeed())
		g.Expect(object.Metadata.Name).To(Equal(crd.Name))
		response := newValidator(t, &crd).Handle(t.Context(), applied(t, crd.Name, "", string(object.Spec)))
		g.Expect(response.Allowed).To(BeTrue(), sample)
		g.Expect(response.Warnings).To(BeEmpty(), sample)
	}
}

func TestValidatorAdmitsUpdatesThatDeclareNothing(t *testing.T) {
	validator := newValidator(t, gadgetDefinition(t))
	for name, row := range map[string]struct {
		old, spec string
		allowed   bool
	}{
		"nothing changes":           {badGadgets, badGadgets, true},
		"its enforcement ends":      {badGadgets, `{mode: Observe, release: {templates: [spec.templates]}}`, true},
		"it is enforced":            {`{mode: Observe, release: {templates: [spec.templates]}}`, badGadgets, false},
		"it gets worse":             {badGadgets, `{mode: Observe, release: {templates: [spec.other]}}`, false},
		"it is repaired":            {badGadgets, enforcedGadgets, true},
		"it is broken":              {enforcedGadgets, badGadgets, false},
		"it ceases to be built in":  {`{builtIn: true}`, badGadgets, false},
		"it is claimed as built in": {enforcedGadgets, `{builtIn: true, mode: Enforce}`, true},
		"it is held by a bad path": {enforcedGadgets,
			`{mode: Enforce, release: {templates: [spec.template]}, hold: [{path: spec.pause, value: true}]}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(validator.Handle(t.Context(), applied(t, gadgets, row.old, row.spec)).Allowed).To(Equal(row.allowed))
		})
	}
}

func TestValidatorKeepsTheFieldsThatHoldRollouts(t *testing.T) {
	const others = `{version: v1, mode: Enforce, release: {templates: [spec.template]}, hold: [{path: spec.replicas, value: 0}]}`
	for name, row := range map[string]struct {
		held   int
		spec   string
		denial string
	}{
		"others while they hold one": {1, others, `spec.hold: Forbidden: the present fields hold rollouts (1), which others could not resume: ` +
			`wait until status.counts.held is 0, or first set nothing but the mode Observe, which resumes them`},
		"others while they hold none":         {0, others, ""},
		"the mode that ends what they do":     {1, strings.Replace(enforcedGadgets, "Enforce", "Observe", 1), ""},
		"another release while they hold one": {1, strings.Replace(enforcedGadgets, "release: {", "release: {fields: [spec.replicas], ", 1), ""},
	} {
		t.Run(name, func(t *testing.T) {
			g, request := NewWithT(t), applied(t, gadgets, enforcedGadgets, row.spec)
			var old appv1alpha1.ControlledKind
			g.Expect(json.Unmarshal(request.OldObject.Raw, &old)).To(Succeed())
			old.Status.Counts.Held = int32(row.held)
			text, err := json.Marshal(old)
			g.Expect(err).NotTo(HaveOccurred())
			request.OldObject.Raw = text
			response := newValidator(t, gadgetDefinition(t)).Handle(t.Context(), request)
			g.Expect(response.Allowed).To(Equal(row.denial == ""))
			if row.denial != "" {
				g.Expect(response.Result.Message).To(ContainSubstring(row.denial))
			}
		})
	}
}

func TestValidatorWarnsOfWhatItCannotCheck(t *testing.T) {
	unestablished, deleted := gadgetDefinition(t), gadgetDefinition(t)
	unestablished.Status.Conditions = nil
	deleted.Finalizers, deleted.DeletionTimestamp = []string{"customresourcecleanup.apiextensions.k8s.io"}, &metav1.Time{Time: testkit.Now()}
	for name, row := range map[string]struct {
		crd  []client.Object
		spec string
		why  string
	}{
		"no CRD": {nil, badGadgets, "there is no CustomResourceDefinition gadgets.example.com: install it"},
		"a CRD that is not established": {[]client.Object{unestablished}, badGadgets,
			"CustomResourceDefinition gadgets.example.com is not established yet"},
		"a CRD that is being deleted": {[]client.Object{deleted}, badGadgets, "CustomResourceDefinition gadgets.example.com is being deleted"},
		"another version": {[]client.Object{gadgetDefinition(t)}, `{version: v2, mode: Enforce}`,
			"CustomResourceDefinition gadgets.example.com: version v2 is not served; served versions: v1"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			response := newValidator(t, row.crd...).Handle(t.Context(), applied(t, gadgets, "", row.spec))
			g.Expect(response.Allowed).To(BeTrue())
			g.Expect(response.Warnings).To(HaveExactElements(
				"ControlledKind gadgets.example.com was admitted unchecked: " + row.why + "; its condition Ready shows the result of the check"))
		})
	}
}

func TestValidatorWarnsIfItCannotReadTheCRD(t *testing.T) {
	g := NewWithT(t)
	validator := newValidator(t)
	validator.Live = interceptor.NewClient(testkit.NewFake(t), interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return errors.New("the API server is busy")
		},
	})
	response := validator.Handle(t.Context(), applied(t, gadgets, "", enforcedGadgets))
	g.Expect(response.Allowed).To(BeTrue())
	g.Expect(response.Warnings).To(HaveExactElements(ContainSubstring("reading CustomResourceDefinition gadgets.example.com: the API server is busy")))
}

func TestValidatorKnowsTheBuiltInKinds(t *testing.T) {
	g := NewWithT(t)
	validator := newValidator(t)
	response := validator.Handle(t.Context(), applied(t, "statefulsets.apps", "", "{builtIn: true, mode: Enforce}"))
	g.Expect(response.Allowed).To(BeTrue())
	g.Expect(response.Warnings).To(BeEmpty())

	for _, old := range []string{"", "{builtIn: true, mode: Enforce}"} {
		response = validator.Handle(t.Context(), applied(t, "statefulsets.apps", old, "{mode: Enforce}"))
		g.Expect(response.Allowed).To(BeFalse())
		g.Expect(response.Result.Message).To(Equal(`ControlledKind.app.ops.cloud.alipay.com "statefulsets.apps" is invalid: ` +
			`spec.builtIn: Invalid value: false: must be true: statefulsets.apps is built into the operator`))
	}

	response = validator.Handle(t.Context(), applied(t, "deployments.example", "", "{builtIn: true, mode: Enforce}"))
	g.Expect(response.Allowed).To(BeTrue(), "while the operator is upgraded, an older replica may answer")
	g.Expect(response.Warnings).To(HaveExactElements("ControlledKind deployments.example has no effect: " +
		"this version of the operator doesn't control this kind: its releases are neither recorded nor checked"))
}

func TestValidatorReportsAReviewThatCannotBeDecoded(t *testing.T) {
	g := NewWithT(t)
	validator := newValidator(t)
	for _, spec := range [][2]string{{"", "7"}, {"7", "{}"}} {
		g.Expect(validator.Handle(t.Context(), applied(t, gadgets, spec[0], spec[1])).Result.Code).To(BeEquivalentTo(http.StatusBadRequest))
	}
}
