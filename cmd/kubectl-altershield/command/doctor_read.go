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
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
	"github.com/traas-stack/altershield-operator/controllers/settings"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// serverInfo is what an API server says about itself.
type serverInfo struct {
	version string
	date    time.Time
}

func (c *cluster) server(ctx context.Context) (serverInfo, error) {
	answer, err := c.ask(ctx, "/version")
	if err != nil {
		return serverInfo{}, fmt.Errorf("reading the version of the API server: %w", err)
	}
	var running struct {
		GitVersion string `json:"gitVersion"`
	}
	if err := json.Unmarshal(answer.Body, &running); err != nil {
		return serverInfo{}, fmt.Errorf("reading the version of the API server: %w", err)
	}
	return serverInfo{running.GitVersion, answer.Date}, nil
}

// query is what is read of a kind.
type query struct {
	right view.Right
	// most is how many objects are read; 0 for all.
	most    int
	options []client.ListOption
}

// partOf lists the objects of a part.
func partOf[T any](ctx context.Context, c *cluster, list client.ObjectList, right view.Right, options ...client.ListOption) view.Part[T] {
	return read[T](ctx, c, list, query{right: right, options: options})
}

// read lists objects page by page. An error is kept beside what was read.
func read[T any](ctx context.Context, c *cluster, list client.ObjectList, asked query) view.Part[T] {
	var part view.Part[T]
	options := slices.Clone(asked.options)
	if asked.right.Namespace != "" {
		options = append(options, client.InNamespace(asked.right.Namespace))
	}
	fresh := func() client.ObjectList {
		empty, _ := list.DeepCopyObject().(client.ObjectList)
		return empty
	}
	var err error
	part.Items, part.More, err = listed(ctx, c, fresh, asked.most, func(page client.ObjectList) (values []T, _ error) {
		items, err := meta.ExtractList(page)
		for _, item := range items {
			values = append(values, valueOf[T](item))
		}
		return values, err
	}, options...)
	if err != nil {
		part.Lacks, part.Failure, part.Absent = unreadable(err, asked.right)
	}
	return part
}

// valueOf returns the value that an object of a list points at.
func valueOf[T any](item runtime.Object) T {
	pointer, _ := item.(any).(*T)
	if pointer == nil {
		return *new(T)
	}
	return *pointer
}

// unreadable returns why something can't be read.
func unreadable(err error, right view.Right) (lacks *view.Right, failure string, absent bool) {
	switch {
	case lacksRight(err):
		return &right, "", false
	case meta.IsNoMatchError(err):
		return nil, "", true
	}
	return nil, err.Error(), false
}

// somewhere lists a part of all namespaces, or of one and of the operator's: where only one is asked for, or more isn't permitted.
func somewhere[T any](ctx context.Context, c *cluster, list func() client.ObjectList, asked query, only, operator string) view.Part[T] {
	if only == "" {
		part := read[T](ctx, c, list(), asked)
		if part.Lacks == nil {
			return part
		}
		only = c.namespace
	}
	asked.right.Namespace = only
	part := read[T](ctx, c, list(), asked)
	if operator != only && part.Lacks == nil && part.Failure == "" {
		asked.right.Namespace = operator
		others := read[T](ctx, c, list(), asked)
		part.Items, part.More = append(part.Items, others.Items...), part.More || others.More
		if why := others.Why(); why != "" && !part.Absent {
			part.Rest, part.RestLacks = why+" in namespace "+operator, others.Lacks
		}
	}
	return part
}

// listOf returns an empty list of a kind without a type.
func listOf(group, version, kind string) *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: version, Kind: kind + "List"})
	return list
}

// metadataOf returns an empty list of the metadata of a kind.
func metadataOf(group, version, kind string) *metav1.PartialObjectMetadataList {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: version, Kind: kind + "List"})
	return list
}

// recordsPart lists the ChangeWorkloads.
func (c *cluster) recordsPart(ctx context.Context, only, operator string) view.Part[appv1alpha1.ChangeWorkload] {
	right := view.Right{Verb: "list", Group: appv1alpha1.GroupVersion.Group, Resource: "changeworkloads"}
	return somewhere[appv1alpha1.ChangeWorkload](ctx, c, func() client.ObjectList { return &appv1alpha1.ChangeWorkloadList{} }, query{right: right}, only, operator)
}

// objectsOf lists the objects of a kind of the operator, of which ControlledKinds have no namespace.
func (c *cluster) objectsOf(ctx context.Context, kind view.Kind, most int, only, operator string) view.Part[unstructured.Unstructured] {
	if kind.Name == "ControlledKind" {
		only, operator = "", ""
	}
	list := func() client.ObjectList {
		return listOf(appv1alpha1.GroupVersion.Group, appv1alpha1.GroupVersion.Version, kind.Name)
	}
	right := view.Right{Verb: "list", Group: appv1alpha1.GroupVersion.Group, Resource: kind.Resource}
	return somewhere[unstructured.Unstructured](ctx, c, list, query{right: right, most: most}, only, operator)
}

// addObjects adds the records, the objects that have a condition, and the Events about batches that were not checked. What can't be read of one
// kind keeps no other from being read; of several, the first one is named.
func (c *cluster) addObjects(ctx context.Context, installation *view.Installation, only string) {
	installation.Records = c.recordsPart(ctx, only, installation.Namespace)
	objects := &installation.Objects
	for _, kind := range view.Kinds() {
		if kind.Condition == "" {
			continue
		}
		part := c.objectsOf(ctx, kind, 0, only, installation.Namespace)
		objects.Lacks = cmp.Or(objects.Lacks, part.Lacks, part.RestLacks)
		objects.Failure = cmp.Or(objects.Failure, part.Failure)
		if part.RestLacks == nil {
			objects.Failure = cmp.Or(objects.Failure, part.Rest)
		}
		for i := range part.Items {
			object, err := conditioned(kind, &part.Items[i])
			if err == nil && kind.Name == "OpsConfigInfo" && object.Namespace == installation.Namespace && object.Name == appv1alpha1.ConfigBlocking {
				installation.NotBlocking, err = isOff(&part.Items[i])
			}
			if err != nil {
				objects.Failure = cmp.Or(objects.Failure, err.Error())
				continue
			}
			objects.Items = append(objects.Items, object)
		}
	}
	if objects.Failure != "" { // a problem, as which a missing right doesn't count
		objects.Lacks = nil
	}
	about := fields.Set{"involvedObject.kind": "ChangeWorkload", "reason": appv1alpha1.EventBatchNotChecked}.AsSelector()
	installation.Unchecked = somewhere[corev1.Event](ctx, c, func() client.ObjectList { return &corev1.EventList{} },
		query{right: view.Right{Verb: "list", Resource: "events"}, options: []client.ListOption{client.MatchingFieldsSelector{Selector: about}}},
		only, installation.Namespace)
}

// isOff reports whether a setting is off.
func isOff(object *unstructured.Unstructured) (bool, error) {
	var setting appv1alpha1.OpsConfigInfo
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &setting); err != nil {
		return false, fmt.Errorf("reading OpsConfigInfo %s: %w", object.GetName(), err)
	}
	return !settings.InEffect(setting.Name, &setting).Enable, nil
}

// conditioned returns the conditions of an object.
func conditioned(kind view.Kind, object *unstructured.Unstructured) (view.Conditioned, error) {
	var read struct {
		metav1.ObjectMeta `json:"metadata"`
		Status            struct {
			Conditions []metav1.Condition `json:"conditions"`
		} `json:"status"`
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &read); err != nil {
		return view.Conditioned{}, fmt.Errorf("reading %s %s: %w", kind.Name, object.GetName(), err)
	}
	return view.Conditioned{ObjectMeta: read.ObjectMeta, Kind: kind, Conditions: read.Status.Conditions}, nil
}

// tryRelease tries to create a Deployment in a namespace under change control: in that of the user, if it is.
func (c *cluster) tryRelease(ctx context.Context, in []string) view.Part[view.TrialRelease] {
	var part view.Part[view.TrialRelease]
	if len(in) == 0 {
		return part
	}
	tried := view.TrialRelease{Namespace: in[0]}
	if slices.Contains(in, c.namespace) {
		tried.Namespace = c.namespace
	}
	answer := view.TrialDeployment(tried.Namespace)
	err := client.NewDryRunClient(c).Create(ctx, answer, client.FieldOwner(fieldOwner))
	trial, failure := trialOf(nil, answer, err)
	if lacksRight(failure) {
		part.Lacks = &view.Right{Verb: "create", Group: "apps", Resource: "deployments", Namespace: tried.Namespace}
		return part
	}
	if tried.Trial = trial; failure != nil {
		tried.Failure = failure.Error()
	}
	if trial.Verdict == view.NotControlled {
		tried.NotEnforced = c.exemptsDeployments(ctx)
	}
	part.Items = append(part.Items, tried)
	return part
}

// exemptsDeployments reports whether a ControlledKind keeps Deployments from being stamped, as far as the user may know.
func (c *cluster) exemptsDeployments(ctx context.Context) bool {
	var kind appv1alpha1.ControlledKind
	err := c.Get(ctx, client.ObjectKey{Name: view.Deployments}, &kind)
	return err == nil && !workload.IsEnforced(&kind)
}

// reviewRights asks the API server which rights the user has.
func (c *cluster) reviewRights(ctx context.Context, needed []view.Reviewed) view.Part[view.Reviewed] {
	var part view.Part[view.Reviewed]
	for _, reviewed := range needed {
		may, err := c.may(ctx, reviewed.Right)
		if err != nil {
			part.Lacks, part.Failure, part.Absent = unreadable(err, view.Right{Verb: "create", Group: authorizationv1.GroupName, Resource: "selfsubjectaccessreviews"})
			return part
		}
		reviewed.May = may
		part.Items = append(part.Items, reviewed)
	}
	return part
}
