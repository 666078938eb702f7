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
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

// Scheme returns the types that the plugin knows. Those of built-in workloads are needed for strategic merge patches alone.
func Scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		appv1alpha1.AddToScheme, corev1.AddToScheme, appsv1.AddToScheme, batchv1.AddToScheme, authorizationv1.AddToScheme,
		authenticationv1.AddToScheme, admissionregistrationv1.AddToScheme, coordinationv1.AddToScheme, discoveryv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("registering types: %w", err)
		}
	}
	return scheme, nil
}

// Connect returns a client of an API server.
func Connect(config *rest.Config) (client.WithWatch, error) {
	scheme, err := Scheme()
	if err != nil {
		return nil, err
	}
	connected, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", config.Host, err)
	}
	return connected, nil
}

// cluster reads the objects of a cluster.
type cluster struct {
	client.WithWatch
	// namespace is that of the flags or of the context.
	namespace string
	// ask returns the answer to a path that is no object.
	ask func(ctx context.Context, path string) (Answer, error)
}

// bound has requests end with a context, or in time: those of the discovery of kinds have no other limit.
type bound struct {
	http.RoundTripper
	until context.Context //nolint:containedctx // a request has one of its own
	// within is how long a request without a deadline may take, unless it is a watch. 0 is for ever.
	within time.Duration
}

// RoundTrip makes a request.
func (b bound) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(request.Context())
	if b.until.Err() != nil { // of which AfterFunc tells a moment later
		cancel(context.Cause(b.until))
	}
	releases := []func() bool{context.AfterFunc(b.until, func() { cancel(context.Cause(b.until)) })}
	if _, isLimited := ctx.Deadline(); b.within > 0 && !isLimited && !request.URL.Query().Has("watch") {
		releases = append(releases, time.AfterFunc(b.within, func() { cancel(context.DeadlineExceeded) }).Stop)
	}
	end := func() {
		for _, release := range releases {
			release()
		}
		cancel(nil)
	}
	response, err := b.RoundTripper.RoundTrip(request.WithContext(ctx))
	if err != nil {
		end()
		return nil, err
	}
	response.Body = boundBody{response.Body, end}
	return response, nil
}

// boundBody is that of an answer, at whose end the request is over.
type boundBody struct {
	io.ReadCloser
	end func()
}

// Close ends the request.
func (b boundBody) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}

// WrappedRoundTripper returns what makes the requests, for client-go.
func (b bound) WrappedRoundTripper() http.RoundTripper { return b.RoundTripper }

// connect returns the cluster of the flags. Its requests end with the context.
func (t *tool) connect(ctx context.Context) (*cluster, error) {
	config, namespace, err := t.config()
	if err != nil {
		return nil, err
	}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return bound{next, ctx, 0} })
	connected, err := t.Connect(config)
	if err != nil {
		return nil, err
	}
	return t.clusterOf(config, connected, namespace), nil
}

func (t *tool) clusterOf(config *rest.Config, connected client.WithWatch, namespace string) *cluster {
	ask := func(ctx context.Context, path string) (Answer, error) { return t.Ask(ctx, config, path) }
	return &cluster{WithWatch: connected, namespace: namespace, ask: ask}
}

// in returns the cluster with another namespace.
func (c *cluster) in(namespace string) *cluster {
	other := *c
	other.namespace = namespace
	return &other
}

// open connects, and finds the workload that a user named.
func (t *tool) open(ctx context.Context, name string) (*cluster, view.Facts, error) {
	cluster, err := t.connect(ctx)
	if err != nil {
		return nil, view.Facts{}, err
	}
	facts, err := cluster.find(ctx, name)
	return cluster, facts, err
}

// records lists ChangeWorkloads.
func (c *cluster) records(ctx context.Context, options ...client.ListOption) ([]appv1alpha1.ChangeWorkload, error) {
	all, _, err := c.recordsAt(ctx, options...)
	return all, err
}

// recordsAt lists ChangeWorkloads, and returns the version from which a watch goes on.
func (c *cluster) recordsAt(ctx context.Context, options ...client.ListOption) (all []appv1alpha1.ChangeWorkload, version string, err error) {
	fresh := func() *appv1alpha1.ChangeWorkloadList { return &appv1alpha1.ChangeWorkloadList{} }
	all, _, err = listed(ctx, c, fresh, 0, func(page *appv1alpha1.ChangeWorkloadList) ([]appv1alpha1.ChangeWorkload, error) {
		version = page.ResourceVersion
		return page.Items, nil
	}, options...)
	if err != nil {
		return nil, "", fmt.Errorf("listing ChangeWorkloads: %w", err)
	}
	return all, version, nil
}

// addWorkload reads the workload itself. Without the right the facts have a note.
func (c *cluster) addWorkload(ctx context.Context, facts *view.Facts) error {
	live, err := c.workload(ctx, facts.Namespace, facts.Reference)
	facts.Resource = view.ResourceOf(*facts)
	switch {
	case apierrors.IsNotFound(err): // its records follow it
		return nil
	case lacksRight(err):
		facts.Notes = append(facts.Notes, view.Note{
			Verb: "get", Resource: facts.Resource, Namespace: facts.Namespace, Lacks: view.LacksWorkload,
		})
		return nil
	case err != nil:
		return err
	}
	facts.Workload = live
	facts.Records = slices.DeleteFunc(facts.Records, func(record appv1alpha1.ChangeWorkload) bool {
		of := record.Spec.WorkloadRef
		return of != nil && of.UID != "" && of.UID != live.GetUID() // of a deleted one of the same name
	})
	return nil
}

func (c *cluster) workload(ctx context.Context, namespace string, reference appv1alpha1.WorkloadReference) (*unstructured.Unstructured, error) {
	live := &unstructured.Unstructured{}
	live.SetAPIVersion(reference.APIVersion)
	live.SetKind(reference.Kind)
	if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: reference.Name}, live); err != nil {
		return nil, fmt.Errorf("reading %s in namespace %s: %w", view.Argument(reference), namespace, err)
	}
	return live, nil
}

// refresh reads the records and the workload again.
func (c *cluster) refresh(ctx context.Context, facts view.Facts) (view.Facts, error) {
	fresh := view.Facts{Namespace: facts.Namespace, Reference: facts.Reference, Resource: facts.Resource, Observed: facts.Observed}
	name := view.Name{Namespace: facts.Namespace, Kind: facts.Reference.Kind, Name: facts.Reference.Name}
	options := []client.ListOption{client.InNamespace(facts.Namespace)}
	deployments, others := name.Labels()
	switch isBuiltIn := view.IsBuiltIn(facts.Reference); {
	case len(facts.Records) > 0:
		options = append(options, client.MatchingLabels(view.Selector(&facts.Records[0])))
	case isBuiltIn && len(deployments) > 0:
		options = append(options, client.MatchingLabels{appv1alpha1.LabelDeploymentName: deployments[0]})
	case isBuiltIn && len(others) > 0:
		options = append(options, client.MatchingLabels{appv1alpha1.LabelWorkload: others[0]})
	}
	records, err := c.records(ctx, options...)
	if err != nil {
		return fresh, err
	}
	fresh.Records = view.Name{Name: name.Name}.Of(records)[facts.Reference.GroupKind()]
	err = c.addWorkload(ctx, &fresh)
	return fresh, err
}

// maxBatches is how many batches are read one by one. Above it the counts of the release are shown.
const maxBatches = 200

// noteLack notes that a list is missing for lack of the right to it. Other errors are returned.
func noteLack(facts *view.Facts, err error, resource string, lacks view.Lack) error {
	if !lacksRight(err) {
		return err
	}
	facts.Notes = append(facts.Notes, view.Note{Verb: "list", Resource: resource, Namespace: facts.Namespace, Lacks: lacks})
	return nil
}

// addBatches reads the batches of the present release, unless there are too many.
func (c *cluster) addBatches(ctx context.Context, facts *view.Facts) error {
	present := view.PresentOf(facts.Records)
	if present == nil || present.Status.LastChangePod-max(present.Status.FirstChangePod, 1)+1 > maxBatches {
		return nil
	}
	var list appv1alpha1.ChangePodList
	err := c.List(ctx, &list, client.InNamespace(facts.Namespace),
		client.MatchingLabels{appv1alpha1.LabelBatchOf: decide.BatchOfLabel(present.UID, present.Spec.Release)})
	if err = noteLack(facts, err, "changepods", view.LacksBatches); err != nil {
		return fmt.Errorf("listing the batches of %s: %w", present.Name, err)
	}
	facts.Batches = list.Items
	return nil
}

// kept lists the contents that the operator keeps of a workload, newest release first.
func (c *cluster) kept(ctx context.Context, facts *view.Facts) ([]unstructured.Unstructured, error) {
	if len(facts.Records) == 0 {
		return nil, nil
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ControllerRevisionList"})
	err := c.List(ctx, list, client.InNamespace(facts.Namespace), client.MatchingLabels(view.Selector(&facts.Records[0])))
	if err = noteLack(facts, err, "controllerrevisions.apps", view.LacksKept); err != nil {
		return nil, fmt.Errorf("listing the kept contents of %s: %w", view.Argument(facts.Reference), err)
	}
	kept := slices.DeleteFunc(list.Items, func(revision unstructured.Unstructured) bool {
		isOwner := func(owner metav1.OwnerReference) bool { return owner.UID == facts.Workload.GetUID() }
		return revision.GetDeletionTimestamp() != nil || facts.Workload != nil && !slices.ContainsFunc(revision.GetOwnerReferences(), isOwner)
	})
	slices.SortFunc(kept, func(a, b unstructured.Unstructured) int { return int(numberOf(b) - numberOf(a)) })
	return kept, nil
}

func numberOf(revision unstructured.Unstructured) int64 {
	number, _, _ := unstructured.NestedInt64(revision.Object, "revision")
	return number
}

// sideOf returns the release whose content a ControllerRevision keeps.
func sideOf(revision unstructured.Unstructured) view.Side {
	return view.Side{Release: numberOf(revision), Version: revision.GetLabels()[appv1alpha1.LabelVersion]}
}

// addKept adds the releases whose contents are kept.
func (c *cluster) addKept(ctx context.Context, facts *view.Facts) error {
	kept, err := c.kept(ctx, facts)
	for _, revision := range kept {
		facts.Kept = append(facts.Kept, sideOf(revision))
	}
	return err
}
