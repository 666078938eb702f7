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

// Package changeverdict records who reports a verdict in a ChangeVerdict.
package changeverdict

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"gomodules.xyz/jsonpatch/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	review "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

// Attributor records who reports a verdict, and when, whatever the client says.
type Attributor struct {
	Clock clock.PassiveClock
}

// Handle sets status.reporter and status.reportedAt of a ChangeVerdict that gets its verdict. A further report keeps those of the first one:
// the same can be repeated, and the definition of the kind denies everything else.
func (a Attributor) Handle(_ context.Context, request review.Request) review.Response {
	var before appv1alpha1.ChangeVerdict
	if err := json.Unmarshal(request.OldObject.Raw, &before); err != nil {
		return review.Errored(http.StatusBadRequest, fmt.Errorf("decoding ChangeVerdict %s as it is: %w", request.Name, err))
	}
	var after struct {
		Status map[string]any `json:"status"`
	}
	if err := json.Unmarshal(request.Object.Raw, &after); err != nil {
		return review.Errored(http.StatusBadRequest, fmt.Errorf("decoding ChangeVerdict %s: %w", request.Name, err))
	}
	if after.Status == nil { // nothing is reported
		return review.Allowed("")
	}
	reporter, at := decide.ShortUser(request.UserInfo.Username), metav1.NewTime(a.Clock.Now())
	if first := before.Status; first != nil {
		reporter, at = first.Reporter, first.ReportedAt
	}
	return review.Patched("",
		jsonpatch.NewOperation("add", "/status/reporter", reporter), jsonpatch.NewOperation("add", "/status/reportedAt", at))
}
