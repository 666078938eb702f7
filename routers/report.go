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
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

const (
	// reportsPath is followed by the namespace and the name of a ChangeVerdict.
	reportsPath = "/openapi/verification/verdicts/"
	// maxReportBytes limits the body of a report.
	maxReportBytes = 64 << 10
)

// reports passes verdicts on to the API server for verifiers that reach the operator only.
type reports struct {
	access access
	// as returns a client with the rights of the bearer of a token.
	as func(token string) (client.Client, error)
}

// reported is a verdict, with the fields of the answer of a plug-in.
type reported struct {
	// UID is that of the ChangeVerdict; if empty, any of the name gets the verdict.
	UID     types.UID                   `json:"uid"`
	Verdict appv1alpha1.ReportedVerdict `json:"verdict"`
	Reason  string                      `json:"reason"`
	Message string                      `json:"message"`
	Pods    []appv1alpha1.ReportedPod   `json:"pods"`
}

// refuse rejects requests without a token, or with too large a body.
func (r *reports) refuse(w http.ResponseWriter, request *http.Request) (int, any) {
	if request.ContentLength > maxReportBytes {
		return reportTooLarge().answer(w)
	}
	return r.access.refuse(w, request)
}

func (r *reports) handle(w http.ResponseWriter, request *http.Request, _ func()) (int, any) {
	of, err := verdictIn(request.URL.Path)
	if err == nil {
		err = r.pass(w, request, of)
	}
	var denied *denial
	switch {
	case errors.As(err, &denied):
		return denied.answer(w)
	case err != nil:
		ctrl.LoggerFrom(request.Context()).Error(err, "Failed to report a verdict", "changeVerdict", of)
		return http.StatusInternalServerError, reply{Message: fmt.Sprintf(
			"the verdict may not be in ChangeVerdict %s: report it again, which changes nothing if it is; the operator's log has the error", of)}
	}
	return http.StatusOK, reply{Success: true, Message: fmt.Sprintf("the verdict is in ChangeVerdict %s", of)}
}

// verdictIn returns the key of the ChangeVerdict in a path.
func verdictIn(path string) (client.ObjectKey, error) {
	namespace, name, _ := strings.Cut(strings.TrimPrefix(path, reportsPath), "/")
	if len(validation.IsDNS1123Label(namespace)) > 0 || len(validation.IsDNS1123Subdomain(name)) > 0 {
		return client.ObjectKey{}, &denial{http.StatusBadRequest, "the path must end with <namespace>/<name> of a ChangeVerdict"}
	}
	return client.ObjectKey{Namespace: namespace, Name: name}, nil
}

// pass patches the status of a ChangeVerdict with the token of the caller, never with the rights of the operator: so the API server decides whether
// the caller may, and admission records the caller as the reporter. The error is a denial if the caller can act on it.
func (r *reports) pass(w http.ResponseWriter, request *http.Request, of client.ObjectKey) error {
	said, err := readReport(w, request)
	if err != nil {
		return err
	}
	if _, err := r.access.check(request, authorizationv1.ResourceAttributes{
		Verb: "patch", Group: appv1alpha1.GroupVersion.Group, Resource: "changeverdicts", Subresource: "status", Namespace: of.Namespace, Name: of.Name,
	}); err != nil {
		return err
	}
	token, denied := r.access.tokenOf(request)
	if denied != nil {
		return denied
	}
	caller, err := r.as(token)
	if err != nil {
		return fmt.Errorf("connecting to the API server as the reporter: %w", err)
	}
	patch, err := patchOf(said)
	if err != nil {
		return err
	}
	verdict := &appv1alpha1.ChangeVerdict{ObjectMeta: metav1.ObjectMeta{Namespace: of.Namespace, Name: of.Name}}
	return refusedReport(caller.Status().Patch(request.Context(), verdict, client.RawPatch(types.MergePatchType, patch)))
}

// patchOf returns the merge patch of the status that reports a verdict.
func patchOf(verdict reported) ([]byte, error) {
	status := map[string]any{"verdict": verdict.Verdict}
	if verdict.Reason != "" {
		status["reason"] = verdict.Reason
	}
	if verdict.Message != "" {
		status["message"] = verdict.Message
	}
	if len(verdict.Pods) > 0 {
		status["pods"] = verdict.Pods
	}
	patch := map[string]any{"status": status}
	if verdict.UID != "" {
		patch["metadata"] = map[string]any{"uid": verdict.UID}
	}
	encoded, err := json.Marshal(patch)
	if err != nil {
		return nil, fmt.Errorf("encoding the verdict: %w", err)
	}
	return encoded, nil
}

// refusedReport turns what the API server says of a report into a denial, unless it failed itself.
func refusedReport(err error) error {
	var refused apierrors.APIStatus
	if !errors.As(err, &refused) {
		return err
	}
	status := refused.Status()
	if code := int(status.Code); code/100 == 4 {
		return &denial{code, status.Message}
	}
	return err
}

// readReport reads the body of a request. The error is a denial.
func readReport(w http.ResponseWriter, request *http.Request) (reported, error) {
	body, err := readBody(w, request, maxReportBytes)
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return reported{}, reportTooLarge()
	case err != nil:
		return reported{}, &denial{http.StatusBadRequest, "the request body could not be read"}
	}
	var verdict reported
	decoder := json.NewDecoder(bytes.NewReader(body))
	if err := decoder.Decode(&verdict); err != nil {
		return reported{}, &denial{http.StatusBadRequest, "the verdict is malformed: it must be a JSON object with verdict, reason, message and pods"}
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return reported{}, &denial{http.StatusBadRequest, "the verdict is malformed: unexpected data after the JSON object"}
	}
	switch verdict.Verdict {
	case appv1alpha1.ReportedPass, appv1alpha1.ReportedFail, appv1alpha1.ReportedInconclusive:
		return verdict, nil
	}
	return reported{}, &denial{http.StatusBadRequest, fmt.Sprintf("the verdict is %.64q: it must be Pass, Fail or Inconclusive", verdict.Verdict)}
}

func reportTooLarge() *denial {
	return &denial{http.StatusRequestEntityTooLarge, "the verdict is larger than 64 KiB"}
}
