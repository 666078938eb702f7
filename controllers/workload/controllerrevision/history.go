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

package controllerrevision

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/podtemplate"
)

// Finds earlier pod templates of StatefulSets and DaemonSets: the cache holds none.
// +kubebuilder:rbac:groups=apps,resources=controllerrevisions,verbs=list
// Finds the orphaned revision that a created StatefulSet or DaemonSet adopts.
// +kubebuilder:rbac:groups=apps,resources=controllerrevisions,verbs=list
// Finds out whether the pods of an earlier revision are ready: the cache holds none from before change control.
// +kubebuilder:rbac:groups="",resources=pods,verbs=list

// History lists the ControllerRevisions that a workload controls. It needs the whole workload, with its selector and its status.
func (s Set) History(ctx context.Context, live client.Reader, object client.Object) ([]decide.Revision, error) {
	typed, selector, err := s.decode(object)
	if err != nil {
		return nil, fmt.Errorf("reading %s %s: %w", s.Kind.GroupVersionKind().Kind, client.ObjectKeyFromObject(object), err)
	}
	kept, err := s.kept(ctx, live, object, selector)
	if err != nil {
		return nil, err
	}
	pods, err := s.pods(ctx, live, object, selector)
	if err != nil {
		return nil, err
	}
	revisions := s.read(typed, kept, pods)
	for i := range revisions {
		if revisions[i].Template, err = templateOf(&kept[i]); err != nil {
			return nil, err
		}
	}
	return revisions, nil
}

// Finds the revision of an observed release, whose pods have no version label.
// +kubebuilder:rbac:groups=apps,resources=controllerrevisions,verbs=list

// Identify returns the newest ControllerRevision with a version that a workload controls, without its health.
func (s Set) Identify(ctx context.Context, live client.Reader, object *unstructured.Unstructured, version string) (*decide.Revision, error) {
	_, selector, err := s.decode(object)
	if err != nil {
		return nil, fmt.Errorf("reading %s %s: %w", s.Kind.GroupVersionKind().Kind, client.ObjectKeyFromObject(object), err)
	}
	kept, err := s.kept(ctx, live, object, selector)
	if err != nil {
		return nil, err
	}
	revisions := make([]decide.Revision, len(kept))
	for i := range kept {
		revisions[i] = s.Revision(&kept[i])
		if revisions[i].Template, err = templateOf(&kept[i]); err != nil {
			return nil, err
		}
	}
	newest, err := decide.IdentifyByTemplate(revisions, version)
	if err != nil {
		return nil, fmt.Errorf("reading the ControllerRevisions of %s %s: %w", s.Kind.GroupVersionKind().Kind, client.ObjectKeyFromObject(object), err)
	}
	return newest, nil
}

// kept lists the ControllerRevisions that a workload controls.
func (s Set) kept(ctx context.Context, live client.Reader, object client.Object, selector labels.Selector) ([]appsv1.ControllerRevision, error) {
	var kept appsv1.ControllerRevisionList
	err := live.List(ctx, &kept, client.InNamespace(object.GetNamespace()), client.MatchingLabelsSelector{Selector: native(selector)})
	if err != nil {
		return nil, fmt.Errorf("listing the ControllerRevisions of %s %s: %w", s.Kind.GroupVersionKind().Kind, client.ObjectKeyFromObject(object), err)
	}
	// Another workload may have the same selector.
	return slices.DeleteFunc(kept.Items, func(revision appsv1.ControllerRevision) bool { return !metav1.IsControlledBy(&revision, object) }), nil
}

// Pods lists the pods that a workload controls, with those from before change control. It needs the whole workload, with its selector.
func (s Set) Pods(ctx context.Context, live client.Reader, object client.Object) ([]corev1.Pod, error) {
	_, selector, err := s.decode(object)
	if err != nil {
		return nil, fmt.Errorf("reading %s %s: %w", s.Kind.GroupVersionKind().Kind, client.ObjectKeyFromObject(object), err)
	}
	return s.pods(ctx, live, object, selector)
}

func (s Set) pods(ctx context.Context, live client.Reader, object client.Object, selector labels.Selector) ([]corev1.Pod, error) {
	var pods corev1.PodList
	if err := live.List(ctx, &pods, client.InNamespace(object.GetNamespace()), client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return nil, fmt.Errorf("listing the pods of %s %s: %w", s.Kind.GroupVersionKind().Kind, client.ObjectKeyFromObject(object), err)
	}
	// Another workload may have the same selector.
	return slices.DeleteFunc(pods.Items, func(pod corev1.Pod) bool { return !metav1.IsControlledBy(&pod, object) }), nil
}

// Orphans lists the ControllerRevisions with a version that nothing controls and that a created workload selects.
func (s Set) Orphans(ctx context.Context, live client.Reader, created client.Object, version string) ([]decide.Revision, error) {
	_, selector, err := s.decode(created)
	if err != nil {
		return nil, fmt.Errorf("reading the %s: %w", s.Kind.GroupVersionKind().Kind, err)
	}
	stamped, _ := labels.SelectorFromSet(labels.Set{appv1alpha1.LabelVersion: version}).Requirements()
	var list appsv1.ControllerRevisionList
	err = live.List(ctx, &list, client.InNamespace(created.GetNamespace()), client.MatchingLabelsSelector{Selector: native(selector).Add(stamped...)})
	if err != nil {
		return nil, fmt.Errorf("listing the ControllerRevisions with version %s in namespace %s: %w", version, created.GetNamespace(), err)
	}
	var orphans []decide.Revision
	for i := range list.Items {
		if metav1.GetControllerOfNoCopy(&list.Items[i]) != nil {
			continue
		}
		orphan := s.Revision(&list.Items[i])
		if orphan.Template, err = templateOf(&list.Items[i]); err != nil {
			return nil, err
		}
		orphans = append(orphans, orphan)
	}
	return orphans, nil
}

// decode returns a workload, which may be untyped, in the type of its kind, and the selector of its pods.
func (s Set) decode(object client.Object) (client.Object, labels.Selector, error) {
	if untyped, ok := object.(*unstructured.Unstructured); ok {
		object = s.Kind.New()
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(untyped.Object, object); err != nil {
			return nil, nil, err
		}
	}
	var of *metav1.LabelSelector
	switch set := object.(type) {
	case *appsv1.StatefulSet:
		of = set.Spec.Selector
	case *appsv1.DaemonSet:
		of = set.Spec.Selector
	}
	selector, err := metav1.LabelSelectorAsSelector(of)
	return object, selector, err
}

// templateOf takes the pod template out of the patch that its controller keeps. Numbers are of the types that an unstructured
// object has, so that templates can be compared.
func templateOf(revision *appsv1.ControllerRevision) (podtemplate.Template, error) {
	var patch map[string]any
	if err := utiljson.Unmarshal(revision.Data.Raw, &patch); err != nil {
		return nil, fmt.Errorf("decoding the data of ControllerRevision %s: %w", client.ObjectKeyFromObject(revision), err)
	}
	template := podtemplate.Of(patch)
	if len(template) == 0 {
		return nil, fmt.Errorf("the data of ControllerRevision %s holds no pod template", client.ObjectKeyFromObject(revision))
	}
	return template, nil
}
