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
	"fmt"
	"net/url"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/utils/ptr"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// Paths of the webhooks for every kind but Deployments.
const (
	mutatePath   = "/mutate-kind"
	validatePath = "/validate-kind"
)

// Names of the webhooks of Deployments.
const (
	mutateDeployments   = "mdeployment.kb.io"
	validateDeployments = "vdeployment.kb.io"
)

// domain ends the names of the webhooks, which must be qualified.
const domain = ".altershield.defense.antgroup.com"

// mutatingEntries returns the mutating webhook of each kind. The template, that of Deployments, decides everything but what is called for:
// which namespaces, how long, by which client configuration, and what happens if the operator is down.
func mutatingEntries(
	kinds []workload.Kind, template *admissionregistrationv1.MutatingWebhook, operator string,
) ([]admissionregistrationv1.MutatingWebhook, error) {
	if len(kinds) == 0 || template == nil {
		return nil, nil
	}
	config, err := configAt(template.ClientConfig, mutatePath)
	if err != nil {
		return nil, err
	}
	var entries []admissionregistrationv1.MutatingWebhook
	for _, kind := range kinds {
		entry := *template.DeepCopy()
		entry.Name, entry.ClientConfig = entryName(kind), *config.DeepCopy()
		entry.MatchPolicy = ptr.To(admissionregistrationv1.Equivalent)
		entry.Rules = rulesOf(kind, admissionregistrationv1.Create, admissionregistrationv1.Update)
		entry.MatchConditions = []admissionregistrationv1.MatchCondition{
			{Name: "release-or-operator-keys", Expression: unlessOwned(kind, releaseOrKeys(kind, operator))},
		}
		entries = append(entries, entry)
	}
	return entries, nil
}

// validatingEntries returns the validating webhook of each kind, as mutatingEntries does.
func validatingEntries(
	kinds []workload.Kind, template *admissionregistrationv1.ValidatingWebhook,
) ([]admissionregistrationv1.ValidatingWebhook, error) {
	if len(kinds) == 0 || template == nil {
		return nil, nil
	}
	config, err := configAt(template.ClientConfig, validatePath)
	if err != nil {
		return nil, err
	}
	var entries []admissionregistrationv1.ValidatingWebhook
	for _, kind := range kinds {
		entry := *template.DeepCopy()
		entry.Name, entry.ClientConfig = entryName(kind), *config.DeepCopy()
		entry.MatchPolicy = ptr.To(admissionregistrationv1.Equivalent)
		entry.Rules = rulesOf(kind, validatedOperations(kind)...)
		entry.MatchConditions = []admissionregistrationv1.MatchCondition{
			{Name: "release-that-may-be-denied", Expression: unlessOwned(kind, mayBeDenied(kind))},
		}
		if ruled, ok := kind.(workload.Ruled); ok && len(ruled.Operations()) > 0 {
			entry.MatchConditions = []admissionregistrationv1.MatchCondition{
				{Name: "rules-or-release-that-may-be-denied", Expression: unlessOwned(kind, mayBreakOrBeDenied(kind, ruled))},
			}
		}
		entries = append(entries, entry)
	}
	return entries, nil
}

func entryName(kind workload.Kind) string { return workload.ControlledKindName(kind) + domain }

// configAt returns a client configuration with another path.
func configAt(config admissionregistrationv1.WebhookClientConfig, path string) (*admissionregistrationv1.WebhookClientConfig, error) {
	config = *config.DeepCopy()
	if config.Service != nil {
		config.Service.Path = &path
	}
	if config.URL != nil {
		parsed, err := url.Parse(*config.URL)
		if err != nil {
			return nil, fmt.Errorf("reading the URL of the webhooks of Deployments: %w", err)
		}
		parsed.Path, parsed.RawPath = path, ""
		config.URL = ptr.To(parsed.String())
	}
	return &config, nil
}

// validatedOperations returns UPDATE, and the operations that the rules of a kind apply to.
func validatedOperations(kind workload.Kind) []admissionregistrationv1.OperationType {
	operations := []admissionregistrationv1.OperationType{admissionregistrationv1.Update}
	if ruled, ok := kind.(workload.Ruled); ok {
		for _, operation := range ruled.Operations() {
			operations = append(operations, admissionregistrationv1.OperationType(operation))
		}
	}
	slices.Sort(operations)
	return slices.Compact(operations)
}

// rulesOf selects the objects of a kind without their subresources. The API server converts those of other versions.
func rulesOf(kind workload.Kind, operations ...admissionregistrationv1.OperationType) []admissionregistrationv1.RuleWithOperations {
	name, scope := kind.GroupVersionKind(), admissionregistrationv1.NamespacedScope
	if !workload.Namespaced(kind) {
		scope = admissionregistrationv1.ClusterScope
	}
	return []admissionregistrationv1.RuleWithOperations{{
		Operations: operations,
		Rule: admissionregistrationv1.Rule{
			APIGroups: []string{name.Group}, APIVersions: []string{name.Version}, Resources: []string{kind.Resource()},
			Scope: &scope,
		},
	}}
}

// unlessOwned adds to a condition that a kind doesn't leave an object alone for what controls it: the Jobs of a CronJob are created while the operator
// is down, too.
func unlessOwned(kind workload.Kind, condition string) string {
	if !workload.LeavesOwned(kind) {
		return condition
	}
	return fmt.Sprintf("%s && (%s)", workload.NotOwned, condition)
}

// releaseOrKeys is true for a release, for updates by others of a workload whose release is frozen or paced, which they may start or change,
// and for changes by others of keys that the operator writes, or that have an effect on it. Nothing starts in a workload that is being deleted: the
// garbage collector takes its finalizer away while the operator is down, too.
func releaseOrKeys(kind workload.Kind, operator string) string {
	annotations := append(appv1alpha1.OwnedAnnotations(), appv1alpha1.AnnotationGoOn, appv1alpha1.AnnotationGoOnReason,
		appv1alpha1.AnnotationRollback, appv1alpha1.AnnotationRollbackReason)
	if _, ok := kind.(workload.NodeBound); ok {
		annotations = append(annotations, appv1alpha1.AnnotationFirstNodes)
	}
	return fmt.Sprintf("request.operation == 'CREATE' || %s || (request.userInfo.username != %s && (!has(object.metadata.deletionTimestamp) && (%s in oldObject.metadata.?annotations.orValue({}) || %s in oldObject.metadata.?annotations.orValue({})) || %s || %s))",
		workload.MayChange(kind), quoted(operator), quoted(appv1alpha1.AnnotationFrozen), quoted(appv1alpha1.AnnotationPaced),
		changed("labels", append(appv1alpha1.OwnedLabels(), appv1alpha1.LabelIgnoredSuspend)...),
		changed("annotations", annotations...))
}

// mayBeDenied is true for a release of a workload that is suspended or was rolled back, and for an update that lets a release go on.
func mayBeDenied(kind workload.Kind) string {
	return fmt.Sprintf("(%s && (%s in oldObject.metadata.?labels.orValue({}) || %s in oldObject.metadata.?annotations.orValue({}))) || %s",
		workload.MayChange(kind), quoted(appv1alpha1.LabelSuspend), quoted(appv1alpha1.AnnotationRollbacks),
		changed("annotations", appv1alpha1.AnnotationGoOn))
}

// mayBreakOrBeDenied is true for an update that may break a rule or may be denied, and for every other operation that rules apply to.
func mayBreakOrBeDenied(kind workload.Kind, ruled workload.Ruled) string {
	return fmt.Sprintf("request.operation != 'UPDATE' || %s || %s", ruled.MayBreak(), mayBeDenied(kind))
}

// changed is true if a label or annotation with one of the keys changes.
func changed(field string, keys ...string) string {
	names := make([]string, len(keys))
	for i, key := range keys {
		names[i] = quoted(key)
	}
	return fmt.Sprintf("[%s].exists(key, object.metadata.?%s[?key] != oldObject.metadata.?%s[?key])", strings.Join(names, ", "), field, field)
}

// quoted returns a string literal in CEL.
func quoted(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(text) + "'"
}
