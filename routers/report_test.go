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

package routers

import (
	"context"
	"encoding/pem"
	"errors"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// drift is the place for a verdict, which alice may report.
func drift() client.Object {
	return &appv1alpha1.ChangeVerdict{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "drift", UID: "v-1"}}
}

// patching is the API server of reviews, which answers patches.
func patching(answer func(patch string) error) interceptor.Funcs {
	funcs := (&reviews{}).funcs()
	funcs.SubResourcePatch = func(ctx context.Context, kube client.Client, part string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
		data, err := patch.Data(object)
		if err != nil {
			return err
		}
		if err := answer(string(data)); err != nil {
			return err
		}
		return kube.SubResource(part).Patch(ctx, object, patch, options...)
	}
	return funcs
}

func TestReportsAVerdictWithTheTokenOfTheCaller(t *testing.T) {
	for name, row := range map[string]struct{ body, patch string }{
		"a pass": {`{"verdict":"Pass","details":{"psi":"0.1"}}`, `{"status":{"verdict":"Pass"}}`},
		"a fail": {`{"uid":"v-1","verdict":"Fail","reason":"Drift","message":"psi 0.31","pods":[{"name":"web-1","message":"psi 0.4"}],"reporter":"mallory"}`,
			`{"metadata":{"uid":"v-1"},"status":{"verdict":"Fail","reason":"Drift","message":"psi 0.31","pods":[{"name":"web-1","message":"psi 0.4"}]}}`},
	} {
		t.Run(name, func(t *testing.T) {
			g, patched := NewWithT(t), ""
			b := newBench(t, patching(func(patch string) error { patched = patch; return nil }), drift())
			request := httptest.NewRequestWithContext(t.Context(), "POST", "/openapi/verification/verdicts/default/drift", strings.NewReader(row.body))
			request.Header.Set("Authorization", "Bearer of-alice")
			answer := b.serveHTTP(request)
			g.Expect(answer.Code).To(Equal(200), answer.Body.String())
			g.Expect(answer.Body.String()).To(MatchJSON(`{"success":true,"retry":false,"msg":"the verdict is in ChangeVerdict default/drift"}`))
			g.Expect(patched).To(MatchJSON(row.patch))
			g.Expect(b.token).To(Equal("of-alice"), "not with the rights of the operator")
		})
	}
}

func TestReportsNoVerdict(t *testing.T) {
	const path, pass = "/openapi/verification/verdicts/default/drift", `{"verdict":"Pass"}`
	verdicts := schema.GroupResource{Group: "app.ops.cloud.alipay.com", Resource: "changeverdicts"}
	for name, row := range map[string]struct {
		path, token, body string
		failure           error
		code              int
		message           string
	}{
		"without a token":       {path, "", pass, nil, 401, "the header Authorization must hold a bearer token of the cluster"},
		"with an unknown token": {path, "Bearer of-mallory", pass, nil, 401, "the cluster doesn't accept the bearer token"},
		"of a user without the right": {"/openapi/verification/verdicts/default/other", "Bearer of-alice", pass, nil, 403,
			`user \"alice\" cannot patch resource \"changeverdicts/status\" named \"other\" in API group \"app.ops.cloud.alipay.com\" in the namespace \"default\"`},
		"without a name":   {"/openapi/verification/verdicts/default", "Bearer of-alice", pass, nil, 400, "the path must end with <namespace>/<name> of a ChangeVerdict"},
		"of a longer path": {"/openapi/verification/verdicts/default/drift/status", "Bearer of-alice", pass, nil, 400, "the path must end with <namespace>/<name> of a ChangeVerdict"},
		"that is no JSON":  {path, "Bearer of-alice", `verdict=Pass`, nil, 400, "the verdict is malformed: it must be a JSON object with verdict, reason, message and pods"},
		"with more":        {path, "Bearer of-alice", pass + pass, nil, 400, "the verdict is malformed: unexpected data after the JSON object"},
		"of another kind":  {path, "Bearer of-alice", `{"verdict":"Skipped"}`, nil, 400, `the verdict is \"Skipped\": it must be Pass, Fail or Inconclusive`},
		"of 65 KiB":        {path, "Bearer of-alice", `{"verdict":"Pass","message":"` + strings.Repeat("x", 65<<10) + `"}`, nil, 413, "the verdict is larger than 64 KiB"},
		"on what is gone":  {path, "Bearer of-alice", pass, apierrors.NewNotFound(verdicts, "drift"), 404, `changeverdicts.app.ops.cloud.alipay.com \"drift\" not found`},
		"on a successor": {path, "Bearer of-alice", pass, apierrors.NewConflict(verdicts, "drift", errors.New("UID mismatch")), 409,
			`Operation cannot be fulfilled on changeverdicts.app.ops.cloud.alipay.com \"drift\": UID mismatch`},
		"while the API server is away": {path, "Bearer of-alice", pass, errors.New("no endpoints"), 500,
			"the verdict may not be in ChangeVerdict default/drift: report it again, which changes nothing if it is; the operator's log has the error"},
		"while the API server fails": {path, "Bearer of-alice", pass, apierrors.NewInternalError(errors.New("etcd")), 500,
			"the verdict may not be in ChangeVerdict default/drift: report it again, which changes nothing if it is; the operator's log has the error"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			b := newBench(t, patching(func(string) error { return row.failure }), drift())
			request := httptest.NewRequestWithContext(t.Context(), "POST", row.path, strings.NewReader(row.body))
			request.Header.Set("Authorization", row.token)
			answer := b.serveHTTP(request)
			g.Expect(answer.Code).To(Equal(row.code), answer.Body.String())
			g.Expect(answer.Body.String()).To(beFailure(strings.ReplaceAll(strings.ReplaceAll(row.message, "<", `\u003c`), ">", `\u003e`)))
			g.Expect(string(b.log.Contents())).NotTo(ContainSubstring("of-"))
		})
	}
}

func TestReportsNothingUnlessTheFlagIsSet(t *testing.T) {
	g, b := NewWithT(t), newBench(t, interceptor.Funcs{})
	options := b.options
	options.As, options.Metrics = nil, prometheus.NewRegistry()
	off, err := New(options)
	g.Expect(err).NotTo(HaveOccurred())
	answer := httptest.NewRecorder()
	off.handler.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), "POST", "/openapi/verification/verdicts/default/drift", nil))
	g.Expect(answer.Code).To(Equal(404))
}

// The commands of docs/plugins.md, with stubs of what surrounds them.
func TestReportsByTheDocumentedCommand(t *testing.T) {
	g, patched := NewWithT(t), ""
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("there is no curl")
	}
	b := newBench(t, patching(func(patch string) error { patched = patch; return nil }), drift())
	server := httptest.NewTLSServer(b.handler)
	t.Cleanup(server.Close)
	dir := t.TempDir()
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	g.Expect(os.WriteFile(filepath.Join(dir, "ca.crt"), authority, 0o600)).To(Succeed())
	page, err := os.ReadFile("../docs/plugins.md")
	g.Expect(err).NotTo(HaveOccurred())
	_, command, found := strings.Cut(string(page), "```sh\ncurl ")
	g.Expect(found).To(BeTrue())
	command, _, _ = strings.Cut(command, "```")
	script := "kubectl() { echo of-alice; }; verdict=changeverdict.app.ops.cloud.alipay.com/drift; curl -sS " + strings.Replace(command, "https://127.0.0.1:8080", server.URL, 1)
	shell := exec.CommandContext(t.Context(), "bash", "-c", script)
	shell.Dir = dir
	output, err := shell.CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), string(output))
	g.Expect(output).To(MatchJSON(`{"success":true,"retry":false,"msg":"the verdict is in ChangeVerdict default/drift"}`))
	g.Expect(patched).To(MatchJSON(`{"status":{"verdict":"Fail","reason":"Drift","message":"psi 0.31"}}`))
}
