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

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/hack/lab"
)

const (
	// patience is how long a state may take to be reached: longer than any fault lasts, and shorter than the two minutes after
	// which the operator gives up on a batch.
	patience = 100 * time.Second

	workloadName = "web"
	// otherName is that of a workload beside it.
	otherName = "other"
)

// stage is the namespace of a scenario.
type stage struct {
	*group
	scenario
	namespace string
	// name is that of the workload.
	name string
	// killed is how often the manager was killed before.
	killed int64
	// trouble strikes at the moment of the scenario, nil for none; struck reports that it has.
	trouble *trouble
	struck  bool
	// late is when the pods that don't run at that moment are certainly late.
	late time.Time
	// revision is the resourceVersion to which a past view returns.
	revision string
	// source is where the manager asks for metrics, nil before it does.
	source *front
	// asker is the plug-in that the manager asks, nil without one.
	asker *asker
	// inbox has the messages of a ChangeSubscription, nil without one.
	inbox *inbox
}

// seen is the workload of a stage with the record of its current release.
type seen struct {
	*stage
	object client.Object
	record *appv1alpha1.ChangeWorkload
}

// awaits waits until something holds for the workload and its record.
func awaits(what string, holds func(context.Context, seen) error) step {
	return func(ctx context.Context, s *stage) error { return until(ctx, what, s.now(s.watched, holds)) }
}

// acts does something with the workload and its record as a user.
func acts(what string, act func(context.Context, seen) error) step {
	return func(ctx context.Context, s *stage) error { return s.write(ctx, what, s.now(s.Kube, act)) }
}

// now calls a function with the workload and the record of its current release. Those who wait read what is watched, those who write read live.
func (s *stage) now(from client.Reader, call func(context.Context, seen) error) func(context.Context) error {
	return func(ctx context.Context) error {
		seen, err := s.current(ctx, from)
		if err != nil {
			return err
		}
		return call(ctx, seen)
	}
}

// until polls until holds returns nil. Its error says what is missing.
func until(ctx context.Context, what string, holds func(context.Context) error) error {
	return lab.Until(ctx, patience, what, holds)
}

// expect returns an error unless something holds.
func expect(holds bool, format string, found ...any) error {
	if holds {
		return nil
	}
	return fmt.Errorf(format, found...)
}

// write acts as a user, repeatedly if the API server fails.
func (s *stage) write(ctx context.Context, what string, act func(context.Context) error) error {
	var refused error
	err := until(ctx, what, func(ctx context.Context) error {
		err := s.keeper.asUser(func() error { return act(ctx) })
		if apierrors.IsForbidden(err) || apierrors.IsInvalid(err) {
			refused = err
			return nil
		}
		return err
	})
	return errors.Join(refused, err)
}

// created creates an object, unless an earlier attempt has whose answer was lost.
func (s *stage) created(ctx context.Context, object client.Object) error {
	return s.write(ctx, fmt.Sprintf("%T %s", object, object.GetName()), func(ctx context.Context) error {
		return client.IgnoreAlreadyExists(s.Kube.Create(ctx, object))
	})
}

// createReady creates an object, and waits until the manager has found it usable.
func (s *stage) createReady(ctx context.Context, object client.Object, is func() error) error {
	if err := s.created(ctx, object); err != nil {
		return err
	}
	return s.usable(ctx, object, is)
}

// readyIn returns an error unless the condition Ready is true.
func readyIn(conditions *[]metav1.Condition) func() error {
	return func() error {
		return expect(meta.IsStatusConditionTrue(*conditions, appv1alpha1.ConditionReady), "it isn't ready")
	}
}

// with plays beside an object that the manager has found usable, and deletes it.
func (s *stage) with(ctx context.Context, object client.Object, is func() error, play step) error {
	defer func() { _ = s.Kube.Delete(context.WithoutCancel(ctx), object) }() // on failure it only costs time
	if err := s.createReady(ctx, object, is); err != nil {
		return err
	}
	return play(ctx, s)
}

func (s *stage) key(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: s.namespace, Name: name}
}

// patch changes the workload like kubectl patch --type=merge.
func (s *stage) patch(ctx context.Context, content string) error {
	return s.write(ctx, "the patch "+content, func(ctx context.Context) error {
		object := s.kind.New()
		object.SetNamespace(s.namespace)
		object.SetName(s.name)
		return s.Kube.Patch(ctx, object, client.RawPatch(types.MergePatchType, []byte(content)))
	})
}

// beside makes a step of the workload one of another workload in the namespace.
func beside(act step) step {
	return func(ctx context.Context, s *stage) error { return act(ctx, s.beside()) }
}

func (s *stage) beside() *stage {
	other := *s
	other.name = otherName
	return &other
}

// current returns the workload and the record of its current release.
func (s *stage) current(ctx context.Context, from client.Reader) (seen, error) {
	now := seen{s, s.kind.New(), &appv1alpha1.ChangeWorkload{}}
	if err := from.Get(ctx, s.key(s.name), now.object); err != nil {
		return seen{}, err
	}
	release := decide.ReleaseOf(now.object)
	if err := from.Get(ctx, s.key(workload.RecordName(s.kind, s.name, release.Version)), now.record); err != nil {
		return seen{}, err
	}
	if now.record.Spec.Release != release.Number || now.record.Status.ObservedRelease != release.Number {
		return seen{}, fmt.Errorf("release %d is not recorded yet", release.Number)
	}
	return now, nil
}

// verified waits until a release has reached Success and its record is the only one of the workload.
func verified(release int64) step {
	return awaits(fmt.Sprintf("the success of release %d", release), func(ctx context.Context, s seen) error {
		var all appv1alpha1.ChangeWorkloadList
		if err := s.watched.List(ctx, &all, client.InNamespace(s.namespace)); err != nil {
			return err
		}
		all.Items = slices.DeleteFunc(all.Items, func(one appv1alpha1.ChangeWorkload) bool { return !metav1.IsControlledBy(&one, s.object) })
		_, suspended := s.object.GetLabels()[appv1alpha1.LabelSuspend]
		if s.record.Spec.Release != release || s.record.Status.Status != appv1alpha1.ChangeWorkloadSuccess || suspended || len(all.Items) != 1 {
			return fmt.Errorf("the workload is at release %d with status %q, suspended %t, of %d records",
				s.record.Spec.Release, s.record.Status.Status, suspended, len(all.Items))
		}
		return s.cleared(ctx, s.record)
	})
}

// cleared returns an error until the batches of past releases of the workload are deleted. If the same version were released again before, its
// batches would get higher numbers.
func (s *stage) cleared(ctx context.Context, record *appv1alpha1.ChangeWorkload) error {
	var batches appv1alpha1.ChangePodList
	if err := s.watched.List(ctx, &batches, client.InNamespace(s.namespace)); err != nil {
		return err
	}
	ours := strings.TrimSuffix(record.Name, record.Spec.Reversion)
	for i := range batches.Items {
		batch := &batches.Items[i]
		present := metav1.IsControlledBy(batch, record) && batch.Spec.Release == record.Spec.Release
		if strings.HasPrefix(batch.Name, ours) && !present {
			return fmt.Errorf("ChangePod %s is not deleted yet", batch.Name)
		}
	}
	return nil
}

// suspended waits until a release has suspended the workload.
func suspended(release int64) step {
	return awaits(fmt.Sprintf("the suspension by release %d", release), func(_ context.Context, s seen) error {
		_, suspended := s.object.GetLabels()[appv1alpha1.LabelSuspend]
		return expect(s.record.Spec.Release == release && s.record.Status.Status == appv1alpha1.ChangeWorkloadSuspend && suspended,
			"the workload is at release %d with status %q, suspended %t", s.record.Spec.Release, s.record.Status.Status, suspended)
	})
}

// denied makes a release that has to be denied, because the workload is suspended.
func denied(ctx context.Context, s *stage) error {
	err := s.patch(ctx, template("denied", ""))
	return expect(err != nil && strings.Contains(err.Error(), workload.Phrase(s.kind, s.name)+" is suspended"),
		"a release of the suspended workload should be denied for that: %v", err)
}

// judges sets the verdict of the n-th batch of the current release, as a user would.
func judges(batch int64, verdict appv1alpha1.Verdict, message string) step {
	return acts("a verdict by hand", func(ctx context.Context, s seen) error {
		return lab.JudgeBatch(ctx, s.Kube, s.record, batch, verdict, message)
	})
}

// failed sets it to unpass, withdrawn to pass.
func failed(batch int64) step    { return judges(batch, appv1alpha1.VerdictUnpass, "find error") }
func withdrawn(batch int64) step { return judges(batch, appv1alpha1.VerdictPass, "") }

// template returns a patch that makes a release; labels are set on the workload.
func template(value, labels string) string {
	return fmt.Sprintf(`{"metadata":{"labels":{%s}},"spec":{"template":{"metadata":{"labels":{"test":%q}}}}}`, labels, value)
}

const repairing = `"altershield.defense.antgroup.com/ignored-suspend":"true"`
