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

package view

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/platform/workloadpatch"
)

// HoldOf returns the request to pause the rollout of a workload as a user. The operator never resumes it.
func HoldOf(facts Facts, reason string) (Request, error) {
	request := requestOf(HoldRequest, facts)
	request.Reason = reason
	pauser, err := pauserOf(facts)
	if err != nil {
		return Request{}, err
	}
	paced := appv1alpha1.PacedOf(facts.Workload.GetAnnotations(), request.From.Release)
	switch by := holdOf(facts); {
	case paced != nil && by != byUser && (paced.Lever != appv1alpha1.LeverGates || by == byOperator && !workloadpatch.IsHeld(facts.Workload)):
		return Request{}, fmt.Errorf("release %d of %s is rolled out in steps: kubectl altershield freeze lock LOCK %s --running=Hold --reason WHY keeps it at its step",
			request.From.Release, request.Object, facts.Arguments())
	case by == byOperator:
		return Request{}, fmt.Errorf("the operator holds the rollout of %s already: kubectl altershield why %s shows for what", request.Object, facts.Arguments())
	case by == byUser:
		return Request{}, fmt.Errorf("the rollout of %s is paused by a user already", request.Object)
	}
	operations := pauser.Pause(facts.Workload)
	if fields := lost(pauser, facts.Workload, operations); fields != "" {
		return Request{}, fmt.Errorf("a pause of %s would overwrite what resume can't restore: %s; set the field yourself", request.Object, fields)
	}
	if len(operations) == 0 {
		return Request{}, fmt.Errorf("%s can't be paused: the value that holds it depends on the object before its release", request.Object)
	}
	if facts.Reference.Kind != "Deployment" { // which has a field for that alone
		request.Changes = changesBy(operations)
	}
	return request, nil
}

// ResumeOf returns the request to let a paused rollout go on. With override that is one that the operator holds.
func ResumeOf(facts Facts, override bool, reason string) (Request, error) {
	request := requestOf(ResumeRequest, facts)
	request.Reason = reason
	pauser, err := pauserOf(facts)
	if err != nil {
		return Request{}, err
	}
	switch by := holdOf(facts); {
	case by == notPaused:
		return Request{}, fmt.Errorf("the rollout of %s isn't paused", request.Object)
	case by == byOperator && !override:
		return Request{}, fmt.Errorf("the operator holds the rollout of %s, no user has paused it: kubectl altershield why %s shows for what; --override resumes it all the same",
			request.Object, facts.Arguments())
	}
	operations := pauser.Resume(facts.Workload, appv1alpha1.OriginalsOf(facts.Workload.GetAnnotations()))
	if len(operations) == 0 {
		return Request{}, fmt.Errorf("%s is paused by its strategy, not by a value that hold sets: change the strategy yourself", request.Object)
	}
	if facts.Reference.Kind != "Deployment" {
		request.Changes = changesBy(operations)
	}
	return request, nil
}

// pausedBy is who paused a rollout.
type pausedBy int

const (
	notPaused pausedBy = iota
	byUser
	byOperator
)

func holdOf(facts Facts) pausedBy {
	switch read := workloadOf(facts); {
	case read.Held:
		return byOperator
	case read.Paused:
		return byUser
	}
	return notPaused
}

// SetPaused pauses a workload, with the reason of the user, or resumes it.
func SetPaused(facts Facts, object *unstructured.Unstructured, paused bool, reason string) error {
	pauser, err := pauserOf(facts)
	if err != nil {
		return err
	}
	Annotate(object, appv1alpha1.AnnotationPauseReason, reason)
	Annotate(object, appv1alpha1.AnnotationReason, "") // of a pause by an earlier version
	operations := pauser.Resume(object, appv1alpha1.OriginalsOf(object.GetAnnotations()))
	if paused {
		operations = pauser.Pause(object)
	}
	if err := apply(object, operations); err != nil {
		return fmt.Errorf("pausing or resuming %s: %w", Argument(facts.Reference), err)
	}
	return nil
}

// Ask sets the annotation of a request to the operator, with its reason. One from before goes.
func Ask(object *unstructured.Unstructured, key, value, reason string) {
	Annotate(object, key, value)
	Annotate(object, appv1alpha1.AnnotationReason, reason)
}

// Annotate sets an annotation, or removes it if the value is empty.
func Annotate(object *unstructured.Unstructured, key, value string) {
	annotations := object.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[key] = value
	if value == "" {
		delete(annotations, key)
	}
	object.SetAnnotations(annotations)
}
