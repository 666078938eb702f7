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
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"

	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/controllers/workload/declared"
)

// Reads the CustomResourceDefinition of a declared kind, which its declaration is checked against.
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,verbs=get
// Notices that the CustomResourceDefinition of a declared kind is installed, changed or removed. The cache holds their names alone.
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,verbs=list;watch

// Catalog compiles the declared kinds. It runs on every replica, as the webhooks of each have to know them.
type Catalog struct {
	Kinds  *workload.Set
	Client client.Reader
	// Live reads CustomResourceDefinitions, of which the cache holds the names alone.
	Live     client.Reader
	Compiler *declared.Compiler

	mutex sync.Mutex
	known map[string]declaration
	// ready reports whether all kinds were known at some time.
	ready bool
	// changed is called after each change.
	changed func()
}

// declaration is a compiled ControlledKind.
type declaration struct {
	basis basis
	// kind is nil where problem isn't.
	kind    declared.Kind
	problem *problem
	// invalid are the paths and expressions that can't be compiled.
	invalid field.ErrorList
	// absent reports whether there is no CRD, or it is being deleted: then there are no workloads.
	absent bool
	// served is the message that the version is served; empty if it isn't.
	served string
	role   *rbacv1.ClusterRole
}

// basis identifies what a declaration was compiled from.
type basis struct {
	declared, definition                     types.UID
	declaredGeneration, definitionGeneration int64
}

// SetupWithManager adds the catalog to the manager.
func (c *Catalog) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("declaredkind").
		For(&appv1alpha1.ControlledKind{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(definitions(), &handler.EnqueueRequestForObject{}). // a ControlledKind has the name of its CRD
		WithOptions(controller.Options{NeedLeaderElection: ptr.To(false)}).
		Complete(c)
}

// definitions returns an object to watch the CustomResourceDefinitions by.
func definitions() *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"}}
}

// slimDefinition returns a CustomResourceDefinition reduced to what its events are told apart by.
func slimDefinition(whole *metav1.PartialObjectMetadata) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{TypeMeta: whole.TypeMeta, ObjectMeta: metav1.ObjectMeta{
		Name: whole.Name, UID: whole.UID, ResourceVersion: whole.ResourceVersion, DeletionTimestamp: whole.DeletionTimestamp,
	}}
}

// Reconcile compiles a declared kind, and makes it known to this replica or unknown.
func (c *Catalog) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var controlled appv1alpha1.ControlledKind
	err := c.Client.Get(ctx, request.NamespacedName, &controlled)
	if apierrors.IsNotFound(err) || err == nil && controlled.Spec.BuiltIn {
		c.forget(request.Name)
		return ctrl.Result{}, nil
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("reading ControlledKind %s: %w", request.Name, err)
	}
	found, err := c.compile(ctx, &controlled)
	if err != nil {
		return ctrl.Result{}, err
	}
	c.learn(ctx, controlled.Name, found)
	if found.problem != nil && found.problem.reason == appv1alpha1.ReasonPermissionMissing {
		return ctrl.Result{RequeueAfter: reviewAgain}, nil // no event shows that it is granted
	}
	return ctrl.Result{}, nil
}

// compile returns the declaration of a kind, the known one if nothing has changed.
func (c *Catalog) compile(ctx context.Context, controlled *appv1alpha1.ControlledKind) (declaration, error) {
	crd, found, err := readDefinition(ctx, c.Live, controlled.Name)
	if crd == nil {
		return found, err
	}
	from := basis{controlled.UID, crd.UID, controlled.Generation, crd.Generation}
	if known, isKnown := c.of(controlled.Name); isKnown && known.basis == from {
		return known, nil
	}
	found = declare(c.Compiler, controlled, crd)
	found.basis = from
	return found, nil
}

// readDefinition returns the CRD of a declared kind. If there is none to check the kind against, the CRD is nil and the declaration shows why.
func readDefinition(
	ctx context.Context, live client.Reader, name string,
) (*apiextensionsv1.CustomResourceDefinition, declaration, error) {
	var crd apiextensionsv1.CustomResourceDefinition
	err := live.Get(ctx, client.ObjectKey{Name: name}, &crd)
	switch {
	case apierrors.IsNotFound(err):
		return nil, absent("there is no CustomResourceDefinition %s: install it", name), nil
	case apierrors.IsForbidden(err):
		return nil, declaration{problem: &problem{appv1alpha1.ReasonPermissionMissing, err.Error() + "; apply config/default again"}}, nil
	case err != nil:
		return nil, declaration{}, fmt.Errorf("reading CustomResourceDefinition %s: %w", name, err)
	case crd.DeletionTimestamp != nil:
		return nil, absent("CustomResourceDefinition %s is being deleted", name), nil
	case !isEstablished(&crd):
		return nil, unserved("CustomResourceDefinition %s is not established yet", name), nil
	}
	return &crd, declaration{}, nil
}

// declare returns the declaration of a kind for its CRD.
func declare(compiler *declared.Compiler, controlled *appv1alpha1.ControlledKind, crd *apiextensionsv1.CustomResourceDefinition) declaration {
	definition, err := declared.DefinitionOf(crd, controlled.Spec.Version)
	if err != nil {
		return unserved("CustomResourceDefinition %s: %v", controlled.Name, err)
	}
	found := declaration{
		served: "the API server serves " + definition.GroupVersionKind.GroupVersion().String(), role: declared.ClusterRole(definition),
	}
	kind, problems := compiler.Compile(controlled, definition)
	if problems = append(uncontrollable(controlled, definition), problems...); len(problems) > 0 {
		found.invalid, found.problem = problems, &problem{appv1alpha1.ReasonDeclarationInvalid, describeProblems(problems)}
		return found
	}
	found.kind = kind
	return found
}

// uncontrollable returns why a kind can't be controlled, whatever is declared: cluster-scoped objects are in no namespace that could be opted in. The
// policy for the operator's webhooks denies those of groups *.k8s.io, and the webhooks of all other kinds with them. A kind that is being deleted
// may be controlled already.
func uncontrollable(controlled *appv1alpha1.ControlledKind, definition declared.Definition) field.ErrorList {
	switch {
	case controlled.DeletionTimestamp != nil:
		return nil
	case !definition.Namespaced:
		return field.ErrorList{field.Invalid(field.NewPath("metadata", "name"), controlled.Name,
			"its objects are cluster-scoped: only objects in namespaces that are opted in can be controlled")}
	case workload.IsEnforced(controlled) && strings.HasSuffix(definition.GroupVersionKind.Group, ".k8s.io"):
		return field.ErrorList{field.Invalid(field.NewPath("spec", "mode"), controlled.Spec.Mode,
			"the operator may not write webhooks for the groups *.k8s.io: use Observe")}
	}
	return nil
}

func absent(format string, arguments ...any) declaration {
	found := unserved(format, arguments...)
	found.absent = true
	return found
}

func unserved(format string, arguments ...any) declaration {
	return declaration{problem: &problem{appv1alpha1.ReasonNotServed, fmt.Sprintf(format, arguments...)}}
}

func isEstablished(crd *apiextensionsv1.CustomResourceDefinition) bool {
	for _, condition := range crd.Status.Conditions {
		if condition.Type == apiextensionsv1.Established {
			return condition.Status == apiextensionsv1.ConditionTrue
		}
	}
	return false
}

// describeProblems returns all problems in one line, each with its place.
func describeProblems(problems field.ErrorList) string {
	texts := make([]string, len(problems))
	for i, problem := range problems {
		texts[i] = problem.Error()
	}
	return strings.Join(texts, "; ")
}

// of returns the declaration of a ControlledKind, if it was compiled.
func (c *Catalog) of(name string) (declaration, bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	found, known := c.known[name]
	return found, known
}

// Ready fails until all declared kinds were compiled once: before, their releases would pass the webhooks of this replica.
func (c *Catalog) Ready(request *http.Request) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.ready {
		return nil
	}
	var list appv1alpha1.ControlledKindList
	if err := c.Client.List(request.Context(), &list, client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency); err != nil {
		return fmt.Errorf("listing the ControlledKinds: %w", err)
	}
	for i := range list.Items {
		if _, known := c.known[list.Items[i].Name]; !known && !list.Items[i].Spec.BuiltIn {
			return fmt.Errorf("ControlledKind %s is not compiled yet", list.Items[i].Name)
		}
	}
	c.ready = true
	return nil
}

// onChange sets the function that is called after each change.
func (c *Catalog) onChange(changed func()) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.changed = changed
}

func (c *Catalog) learn(ctx context.Context, name string, found declaration) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	before := c.known[name]
	if c.known == nil {
		c.known = map[string]declaration{}
	}
	c.known[name] = found
	switch {
	case found.kind == nil:
		c.Kinds.Remove(name)
	case before.kind != found.kind:
		c.Kinds.Put(found.kind)
		ctrl.LoggerFrom(ctx).Info("Compiled a declared kind", "mode", found.kind.Mode())
	}
	c.notify()
}

func (c *Catalog) forget(name string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if _, known := c.known[name]; !known {
		return
	}
	delete(c.known, name)
	c.Kinds.Remove(name)
	c.notify()
}

// notify tells of a change. The caller holds the mutex.
func (c *Catalog) notify() {
	if c.changed != nil {
		c.changed()
	}
}
