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

package changeapproval

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"gomodules.xyz/jsonpatch/v2"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	review "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/pace"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// Attributor records who creates a ChangeApproval, and the UID of its workload, whatever the client says. It denies a ChangeApproval that
// could never count.
type Attributor struct {
	// Kinds are the kinds of workloads under change control.
	Kinds workload.Kinds
	// Live reads workloads from the API server, at a limited rate.
	Live client.Reader
	// Policies finds the ReleasePolicy of a workload.
	Policies pace.Reader
}

// Handle sets spec.approvedBy, spec.groups and spec.uid of a ChangeApproval that is created, or denies it.
func (a *Attributor) Handle(ctx context.Context, request review.Request) review.Response {
	var approval appv1alpha1.ChangeApproval
	if err := json.Unmarshal(request.Object.Raw, &approval); err != nil {
		return review.Errored(http.StatusBadRequest, fmt.Errorf("decoding ChangeApproval %s: %w", request.Name, err))
	}
	spec := &approval.Spec
	kind := a.Kinds.Snapshot().ByGroupKind(schema.ParseGroupKind(spec.Workload.Kind))
	if kind == nil {
		return review.Denied(fmt.Sprintf("%s is not a kind of workload under change control, such as Deployment.apps", spec.Workload.Kind))
	}
	phrase, object := workload.Phrase(kind, spec.Workload.Name), kind.New()
	switch err := a.Live.Get(ctx, client.ObjectKey{Namespace: request.Namespace, Name: spec.Workload.Name}, object); {
	case apierrors.IsNotFound(err):
		return review.Denied(fmt.Sprintf("there is no %s in namespace %s", phrase, request.Namespace))
	case err != nil:
		return review.Errored(http.StatusInternalServerError, fmt.Errorf("reading %s in namespace %s: %w: try again", phrase, request.Namespace, err))
	}
	policy, err := a.Policies.Of(ctx, kind, object)
	if err != nil {
		return review.Errored(http.StatusInternalServerError, err)
	}
	if denial := denialOf(spec, phrase, object, policy, request.UserInfo); denial != "" {
		return review.Denied(denial)
	}
	response := review.Patched("", append(groupsOf(spec, policy, request.UserInfo),
		jsonpatch.NewOperation("add", "/spec/approvedBy", decide.ShortUser(request.UserInfo.Username)), jsonpatch.NewOperation("add", "/spec/uid", object.GetUID()))...)
	if policy == nil {
		response = response.WithWarnings(fmt.Sprintf("no ReleasePolicy concerns %s: its releases need no approvals", phrase))
	}
	return response
}

// denialOf returns why a user can't decide on a release, empty if the user can.
func denialOf(
	spec *appv1alpha1.ChangeApprovalSpec, phrase string, object client.Object, policy *appv1alpha1.ReleasePolicy, user authenticationv1.UserInfo,
) string {
	present := decide.ReleaseOf(object)
	record, _ := appv1alpha1.ReleaseRecordOf(object.GetAnnotations())
	approves := spec.Decision != appv1alpha1.DecisionDeny
	switch {
	case present.Version == "":
		return phrase + " has no release: none was made under change control"
	case spec.Release != present.Number || spec.Version != present.Version:
		return fmt.Sprintf("%s is at release %d of version %s, not at release %d of version %s", phrase, present.Number, present.Version, spec.Release, spec.Version)
	case !decide.MayApprove(approversOf(policy), user.Username, user.Groups):
		return notApprover(policy, phrase, user)
	case approves && record.Release != present.Number:
		return fmt.Sprintf("the author of release %d of %s is unknown: release it again to have it approved", present.Number, phrase)
	case approves && record.User == user.Username:
		return fmt.Sprintf("%s made release %d of %s, so that another user has to approve it", user.Username, present.Number, phrase)
	}
	return ""
}

// approversOf returns the approvers of a policy, nil for all.
func approversOf(policy *appv1alpha1.ReleasePolicy) *appv1alpha1.Approvers {
	if policy == nil {
		return nil
	}
	return policy.Spec.Approvers
}

// groupsOf returns the operation by which an approval has the groups of the user that a policy names, and no others: they are compared with
// the policy again when the step begins. There is none where the approval has none, and is to have none.
func groupsOf(spec *appv1alpha1.ChangeApprovalSpec, policy *appv1alpha1.ReleasePolicy, user authenticationv1.UserInfo) []jsonpatch.Operation {
	var named []string
	if approvers := approversOf(policy); approvers != nil {
		named = slices.DeleteFunc(slices.Clone(approvers.Groups), func(group string) bool { return !slices.Contains(user.Groups, group) })
	}
	switch {
	case len(named) > 0:
		return []jsonpatch.Operation{jsonpatch.NewOperation("add", "/spec/groups", named)}
	case len(spec.Groups) > 0:
		return []jsonpatch.Operation{jsonpatch.NewOperation("remove", "/spec/groups", nil)}
	}
	return nil
}

// notApprover returns the sentence that denies the approval of a user.
func notApprover(policy *appv1alpha1.ReleasePolicy, phrase string, user authenticationv1.UserInfo) string {
	if policy == nil {
		return fmt.Sprintf("service account %s can't approve releases of %s: no ReleasePolicy names it in spec.approvers.users", user.Username, phrase)
	}
	name := policy.Namespace + "/" + policy.Name
	if decide.IsServiceAccount(user.Username) {
		return fmt.Sprintf("service account %s can't approve releases of %s: ReleasePolicy %s doesn't name it in spec.approvers.users", user.Username, phrase, name)
	}
	return fmt.Sprintf("%s is not one of the approvers of ReleasePolicy %s, which concerns %s", user.Username, name, phrase)
}
