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

package breakglass

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"gomodules.xyz/jsonpatch/v2"
	review "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

// Attributor records who creates a BreakGlass, whatever the client says.
type Attributor struct{}

// Handle sets spec.requestedBy of a BreakGlass that is created.
func (Attributor) Handle(_ context.Context, request review.Request) review.Response {
	var glass appv1alpha1.BreakGlass
	if err := json.Unmarshal(request.Object.Raw, &glass); err != nil {
		return review.Errored(http.StatusBadRequest, fmt.Errorf("decoding BreakGlass %s: %w", request.Name, err))
	}
	return review.Patched("", jsonpatch.NewOperation("add", "/spec/requestedBy", decide.ShortUser(request.UserInfo.Username)))
}
