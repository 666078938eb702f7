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

package rollback

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/history"
	"github.com/traas-stack/altershield-operator/controllers/platform/jsonpointer"
	"github.com/traas-stack/altershield-operator/controllers/platform/workloadpatch"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// target is what a workload goes back to.
type target struct {
	content workload.Content
	// version is the version of the release that the rollback makes. unstamped reports whether the template stays without it.
	version   string
	unstamped bool
	// applied is the content that kubectl had applied at that time, nil where it is unknown.
	applied workload.Content
}

// target returns the content to go back to.
func (r *Roller) target(ctx context.Context, request Request, scene *scene) (target, error) {
	revisions, err := r.History.List(ctx, request.Kind, scene.object)
	if err != nil {
		return target{}, err
	}
	var found target
	if request.Reason == appv1alpha1.RollbackPodsNotRunning {
		found, err = r.healthyOlder(ctx, request, scene, revisions)
	} else {
		found, err = r.verified(request, scene, revisions)
	}
	if err != nil {
		return target{}, err
	}
	for _, revision := range revisions {
		if revision.Content.Equal(found.content) {
			found.applied = revision.Applied
		}
	}
	if found, err = found.identified(request.Kind); err != nil {
		return target{}, fmt.Errorf("computing the version to roll %s back to: %w", request, err)
	}
	return found, nil
}

// identified completes the version of a target. Pods that never left a ControllerRevision restart unless the template becomes the very
// same again, with the version that it carries or without one. Otherwise the version is computed anew: a newer library may hash the same
// template differently.
func (t target) identified(kind workload.Kind) (target, error) {
	keeps := workload.KeepsRevisions(kind)
	if keeps && t.version != "" {
		return t, nil
	}
	t.unstamped = keeps
	var err error
	t.version, err = workload.VersionOf(kind, t.content)
	return t, err
}

// written returns the content as the rollback writes it. The webhook stamps that of most kinds.
func (t target) written(kind workload.Kind) workload.Content {
	if !workload.KeepsRevisions(kind) || t.unstamped {
		return t.content
	}
	return workload.TemplateContent(kind, workload.TemplateOf(kind, t.content).Stamped(t.version))
}

// healthyOlder returns the content of the newest healthy older revision, which may be from before the workload came under change control.
// A run has no content: it counts if that of its version is kept.
func (r *Roller) healthyOlder(ctx context.Context, request Request, scene *scene, revisions []history.Revision) (target, error) {
	kept := map[string]workload.Content{}
	for _, revision := range revisions {
		kept[revision.Version] = revision.Content
	}
	usable := slices.DeleteFunc(slices.Clone(scene.revisions), func(revision decide.Revision) bool {
		return revision.Template == nil && kept[revision.Version] == nil && revision.Version != scene.past.Release.Version
	})
	if err := r.excuse(ctx, usable, request.Patience.Threshold, r.Agreed()); err != nil {
		return target{}, err
	}
	now := r.Clock.Now()
	older := scene.past.HealthyOlder(usable, now)
	switch lost := scene.past.HealthyOlder(scene.revisions, now); {
	case older != nil && older.Template != nil:
		return target{content: workload.TemplateContent(request.Kind, older.Template), version: older.Version}, nil
	case older != nil:
		return target{content: kept[older.Version], version: older.Version}, nil
	case lost != nil:
		return target{}, &Obstacle{ObstacleNoHealthyReplicaSet, fmt.Sprintf(
			"version %s of %s ran before, but its release is not kept, as that of a verified one is", lost.Version, request.phrase())}
	}
	return target{}, &Obstacle{ObstacleNoHealthyReplicaSet, fmt.Sprintf(
		"no older %s of %s still runs all its pods", workload.RevisionNoun(request.Kind), request.phrase())}
}

// verified returns the content of the requested version, or of the newest verified one, from the history or from a revision that still
// exists.
func (r *Roller) verified(request Request, scene *scene, revisions []history.Revision) (target, error) {
	contents := history.ByVersion(request.Kind, scene.revisions)
	for _, revision := range revisions {
		scene.past.Kept = append(scene.past.Kept, decide.Release{Version: revision.Version, Number: revision.Release})
		contents[revision.Version] = revision.Content
	}
	targets := slices.DeleteFunc(scene.past.VerifiedTargets(r.Clock.Now()), func(version string) bool { return contents[version] == nil })
	switch {
	case request.To != "" && !slices.Contains(targets, request.To):
		return target{}, unknownVersion(request, targets, decide.RefusalOf(scene.past.Rollbacks, request.To, r.Clock.Now()))
	case request.To != "":
		return target{content: contents[request.To], version: request.To}, nil
	case len(targets) == 0:
		return target{}, &Obstacle{ObstacleNoVerifiedVersion, request.phrase() + " has no other verified version to go back to"}
	}
	return target{content: contents[targets[0]], version: targets[0]}, nil
}

// unknownVersion returns the obstacle that the requested version isn't among the targets. refused is why it is refused, nil if it isn't.
func unknownVersion(request Request, targets []string, refused *appv1alpha1.Rollback) error {
	message := fmt.Sprintf("%s can't go back to version %q, which is not among its available verified versions", request.phrase(), request.To)
	if len(targets) > 0 {
		message += ": " + strings.Join(targets, ", ")
	}
	if refused != nil {
		message += fmt.Sprintf("; it is refused until %s, because release %d was rolled back: release it with the label %s=true",
			refused.RefusedUntil.UTC().Format(time.RFC3339), refused.Release, appv1alpha1.LabelIgnoredSuspend)
	}
	return &Obstacle{ObstacleUnknownVersion, message}
}

// guards returns tests of what a rollback was decided by and what it overwrites: the API server patches only while all hold. A
// resourceVersion would be a worse guard, as every status update of a rollout changes it.
func guards(kind workload.Kind, raw *unstructured.Unstructured) []workload.Operation {
	tests := []workload.Operation{
		{Op: "test", Path: "/metadata/uid", Value: raw.GetUID()},
		{Op: "test", Path: workloadpatch.LabelPath(appv1alpha1.LabelVersion), Value: raw.GetLabels()[appv1alpha1.LabelVersion]},
	}
	for _, pointer := range slices.Sorted(maps.Keys(workload.ContentOf(kind, raw.Object))) {
		tests = append(tests, workload.Operation{Op: "test", Path: pointer, Value: jsonpointer.Find(raw.Object, jsonpointer.Keys(pointer)...)})
	}
	annotations := raw.GetAnnotations()
	for _, key := range []string{
		appv1alpha1.AnnotationRelease, appv1alpha1.AnnotationRollbacks, appv1alpha1.AnnotationRollback, appv1alpha1.AnnotationRollbackBy,
		corev1.LastAppliedConfigAnnotation,
	} {
		if value, present := annotations[key]; present {
			tests = append(tests, workload.Operation{Op: "test", Path: workloadpatch.AnnotationPath(key), Value: value})
		}
	}
	return tests
}

// patchOf returns the patch that restores the content of a workload, and nothing else of it. It resets the annotation of kubectl
// apply as well: otherwise applying the manifest of the rolled-back version again would keep fields of the earlier one, and so make
// another version, which is not refused.
func patchOf(
	kind workload.Kind, raw *unstructured.Unstructured, restored []workload.Operation, back target, rollbacks []appv1alpha1.Rollback,
) (client.Patch, error) {
	recorded, err := json.Marshal(rollbacks)
	if err != nil {
		return nil, fmt.Errorf("encoding the record: %w", err)
	}
	operations, annotations := guards(kind, raw), raw.GetAnnotations()
	if annotations == nil {
		operations = append(operations, workload.Operation{Op: "add", Path: "/metadata/annotations", Value: struct{}{}})
	}
	operations = append(operations, restored...)
	operations = append(operations, workload.Operation{
		Op: "add", Path: workloadpatch.AnnotationPath(appv1alpha1.AnnotationRollbacks), Value: string(recorded),
	})
	applied, err := withApplied(kind, annotations, back.applied)
	if err != nil {
		return nil, err
	}
	if applied != "" {
		operations = append(operations, workload.Operation{
			Op: "add", Path: workloadpatch.AnnotationPath(corev1.LastAppliedConfigAnnotation), Value: applied,
		})
	}
	for _, request := range []string{appv1alpha1.AnnotationRollback, appv1alpha1.AnnotationRollbackBy} {
		if _, present := annotations[request]; present {
			operations = append(operations, workload.Operation{Op: "remove", Path: workloadpatch.AnnotationPath(request)})
		}
	}
	patch, err := json.Marshal(operations)
	if err != nil {
		return nil, fmt.Errorf("encoding the patch: %w", err)
	}
	return client.RawPatch(types.JSONPatchType, patch), nil
}
