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

package webhooks

import (
	"context"
	"errors"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	kind "github.com/traas-stack/altershield-operator/controllers/workload/deployment"
)

func mutate(t testing.TB, request admission.Request) admission.Response {
	t.Helper()
	return defaulterOf(t, readerOf(t, interceptor.Funcs{})).Handle(t.Context(), request)
}

func defaulterOf(t testing.TB, reader client.Reader) *defaulter {
	t.Helper()
	accounts := accountsOf(t, reader)
	return &defaulter{kind: kind.Kind{}, operator: operator, clock: accounts.clock, accounts: accounts, past: pastOf(reader, accounts), freezes: freezesOf(t, accounts, kind.Kind{}),
		paces: pacesOf(t, pastOf(reader, accounts), kind.Kind{})}
}

func TestDeploymentDefaulterPatchesReleasesAndNothingElse(t *testing.T) {
	const (
		labelVersion    = " /metadata/labels/admission-webhook-altershield.antgroup.com~1version"
		templateVersion = " /spec/template/metadata/labels/admission-webhook-altershield.antgroup.com~1version"
		releaseNumber   = " /metadata/annotations/altershield.defense.antgroup.com~1release"
		defenseStatus   = " /metadata/labels/altershield.defense.antgroup.com~1defense-status"
		suspendLabel    = " /metadata/labels/altershield.defense.antgroup.com~1suspend"
		ignoredSuspend  = " /metadata/labels/altershield.defense.antgroup.com~1ignored-suspend"
		ignoredBy       = " /metadata/annotations/altershield.defense.antgroup.com~1ignored-suspend-by"
		releasedBy      = " /metadata/annotations/altershield.defense.antgroup.com~1released-by"
		rollbackBy      = " /metadata/annotations/altershield.defense.antgroup.com~1rollback-by"
		rollbackAsked   = " /metadata/annotations/altershield.defense.antgroup.com~1rollback"
	)
	const (
		first = `{"user":"alice","time":"2026-11-21T10:00:00Z","version":"c6c45d23c098bdf181853a85b60b5d74","release":1}`
		next  = `{"user":"alice","time":"2026-11-21T10:00:00Z","version":"6a8ff823a5011291b0f02a1d83c2222d","release":5,"changes":["metadata.labels[test]: 123 -> 1234"]}`
	)
	nextByLabel := strings.TrimSuffix(next, "}") + `,"ended":{"ignoredSuspend":true}}`
	type values = map[string]string
	release := all(stamped(versionOf123, "4"), processed)
	for _, row := range []struct {
		name         string
		old, updated edit // old is nil for a creation
		patch        map[string]any
	}{
		{"a creation is stamped", nil, all(), map[string]any{
			"add" + labelVersion: versionOf123, "add" + templateVersion: versionOf123,
			"add /metadata/annotations": values{"altershield.defense.antgroup.com/release": "1", "altershield.defense.antgroup.com/released-by": first}}},
		{"a creation without labels is stamped", nil, without("labels", "metadata"), map[string]any{
			"add /metadata/labels":      values{"admission-webhook-altershield.antgroup.com/version": versionOf123},
			"add" + templateVersion:     versionOf123,
			"add /metadata/annotations": values{"altershield.defense.antgroup.com/release": "1", "altershield.defense.antgroup.com/released-by": first}}},
		{"a creation with annotations keeps them", nil, annotation("note", "b"), map[string]any{
			"add" + labelVersion: versionOf123, "add" + templateVersion: versionOf123, "add" + releaseNumber: "1", "add" + releasedBy: first}},
		{"a creation asks for no rollback", nil, asking("true"), map[string]any{
			"add" + labelVersion: versionOf123, "add" + templateVersion: versionOf123, "add" + releaseNumber: "1", "add" + releasedBy: first,
			"remove" + rollbackAsked: nil}},
		{"an update that changes nothing is left alone", release, release, map[string]any{}},
		{"an update of the replicas is left alone", release, all(release, field(7, "replicas", "spec")), map[string]any{}},
		{"an update of an unstamped one is left alone", all(), label("team", "a"), map[string]any{}},
		{"a release is stamped", release, all(release, repaired), map[string]any{
			"add" + labelVersion: versionOf1234, "add" + templateVersion: versionOf1234,
			"add" + releaseNumber: "5", "add" + releasedBy: next, "remove" + defenseStatus: nil}},
		{"a repair of a suspended one is recorded and its label consumed", all(release, suspended), all(release, suspended, repaired, ignoring),
			map[string]any{
				"add" + labelVersion: versionOf1234, "add" + templateVersion: versionOf1234,
				"add" + releaseNumber: "5", "add" + releasedBy: nextByLabel, "remove" + defenseStatus: nil, "remove" + ignoredSuspend: nil,
				"add" + ignoredBy: `{"user":"alice","time":"2026-11-21T10:00:00.000000Z","version":"6a8ff823a5011291b0f02a1d83c2222d","release":5}`}},
		{"a request for a rollback is noted", release, all(release, asking("true")), map[string]any{"add" + rollbackBy: "alice"}},
		{"a withdrawn request for a rollback loses its author", all(release, asking("true"), askedBy("bob")), all(release, askedBy("bob")),
			map[string]any{"remove" + rollbackBy: nil}},
		{"a suspension that is taken away by hand is put back", all(release, suspended), release, map[string]any{
			"add" + suspendLabel: "1795255000"}},
		{"a suspension that is set by hand is removed", release, all(release, suspended), map[string]any{
			"remove" + suspendLabel: nil}},
		{"a creation by another controller is left alone", nil, owned, map[string]any{}},
		{"a creation by another controller loses the operator's keys, but for the version of what it is a part of", nil,
			all(owned, release, suspended), map[string]any{
				"remove" + releaseNumber: nil, "remove" + defenseStatus: nil, "remove" + suspendLabel: nil}},
		{"a creation by another controller loses a version that its template hasn't", nil, all(owned, label("admission-webhook-altershield.antgroup.com/version", "v1")),
			map[string]any{"remove" + labelVersion: nil}},
		{"a release of another controller that copies the version of what it is a part of is left alone",
			all(owned, stamped(versionOf123, "4"), without("annotations", "metadata")), all(owned, stamped(versionOf1234, "5"), without("annotations", "metadata"), repaired),
			map[string]any{}},
		{"a creation with an owner that is no controller is stamped", nil, all(owned, func(deployment object) {
			at(deployment, "metadata")["ownerReferences"].([]any)[0].(object)["controller"] = false
		}), map[string]any{
			"add" + labelVersion: versionOf123, "add" + templateVersion: versionOf123,
			"add /metadata/annotations": values{"altershield.defense.antgroup.com/release": "1", "altershield.defense.antgroup.com/released-by": first}}},
		{"a release of another controller is left alone", owned, all(owned, repaired), map[string]any{}},
		{"a release of another controller is stamped where it was under change control before", all(owned, release), all(owned, release, repaired),
			map[string]any{
				"add" + labelVersion: versionOf1234, "add" + templateVersion: versionOf1234,
				"add" + releaseNumber: "5", "add" + releasedBy: next, "remove" + defenseStatus: nil}},
		{"a template whose version label is left out gets it back", release, all(release,
			without("admission-webhook-altershield.antgroup.com/version", "spec", "template", "metadata", "labels")), map[string]any{
			"add" + templateVersion: versionOf123}},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			var old object
			if row.old != nil {
				old = deployment(t, row.old)
			}
			request := requestOf(t, old, deployment(t, row.updated))
			response := mutate(t, request)
			g.Expect(response.Allowed).To(BeTrue())
			g.Expect(operations(response.Patches)).To(Equal(row.patch))

			request.DryRun = ptr.To(true)
			g.Expect(mutate(t, request)).To(Equal(response), "a dry run shows the same")
		})
	}
}

func TestDeploymentDefaulterLetsTheOperatorWriteItsOwnKeys(t *testing.T) {
	g := NewWithT(t)
	release := stamped(versionOf123, "4")
	marking := requestOf(t, deployment(t, release), deployment(t, all(release, processed, suspended)))
	marking.UserInfo.Username = operator
	g.Expect(operations(mutate(t, marking).Patches)).To(BeEmpty())
	consuming := requestOf(t, deployment(t, release, asking("true"), askedBy("alice")), deployment(t, release))
	consuming.UserInfo.Username = operator
	g.Expect(operations(mutate(t, consuming).Patches)).To(BeEmpty())
	releasing := requestOf(t, deployment(t, release), deployment(t, all(release, repaired)))
	releasing.UserInfo.Username = operator
	g.Expect(operations(mutate(t, releasing).Patches)).To(HaveKeyWithValue(
		"add /metadata/labels/admission-webhook-altershield.antgroup.com~1version", "6a8ff823a5011291b0f02a1d83c2222d"))
}

func TestDeploymentDefaulterKeepsTheLargestNumberOfATemplate(t *testing.T) {
	g := NewWithT(t)
	patient := func(seconds int64) edit {
		return field(seconds, "terminationGracePeriodSeconds", "spec", "template", "spec")
	}
	release := stamped(versionOf123, "4")
	response := mutate(t, requestOf(t, nil, deployment(t, patient(9223372036854775807))))
	g.Expect(response.Allowed).To(BeTrue())
	changed := mutate(t, requestOf(t, deployment(t, release, patient(9007199254740993)), deployment(t, release, patient(9007199254740992))))
	g.Expect(changed.Patches).NotTo(BeEmpty(), "numbers that floating point can't tell apart are two templates")
}

func TestDeploymentDefaulterLeavesOtherOperationsAlone(t *testing.T) {
	g := NewWithT(t)
	request := requestOf(t, deployment(t), deployment(t, repaired))
	request.Operation = "CONNECT"
	response := mutate(t, request)
	g.Expect(response.Allowed).To(BeTrue())
	g.Expect(response.Patches).To(BeEmpty())
}

func TestDeploymentDefaulterRefusesWhatItCanNotRead(t *testing.T) {
	broken := runtime.RawExtension{Raw: []byte(`{"metadata":`)}
	for _, row := range []struct {
		name    string
		request func() admission.Request
		code    int32
		message string
	}{
		{"malformed JSON", func() admission.Request {
			request := requestOf(t, nil, deployment(t))
			request.Object = broken
			return request
		}, 400, "decoding the object of the admission review"},
		{"malformed JSON of the old object", func() admission.Request {
			request := requestOf(t, deployment(t), deployment(t))
			request.OldObject = broken
			return request
		}, 400, "decoding the object of the admission review"},
		{"an old object that is missing", func() admission.Request {
			request := requestOf(t, deployment(t), deployment(t))
			request.OldObject = runtime.RawExtension{}
			return request
		}, 400, "decoding the object of the admission review"},
		{"a list", func() admission.Request {
			request := requestOf(t, nil, deployment(t))
			request.Object = runtime.RawExtension{Raw: []byte(`[]`)}
			return request
		}, 400, "decoding the object of the admission review"},
		{"a template that has no version", func() admission.Request {
			return requestOf(t, nil, deployment(t, field("many", "terminationGracePeriodSeconds", "spec", "template", "spec")))
		}, 422, "deployment sleep: its release version can't be computed: spec.template.spec.terminationGracePeriodSeconds: the value must not be a string"},
		{"a template that has no version, of a workload that gets its name later", func() admission.Request {
			request := requestOf(t, nil, deployment(t, without("name", "metadata"), field("sleep-", "generateName", "metadata"),
				field("many", "terminationGracePeriodSeconds", "spec", "template", "spec")))
			request.Name = ""
			return request
		}, 422, "deployment sleep-: its release version can't be computed: spec.template.spec.terminationGracePeriodSeconds: the value must not be a string"},
		{"an update to a template that has no version", func() admission.Request {
			return requestOf(t, deployment(t), deployment(t, field("many", "terminationGracePeriodSeconds", "spec", "template", "spec")))
		}, 422, "deployment sleep: its release version can't be computed: spec.template.spec.terminationGracePeriodSeconds: the value must not be a string"},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			response := mutate(t, row.request())
			g.Expect(response.Allowed).To(BeFalse())
			g.Expect(response.Result.Code).To(Equal(row.code))
			g.Expect(response.Result.Message).To(HavePrefix(row.message))
			g.Expect(response.Patches).To(BeEmpty())
		})
	}
}

func TestDeploymentDefaulterPanicsAtNothing(t *testing.T) {
	for _, given := range []string{
		`{}`, `null`, `{"metadata":null,"spec":null}`, `{"spec":{"template":null}}`, `{"spec":{"template":{"metadata":null,"spec":null}}}`,
		`{"metadata":{"labels":null,"annotations":null},"spec":{"template":{"metadata":{"labels":null}}}}`,
	} {
		t.Run(given, func(t *testing.T) {
			g := NewWithT(t)
			request := requestOf(t, nil, deployment(t))
			request.Object.Raw = []byte(given)
			g.Expect(mutate(t, request).Allowed).To(BeTrue())
			request = requestOf(t, deployment(t), deployment(t))
			request.OldObject.Raw = []byte(given)
			g.Expect(mutate(t, request).Allowed).To(BeTrue())
			request.Object.Raw = []byte(given)
			g.Expect(mutate(t, request).Allowed).To(BeTrue())
		})
	}
}

func TestDeploymentDefaulterLeavesUnknownFieldsAlone(t *testing.T) {
	g := NewWithT(t)
	given := deployment(t, field(object{"a": 1.5}, "fieldOfTomorrow", "spec"), field("x", "fieldOfTomorrow", "spec", "template", "spec"))
	for _, operation := range mutate(t, requestOf(t, nil, given)).Patches {
		g.Expect(strings.HasPrefix(operation.Path, "/metadata/labels") || strings.HasPrefix(operation.Path, "/metadata/annotations") ||
			strings.HasPrefix(operation.Path, "/spec/template/metadata/labels")).To(BeTrue(), operation.Path)
	}
}

func TestDeploymentDefaulterWarnsOfKeysThatItKeeps(t *testing.T) {
	release := all(stamped(versionOf123, "4"), processed, suspended)
	for _, row := range []struct {
		name         string
		old, updated edit
		warnings     []string
	}{
		{"a label of the operator that is taken away", release, all(stamped(versionOf123, "4"), processed), []string{
			"not changed, since only the operator writes them: altershield.defense.antgroup.com/suspend"}},
		{"an annotation that is forged", release, all(stamped(versionOf123, "9"), processed, suspended), []string{
			"not changed, since only the operator writes them: altershield.defense.antgroup.com/release"}},
		{"other labels", release, all(release, label("team", "a")), nil},
		{"a release, which changes them as a matter of course", release, all(release, repaired), nil},
		{"a record of the release that is forged", release, all(release, releasedBy("bob", versionOf123, "4")), []string{
			"not changed, since only the operator writes them: altershield.defense.antgroup.com/released-by"}},
		{"rollbacks that are taken away", all(release, rolledBack(leaving(versionOf1234, "4", refused))), release, []string{
			"not changed, since only the operator writes them: altershield.defense.antgroup.com/rollbacks"}},
		{"another name on the user's own earlier request", all(release, asking("true"), askedBy("alice")), all(release, asking("true"), askedBy("bob")),
			[]string{"not changed, since only the operator writes them: altershield.defense.antgroup.com/rollback-by"}},
		{"a name without a request", release, all(release, askedBy("bob")), []string{
			"not changed, since only the operator writes them: altershield.defense.antgroup.com/rollback-by"}},
		{"another reason of a request", all(release, asking("true"), askedBy("bob"), rollbackBecause("true INC-99")), all(release, asking("true"), askedBy("bob"), rollbackBecause("true CHG-1")),
			[]string{"not changed, since only the operator writes them: altershield.defense.antgroup.com/rollback-reason"}},
		{"a reason without a request", release, all(release, annotation(goOnReasonKey, "4:2 CHG-1")), []string{
			"not changed, since only the operator writes them: altershield.defense.antgroup.com/go-on-reason"}},
		{"a request for a rollback", release, all(release, asking("true")), nil},
		{"a request for a rollback that has a reason", release, all(release, asking("true"), because("INC-99")), nil},
		{"a request for a rollback that has a reason and is withdrawn", all(release, asking("true"), askedBy("bob"), rollbackBecause("true INC-99")), release, nil},
		{"a request for a rollback that the webhook has noted before it is asked again", release, all(release, asking("true"), askedBy("alice")), nil},
		{"a withdrawn request for a rollback", all(release, asking("true"), askedBy("bob")), all(release, askedBy("bob")), nil},
		{"a withdrawn request for a rollback with its name", all(release, asking("true"), askedBy("bob")), release, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			response := mutate(t, requestOf(t, deployment(t, row.old), deployment(t, row.updated)))
			g.Expect(response.Warnings).To(Equal(row.warnings))
		})
	}
}

func TestDeploymentDefaulterWarnsOfAReleaseAfterOneThatFailedAWarning(t *testing.T) {
	const warns = "the last release of deployment sleep failed check errors of VerificationPolicy shop/web, which only warns: 3.2% on 2 new pods " +
		"(see: kubectl describe changeworkload -n default sleep--x--c6c45d23c098bdf181853a85b60b5d74)"
	release, next := all(stamped(versionOf123, "4"), processed), repaired
	warned := changeWorkload("d-1", versionOf123, "Success", "AllPodsPassed")
	warned.Spec.Release, warned.Status.ObservedRelease = 4, 4
	warned.Status.Checks = []appv1alpha1.CheckResult{{Policy: "shop/web", Name: "errors", Mode: "Warn", Verdict: "Fail", Message: "3.2% on 2 new pods"}}
	live := func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
		return errors.New("read from the API server")
	}
	broken := interceptor.Funcs{List: live}
	for name, row := range map[string]struct {
		updated  edit
		user     string
		cache    interceptor.Funcs
		known    []client.Object
		warnings []string
	}{
		"its author":               {next, "alice", interceptor.Funcs{}, []client.Object{cached(t, release), warned}, []string{warns}},
		"nobody without a release": {field(7, "replicas", "spec"), "alice", interceptor.Funcs{}, []client.Object{cached(t, release), warned}, nil},
		"nobody whose request is a rollback of the operator": {all(next, stamped(versionOf1234, "5"), rolledBack(leaving(versionOf123, "5", refused))), operator, interceptor.Funcs{},
			[]client.Object{cached(t, release), warned}, nil},
		"nobody whom the cache doesn't confirm": {next, "alice", interceptor.Funcs{}, []client.Object{warned}, nil},
		"nobody while the cache fails":          {next, "alice", broken, []client.Object{cached(t, release), warned}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			request := requestOf(t, deployment(t, release), deployment(t, release, row.updated))
			request.UserInfo.Username = row.user
			handler := defaulterOf(t, readerOf(t, row.cache, row.known...))
			handler.past.live = readerOf(t, broken)
			response := handler.Handle(t.Context(), request)
			g.Expect(response.Allowed).To(BeTrue())
			g.Expect(response.Warnings).To(HaveExactElements(row.warnings))
		})
	}
}
