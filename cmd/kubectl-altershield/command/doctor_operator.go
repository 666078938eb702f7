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

package command

import (
	"context"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
)

const (
	// lease is the name of the Lease of the operator's leader.
	lease = "altershieldoperator.app.ops.cloud.alipay.com"
	// ours begins the names of the operator's objects.
	ours = "altershieldoperator-"
)

// operators lists the Deployments of the operator.
func (c *cluster) operators(ctx context.Context, namespace string) view.Part[unstructured.Unstructured] {
	right := view.Right{Verb: "list", Group: "apps", Resource: "deployments", Namespace: namespace}
	return partOf[unstructured.Unstructured](ctx, c, listOf("apps", "v1", "Deployment"), right, client.MatchingLabels{"app.kubernetes.io/name": "altershield-operator"})
}

// addOperator adds the operator itself: its pods, its leader and its kinds.
func (c *cluster) addOperator(ctx context.Context, installation *view.Installation) {
	namespace := installation.Namespace
	installation.Operators = c.operators(ctx, namespace)
	installation.Leases = partOf[coordinationv1.Lease](ctx, c, &coordinationv1.LeaseList{},
		view.Right{Verb: "list", Group: coordinationv1.GroupName, Resource: "leases", Namespace: namespace},
		client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("metadata.name", lease)})
	installation.Slices = partOf[discoveryv1.EndpointSlice](ctx, c, &discoveryv1.EndpointSliceList{},
		view.Right{Verb: "list", Group: discoveryv1.GroupName, Resource: "endpointslices", Namespace: namespace})
	installation.CRDs = partOf[unstructured.Unstructured](ctx, c, listOf("apiextensions.k8s.io", "v1", "CustomResourceDefinition"),
		view.Right{Verb: "list", Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"})
}

// addAdmission adds the webhook configurations and the policies of the operator.
func (c *cluster) addAdmission(ctx context.Context, installation *view.Installation) {
	right := func(resource string) view.Right {
		return view.Right{Verb: "list", Group: admissionregistrationv1.GroupName, Resource: resource}
	}
	installation.Mutating = named(partOf[admissionregistrationv1.MutatingWebhookConfiguration](ctx, c,
		&admissionregistrationv1.MutatingWebhookConfigurationList{}, right("mutatingwebhookconfigurations")))
	installation.Validating = named(partOf[admissionregistrationv1.ValidatingWebhookConfiguration](ctx, c,
		&admissionregistrationv1.ValidatingWebhookConfigurationList{}, right("validatingwebhookconfigurations")))
	installation.Policies = partOf[admissionregistrationv1.ValidatingAdmissionPolicy](ctx, c,
		&admissionregistrationv1.ValidatingAdmissionPolicyList{}, right("validatingadmissionpolicies"))
	installation.Bindings = partOf[admissionregistrationv1.ValidatingAdmissionPolicyBinding](ctx, c,
		&admissionregistrationv1.ValidatingAdmissionPolicyBindingList{}, right("validatingadmissionpolicybindings"))
}

// named keeps the objects whose names are the operator's.
func named[T any, P interface {
	*T
	metav1.Object
}](part view.Part[T]) view.Part[T] {
	kept := part
	kept.Items = nil
	for i := range part.Items {
		if strings.HasPrefix(P(&part.Items[i]).GetName(), ours) {
			kept.Items = append(kept.Items, part.Items[i])
		}
	}
	return kept
}

// addControlled adds the namespaces under change control, and the Deployments without a version. Their metadata is enough. A user of one
// namespace may read that one alone.
func (c *cluster) addControlled(ctx context.Context, installation *view.Installation, only string) {
	installation.Namespaces = partOf[metav1.PartialObjectMetadata](ctx, c, metadataOf("", "v1", "Namespace"),
		view.Right{Verb: "list", Resource: "namespaces"}, client.HasLabels{appv1alpha1.LabelOptIn})
	if installation.Namespaces.Lacks != nil {
		c.addNamespace(ctx, installation)
	}
	if only != "" {
		isOther := func(namespace metav1.PartialObjectMetadata) bool { return namespace.Name != only }
		installation.Namespaces.Items = slices.DeleteFunc(installation.Namespaces.Items, isOther)
	}
	unstamped, err := labels.NewRequirement(appv1alpha1.LabelVersion, selection.DoesNotExist, nil)
	if err != nil {
		installation.Unstamped.Failure = err.Error()
		return
	}
	installation.Unstamped = somewhere[metav1.PartialObjectMetadata](ctx, c, func() client.ObjectList { return metadataOf("apps", "v1", "Deployment") }, query{
		right:   view.Right{Verb: "list", Group: "apps", Resource: "deployments"},
		options: []client.ListOption{client.MatchingLabelsSelector{Selector: labels.NewSelector().Add(*unstamped)}},
	}, only, installation.Namespace)
}

// addNamespace adds the namespace of the user, if it has the label that opts in.
func (c *cluster) addNamespace(ctx context.Context, installation *view.Installation) {
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	if err := c.Get(ctx, client.ObjectKey{Name: c.namespace}, namespace); err != nil {
		return // the right that lacks for the list is named
	}
	installation.Namespaces = view.Part[metav1.PartialObjectMetadata]{}
	if _, labelled := namespace.Labels[appv1alpha1.LabelOptIn]; labelled {
		installation.Namespaces.Items = []metav1.PartialObjectMetadata{*namespace}
	}
}
