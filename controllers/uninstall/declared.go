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
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/controllers/workload/declared"
)

// unknown is a declared kind whose workloads can't be looked at.
type unknown struct {
	// name is that of the ControlledKind, why what keeps it from being looked at.
	name, why string
}

// learnKinds adds the declared kinds of which the operator may hold or pace workloads. Without their ControlledKinds, the fields that do so are
// unknown.
func (u *Uninstaller) learnKinds(ctx context.Context) error {
	var list appv1alpha1.ControlledKindList
	err := u.client.List(ctx, &list)
	if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("listing the ControlledKinds: %w", err)
	}
	compiler, err := declared.NewCompiler()
	if err != nil {
		return err
	}
	for i := range list.Items {
		controlled := &list.Items[i]
		if controlled.Spec.BuiltIn || workload.IsObserved(controlled) && !controllerutil.ContainsFinalizer(controlled, appv1alpha1.FinalizerKind) {
			continue
		}
		if err := u.learnKind(ctx, compiler, controlled); err != nil {
			return err
		}
	}
	return nil
}

// learnKind adds a declared kind. One whose declaration can't be compiled, or whose workloads can't be listed, doesn't keep the operator from
// being removed: it is named at the end.
func (u *Uninstaller) learnKind(ctx context.Context, compiler *declared.Compiler, controlled *appv1alpha1.ControlledKind) error {
	var crd apiextensionsv1.CustomResourceDefinition
	err := u.client.Get(ctx, client.ObjectKey{Name: controlled.Name}, &crd)
	switch {
	case apierrors.IsNotFound(err): // there are no workloads
		return nil
	case apierrors.IsForbidden(err):
		u.unknown = append(u.unknown, unknown{controlled.Name, err.Error()})
		return nil
	case err != nil:
		return fmt.Errorf("reading CustomResourceDefinition %s: %w", controlled.Name, err)
	}
	kind, why := compile(compiler, controlled, &crd)
	if kind == nil {
		u.unknown = append(u.unknown, unknown{controlled.Name, why})
		return nil
	}
	var answered apierrors.APIStatus
	err = u.client.List(ctx, kind.NewList(), client.Limit(1))
	switch {
	case err == nil:
		u.kinds = append(u.kinds, kind)
	case errors.As(err, &answered) || meta.IsNoMatchError(err): // such as for want of a permission, or of the webhook that converts them
		u.unknown = append(u.unknown, unknown{controlled.Name, err.Error()})
	default:
		return fmt.Errorf("listing %ss: %w", kind.GroupVersionKind().Kind, err)
	}
	return nil
}

// compile compiles a declared kind, or returns why that is impossible.
func compile(compiler *declared.Compiler, controlled *appv1alpha1.ControlledKind, crd *apiextensionsv1.CustomResourceDefinition) (kind workload.Kind, why string) {
	definition, err := declared.DefinitionOf(crd, controlled.Spec.Version)
	if err != nil {
		return nil, err.Error()
	}
	compiled, problems := compiler.Compile(controlled, definition)
	if len(problems) > 0 {
		return nil, problems.ToAggregate().Error()
	}
	return compiled, ""
}

// String returns the command that lists the workloads of the kind that the operator holds or paces, and what to do with them.
func (k unknown) String() string {
	var fields []string
	for _, key := range []string{appv1alpha1.AnnotationHeld, appv1alpha1.AnnotationHeldFrom, appv1alpha1.AnnotationPaced} {
		fields = append(fields, fmt.Sprintf("{.metadata.annotations.%s}", strings.ReplaceAll(key, ".", `\.`)))
	}
	return fmt.Sprintf("\nNOT LOOKED AT: the %s, some of which may be paused or in the middle of their steps (%s). List the annotations %s, %s and %s. "+
		"Where there are any, restore the fields that they name, or end the partition or pause:\n"+
		"  kubectl get %s -A -o jsonpath='{range .items[*]}{.metadata.namespace}/{.metadata.name} %s{\"\\n\"}{end}'\n",
		k.name, k.why, appv1alpha1.AnnotationHeld, appv1alpha1.AnnotationHeldFrom, appv1alpha1.AnnotationPaced, k.name, strings.Join(fields, " "))
}
