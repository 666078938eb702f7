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

package uninstall

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

const (
	// prefix is the prefix of the operator's cluster-scoped objects. A test of hack/config checks the manifests.
	prefix = "altershieldoperator-"
	// operatorName is the operator's Deployment.
	operatorName = prefix + "controller-manager"
	// labelName and operatorLabel are what the manifests label all their objects with, so also a namespace that is made for the operator.
	labelName, operatorLabel = "app.kubernetes.io/name", "altershield-operator"

	poll = 500 * time.Millisecond
	// stopTimeout bounds the wait for the pods of the operator to end.
	stopTimeout = 2 * time.Minute
	// namespaceTimeout bounds the wait for the deletion of the namespace, whose pods end gracefully.
	namespaceTimeout = 3 * time.Minute
	// freeTimeout is the time for the API server to notice that the webhooks and policies are gone, and for all workloads to be let go.
	freeTimeout = 3 * time.Minute
	// policyLag exceeds the second for which an API server still applies admission policies that are gone.
	policyLag = 3 * time.Second
)

// Uninstaller removes the operator from a cluster.
type Uninstaller struct {
	kinds workload.Registry
	// unknown are the declared kinds that kinds lacks.
	unknown []unknown
	client  client.Client
	clock   clock.WithTicker
	out     io.Writer
	// quiet is the time from which on nothing of what this run did closes a gate.
	quiet time.Time
	Options
}

// New returns an Uninstaller that reports to out.
func New(config *rest.Config, kinds workload.Registry, options Options, out io.Writer) (*Uninstaller, error) {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(apiextensionsv1.AddToScheme(scheme)) // the client can only delete kinds of its scheme
	utilruntime.Must(appv1alpha1.AddToScheme(scheme))
	writer, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("creating a client: %w", err)
	}
	return &Uninstaller{kinds: kinds, client: writer, clock: clock.RealClock{}, out: out, Options: options}, nil
}

// Run removes the operator as configured and prints what remains. After an error, the next run continues where it stopped.
func (u *Uninstaller) Run(ctx context.Context) error {
	if u.RecordsOnly {
		return u.removeRecords(ctx)
	}
	remove := u.removeAll
	if u.KeepRecords {
		remove = u.release
	}
	if err := u.checkNamespace(ctx); err != nil {
		return err
	}
	if err := u.learnKinds(ctx); err != nil {
		return err
	}
	if err := remove(ctx); err != nil {
		return err
	}
	left, err := u.survey(ctx)
	if err != nil {
		return fmt.Errorf("the operator is removed, but its remains can't be listed: %w", err)
	}
	fmt.Fprint(u.out, left)
	return nil
}

// removeAll removes the operator: first its admission, so that no release is denied meanwhile; then its records, while it runs and can
// release them; then the operator itself; its rights last. Without a running operator, it lets workloads go before it removes their
// ControlledKinds, which the next run after an error would lack.
func (u *Uninstaller) removeAll(ctx context.Context) error {
	if err := u.removeAdmission(ctx); err != nil {
		return err
	}
	runs, err := u.operatorRuns(ctx)
	if err != nil {
		return err
	}
	if !runs {
		if err := u.letGo(ctx); err != nil {
			return err
		}
	}
	if err := u.removeRecords(ctx); err != nil {
		return err
	}
	if err := u.removeNamespace(ctx); err != nil {
		return err
	}
	if err := u.removeKinds(ctx, "rbac.authorization.k8s.io", "ClusterRoleBinding", "ClusterRole"); err != nil {
		return err
	}
	return u.letGo(ctx)
}

// release removes what must not outlive the operator: its admission, its Deployment, and then its holds and finalizers, which it would
// restore. The records stay for an operator that is installed again.
func (u *Uninstaller) release(ctx context.Context) error {
	if err := u.removeAdmission(ctx); err != nil {
		return err
	}
	if err := u.removeManager(ctx); err != nil {
		return err
	}
	held := u.letGo(ctx) // a workload that can't be let go must not keep its records from being deleted
	return errors.Join(held, u.await(ctx, releaseTimeout, u.removeFinalizers))
}

func (u *Uninstaller) removeAdmission(ctx context.Context) error {
	err := u.removeKinds(ctx, "admissionregistration.k8s.io", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration",
		"MutatingAdmissionPolicyBinding", "MutatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "ValidatingAdmissionPolicy")
	u.wrote()
	return err
}

// wrote notes a write after which gates may still be closed.
func (u *Uninstaller) wrote() { u.quiet = u.clock.Now().Add(policyLag) }

// removeKinds removes the operator's objects of cluster-scoped kinds.
func (u *Uninstaller) removeKinds(ctx context.Context, group string, kinds ...string) error {
	for _, kind := range kinds {
		_, err := u.remove(ctx, schema.GroupVersionKind{Group: group, Version: "v1", Kind: kind},
			func(name string) bool { return strings.HasPrefix(name, prefix) })
		if err != nil {
			return err
		}
	}
	return nil
}

// remove deletes the objects of a kind whose names belong to the operator, and returns them. Kinds unknown to the API server have
// none.
func (u *Uninstaller) remove(ctx context.Context, kind schema.GroupVersionKind, ours func(name string) bool) ([]*metav1.PartialObjectMetadata, error) {
	found, err := u.list(ctx, kind)
	if err != nil {
		return nil, err
	}
	var removed []*metav1.PartialObjectMetadata
	for _, object := range found {
		if !ours(object.Name) {
			continue
		}
		if err := u.client.Delete(ctx, object); scope.IgnoreGone(err) != nil {
			return nil, fmt.Errorf("deleting %s %s: %w", kind.Kind, object.Name, err)
		}
		fmt.Fprintf(u.out, "deleted %s %s\n", kind.Kind, object.Name)
		removed = append(removed, object)
	}
	return removed, nil
}

func (u *Uninstaller) list(ctx context.Context, kind schema.GroupVersionKind, options ...client.ListOption) ([]*metav1.PartialObjectMetadata, error) {
	var list metav1.PartialObjectMetadataList
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	err := u.client.List(ctx, &list, options...)
	if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing the objects of kind %s: %w", kind.Kind, err)
	}
	objects := make([]*metav1.PartialObjectMetadata, len(list.Items))
	for i := range list.Items {
		objects[i] = &list.Items[i]
		objects[i].SetGroupVersionKind(kind)
	}
	return objects, nil
}

// operatorRuns reports whether a manager is ready.
func (u *Uninstaller) operatorRuns(ctx context.Context) (bool, error) {
	var manager appsv1.Deployment
	key := client.ObjectKey{Namespace: u.Namespace, Name: operatorName}
	if err := u.client.Get(ctx, key, &manager); client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("reading Deployment %s: %w", key, err)
	}
	return manager.Status.ReadyReplicas > 0, nil
}

// removeManager removes the operator's Deployment and waits for its pods to end.
func (u *Uninstaller) removeManager(ctx context.Context) error {
	manager := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: u.Namespace, Name: operatorName}}
	err := u.client.Delete(ctx, manager, client.PropagationPolicy(metav1.DeletePropagationForeground))
	if scope.IsGone(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("deleting Deployment %s/%s: %w", u.Namespace, operatorName, err)
	}
	fmt.Fprintf(u.out, "deleted Deployment %s, waiting for its pods to end\n", operatorName)
	err = u.await(ctx, stopTimeout, func(ctx context.Context) (bool, error) {
		err := u.client.Get(ctx, client.ObjectKeyFromObject(manager), manager)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
	if err != nil {
		return fmt.Errorf("waiting for the pods of Deployment %s/%s to end: %w; one whose node is gone ends by kubectl delete pod --force", u.Namespace, operatorName, err)
	}
	return nil
}

// await polls until done returns true or an error.
func (u *Uninstaller) await(ctx context.Context, timeout time.Duration, done func(context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for {
		if isDone, err := done(ctx); err != nil || isDone {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-u.clock.After(poll):
		}
	}
}
