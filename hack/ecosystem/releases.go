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
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/hack/lab"
)

const (
	// shop is the namespace of the workload, which has the same name.
	shop = "shop"
	// attemptEvery is the interval of releases that are only tried.
	attemptEvery = 100 * time.Millisecond
)

// release releases a version for real, and waits until the operator has verified it.
func (s *stage) release(ctx context.Context, note string) error {
	if err := s.lab.Release(ctx, appsv1.SchemeGroupVersion.WithKind("Deployment"), shop, shop, note); err != nil {
		return err
	}
	deployment := &appsv1.Deployment{}
	if err := s.lab.Kube.Get(ctx, client.ObjectKey{Namespace: shop, Name: shop}, deployment); err != nil {
		return err
	}
	version := deployment.Spec.Template.Labels[appv1alpha1.LabelVersion]
	if deployment.Spec.Template.Annotations["note"] != note || version == "" {
		return fmt.Errorf("release %q has no version: %v", note, deployment.Spec.Template.ObjectMeta)
	}
	return lab.Until(ctx, patience, fmt.Sprintf("release %q to be verified", note), func(ctx context.Context) error {
		record, err := s.lab.NewestRecord(ctx, deployment)
		if err != nil {
			return errors.Join(s.lab.Ended(), err)
		}
		if record.Spec.Reversion != version || record.Status.Status != appv1alpha1.ChangeWorkloadSuccess {
			return errors.Join(s.lab.Ended(), fmt.Errorf("the newest record is of version %s, and %s", record.Spec.Reversion, record.Status.Status))
		}
		s.tell("operator", "release %d (%s) is admitted, stamped and verified", record.Spec.Release, note)
		return nil
	})
}

// attempts is what became of releases that were only tried, as dry runs.
type attempts struct {
	passed int
	// refused are the distinct errors, with how often each came.
	refused map[string]int
}

// unharmed returns an error if one was refused, or none was tried.
func (a attempts) unharmed() error {
	if len(a.refused) > 0 || a.passed == 0 {
		return fmt.Errorf("of the releases meanwhile %d passed, and these were refused: %v", a.passed, a.refused)
	}
	return nil
}

// during tries releases for as long as something takes. Each is stamped with a version of its own, or counts as refused.
func (s *stage) during(ctx context.Context, something func(context.Context) error) (attempts, error) {
	done := make(chan error, 1)
	go func() { done <- something(ctx) }()
	tick := time.NewTicker(attemptEvery)
	defer tick.Stop()
	tried, versions := attempts{refused: map[string]int{}}, map[string]bool{}
	for number := 0; ; number++ {
		version, err := s.attempt(ctx, "attempt "+strconv.Itoa(number))
		switch {
		case err != nil:
			tried.refused[err.Error()]++
		case version == "" || versions[version]:
			tried.refused["it has no version of its own"]++
		default:
			versions[version] = true
			tried.passed++
		}
		select {
		case err := <-done:
			return tried, err
		case <-tick.C:
		}
	}
}

// attempt tries a release as a dry run, and returns the version that it would have.
func (s *stage) attempt(ctx context.Context, note string) (string, error) {
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: shop, Name: shop}}
	patch := fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{"note":%q}}}}}`, note)
	err := s.lab.Kube.Patch(ctx, deployment, client.RawPatch(types.MergePatchType, []byte(patch)), client.DryRunAll)
	return deployment.Spec.Template.Labels[appv1alpha1.LabelVersion], err
}
