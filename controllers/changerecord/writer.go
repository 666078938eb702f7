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

// Package changerecord writes ChangeRecords and removes them by age and number.
package changerecord

import (
	"cmp"
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/delivery"
	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
	"github.com/traas-stack/altershield-operator/controllers/settings"
)

// Finds the records of a workload, and those that are too old or too many. They are not cached.
// +kubebuilder:rbac:groups=app.ops.cloud.alipay.com,resources=changerecords,verbs=list
// Reads the record before a new one, for its hash.
// +kubebuilder:rbac:groups=app.ops.cloud.alipay.com,resources=changerecords,verbs=get
// Records the outcome of a release.
// +kubebuilder:rbac:groups=app.ops.cloud.alipay.com,resources=changerecords,verbs=create
// Reads the images of a pod of a release, and their digests, which the cache doesn't hold.
// +kubebuilder:rbac:groups="",resources=pods,verbs=list

// pageSize is how many records one request lists.
const pageSize = 500

// Writer writes the ChangeRecords of releases.
type Writer struct {
	Client client.Client
	// Live reads from the API server: ChangeRecords are not cached.
	Live     client.Reader
	Settings settings.Reader
	Clock    clock.PassiveClock
	// Delivery counts the releases that are recorded.
	Delivery *delivery.Metrics
}

// Record writes the ChangeRecord of a release whose status is about to become next, if it has an outcome that no record has. It returns what
// the status has to note, nil for nothing, and one without an outcome where ChangeRecords are off and none is owed any more. After an error it
// notes that the record is owed, so that it is written later.
//
// The record comes before the status: a crash in between leaves a record of the same name, which is then found. A record that can't be
// written holds nothing back. A nil Writer writes none.
func (w *Writer) Record(
	ctx context.Context, workload *appv1alpha1.ChangeWorkload, next *appv1alpha1.ChangeWorkloadStatus, facts decide.RecordFacts,
) (*appv1alpha1.RecordedOutcome, error) {
	if w == nil {
		return nil, nil
	}
	plan := decide.PlanRecord(workload, next, facts.End)
	if plan == nil {
		return nil, nil
	}
	recorded, err := w.write(ctx, workload, next, *plan, facts)
	if scope.IsEnding(err) {
		return nil, nil
	}
	if err != nil {
		err = fmt.Errorf("writing the ChangeRecord of release %d of %s/%s: %w", workload.Spec.Release, workload.Namespace, workload.Spec.AppName, err)
		owed := decide.Shorten(err.Error(), maxOwed)
		return &appv1alpha1.RecordedOutcome{Outcome: plan.Outcome, Corrections: plan.Correction, Owed: owed}, err
	}
	return recorded, nil
}

// maxOwed is the maximum length of status.recorded.owed in the CRD.
const maxOwed = 1024

func (w *Writer) write(
	ctx context.Context, workload *appv1alpha1.ChangeWorkload, next *appv1alpha1.ChangeWorkloadStatus, plan decide.RecordPlan, facts decide.RecordFacts,
) (*appv1alpha1.RecordedOutcome, error) {
	kept, err := w.Settings.ChangeRecords(ctx)
	switch {
	case err != nil:
		return nil, err
	case kept == 0 && next.Recorded != nil && next.Recorded.Owed != "":
		return &appv1alpha1.RecordedOutcome{}, nil // nothing is owed any more
	case kept == 0:
		return nil, nil
	}
	names, err := w.names(ctx, workload)
	if err != nil {
		return nil, err
	}
	if err := w.place(ctx, workload, names, &facts); err != nil {
		return nil, err
	}
	if facts.Previous != nil && decide.IsRecordOf(facts.Previous, workload) && !plan.After(facts.Previous) {
		return &appv1alpha1.RecordedOutcome{Outcome: facts.Previous.Spec.Outcome, Corrections: facts.Previous.Spec.Correction}, nil
	}
	if facts.Images, err = w.images(ctx, workload.Namespace, next); err != nil {
		return nil, err
	}
	if !workload.Spec.Observed { // an observed release has no steps, but may have the number of one that has
		var approvals appv1alpha1.ChangeApprovalList
		if err := w.Live.List(ctx, &approvals, client.InNamespace(workload.Namespace)); err != nil {
			return nil, fmt.Errorf("listing the ChangeApprovals in namespace %s: %w", workload.Namespace, err)
		}
		facts.Approvals = decide.ApprovalsOf(workload, approvals.Items)
	}
	record := decide.NewChangeRecord(workload, next, plan, facts, w.Clock.Now())
	// The write isn't recorded for later reads: the cache would watch a kind that isn't read from it.
	if err := w.Client.Create(ctx, record, client.DisableReadYourWritesConsistency); err != nil {
		return nil, fmt.Errorf("creating ChangeRecord %s/%s: %w", record.Namespace, record.Name, err)
	}
	// The API server creates a record once, so a release counts once, whatever crashes and however many leaders there are.
	w.Delivery.Recorded(record, facts.Previous)
	return &appv1alpha1.RecordedOutcome{Outcome: plan.Outcome, Corrections: plan.Correction}, nil
}

// place finds the record after which that of a release is to be written, which may be of the release itself, and the number in the name of the
// new one. A release whose number has the record of another one, as the count began anew, is recorded after the newest: the numbers in the
// names are the order of the chain.
func (w *Writer) place(ctx context.Context, workload *appv1alpha1.ChangeWorkload, names []string, facts *decide.RecordFacts) error {
	facts.Number = workload.Spec.Release
	newest := decide.NewestRecord(names)
	if newest == "" {
		return nil
	}
	var err error
	if facts.Previous, facts.PreviousHash, err = w.read(ctx, workload.Namespace, newest); err != nil {
		return err
	}
	last, _ := decide.PlaceOf(newest)
	began := time.Unix(workload.Spec.CreateTimeUnix, 0)
	switch {
	case decide.IsRecordOf(facts.Previous, workload):
		facts.Number = last.Release
		return nil
	case last.Release < workload.Spec.Release:
		return nil
	case facts.Previous.Spec.StartedAt.Time.Before(began):
		facts.Number = last.Release + 1
		return nil
	}
	own, before := decide.Neighbours(names, workload.Spec.Release) // a later release has its record already
	name := cmp.Or(own, before)
	if name == "" {
		facts.Previous, facts.PreviousHash = nil, ""
		return nil
	}
	record, hash, err := w.read(ctx, workload.Namespace, name)
	if err != nil {
		return err
	}
	if own != "" && !decide.IsRecordOf(record, workload) {
		facts.Number = last.Release + 1
		return nil
	}
	facts.Previous, facts.PreviousHash = record, hash
	return nil
}

// names lists the names of the ChangeRecords of a workload.
func (w *Writer) names(ctx context.Context, workload *appv1alpha1.ChangeWorkload) ([]string, error) {
	var names []string
	key := decide.RecordKey(workload.Workload().UID, workload.Spec.Observed)
	for next := ""; ; {
		page := newList()
		err := w.Live.List(ctx, page, client.InNamespace(workload.Namespace), client.MatchingLabels{appv1alpha1.LabelRecordOf: key},
			client.Limit(pageSize), client.Continue(next))
		if err != nil {
			return nil, fmt.Errorf("listing the ChangeRecords of %s/%s: %w", workload.Namespace, workload.Spec.AppName, err)
		}
		for i := range page.Items {
			names = append(names, page.Items[i].Name)
		}
		if next = page.Continue; next == "" {
			return names, nil
		}
	}
}

// newList returns a list of the metadata of ChangeRecords.
func newList() *metav1.PartialObjectMetadataList {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(appv1alpha1.GroupVersion.WithKind("ChangeRecordList"))
	return list
}

// read reads a ChangeRecord and its hash.
func (w *Writer) read(ctx context.Context, namespace, name string) (*appv1alpha1.ChangeRecord, string, error) {
	stored := &unstructured.Unstructured{}
	stored.SetGroupVersionKind(appv1alpha1.GroupVersion.WithKind("ChangeRecord"))
	if err := w.Live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, stored); err != nil {
		return nil, "", fmt.Errorf("reading ChangeRecord %s/%s: %w", namespace, name, err)
	}
	record, hash, err := decide.DecodeRecord(stored)
	return &record, hash, err
}

// images returns the images of a pod of a release, nil where none is left. The pod is listed, as the operator may not get pods.
func (w *Writer) images(ctx context.Context, namespace string, status *appv1alpha1.ChangeWorkloadStatus) ([]appv1alpha1.RecordedImage, error) {
	of := decide.PodOf(status)
	if of == nil {
		return nil, nil
	}
	var pods corev1.PodList
	if err := w.Live.List(ctx, &pods, client.InNamespace(namespace), client.MatchingFields{"metadata.name": of.Pod}); err != nil {
		return nil, fmt.Errorf("reading pod %s/%s: %w", namespace, of.Pod, err)
	}
	// The pod of a StatefulSet has the name of the one before, which may be of another release.
	if len(pods.Items) == 0 || pods.Items[0].UID != of.UID {
		return nil, nil
	}
	return decide.ImagesOf(&pods.Items[0]), nil
}
