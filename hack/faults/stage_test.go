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
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/controllers/workload/deployment"
	"github.com/traas-stack/altershield-operator/controllers/workload/statefulset"
	"github.com/traas-stack/altershield-operator/hack/lab"
)

// stageOf returns the stage of a workload on a control plane.
func stageOf(kube client.WithWatch, kind workload.Kind) *stage {
	return &stage{group: &group{Lab: &lab.Lab{Kube: kube}, keeper: &keeper{}}, scenario: scenario{kind: kind}, namespace: "shop", name: workloadName}
}

// struck returns the result of a trouble that strikes a Deployment.
func struck(t *testing.T, strike step) (*stage, error) {
	sleeping := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", Labels: map[string]string{"suspend": "1"}}}
	s := stageOf(fake.NewClientBuilder().WithObjects(sleeping).Build(), deployment.Kind{})
	if strike != nil {
		s.trouble = &trouble{name: "a-trouble", strike: strike}
	}
	return s, moment(t.Context(), s)
}

func TestMomentIsPassedWithoutATrouble(t *testing.T) {
	g := NewWithT(t)
	s, err := struck(t, nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(s.struck).To(BeFalse())
}

func TestMomentLetsATroubleStrikeThatChangesNothing(t *testing.T) {
	g := NewWithT(t)
	s, err := struck(t, func(context.Context, *stage) error { return nil })
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(s.struck).To(BeTrue())
}

func TestMomentCatchesAChangeOfTheDeployment(t *testing.T) {
	for change, line := range map[string]string{
		`{"metadata":{"labels":{"suspend":"2"}}}`:      `.metadata.labels.suspend: "2", expected "1"`,
		`{"metadata":{"labels":{"suspend":null}}}`:     `.metadata.labels.suspend: missing, expected "1"`,
		`{"metadata":{"annotations":{"release":"3"}}}`: `.metadata.annotations.release: unexpected "3"`,
		`{"spec":{"paused":true}}`:                     `.spec.paused: unexpected "true"`,
	} {
		_, err := struck(t, func(ctx context.Context, s *stage) error { return s.patch(ctx, change) })
		NewWithT(t).Expect(err).To(MatchError("a-trouble changed the Deployment:\n        Deployment " + line))
	}
}

func TestMomentTellsThatATroubleCouldNotStrike(t *testing.T) {
	s, err := struck(t, func(context.Context, *stage) error { return errors.New("no API server") })
	g := NewWithT(t)
	g.Expect(err).To(MatchError("injecting a-trouble: no API server"))
	g.Expect(s.struck).To(BeFalse())
}

func TestCurrentReadsTheRecordOfTheKind(t *testing.T) {
	g := NewWithT(t)
	labels := map[string]string{"admission-webhook-altershield.antgroup.com/version": "a"}
	kube := fake.NewClientBuilder().WithScheme(testkit.Scheme()).WithObjects(
		&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", Labels: labels}},
		&appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", Labels: labels}},
		&appv1alpha1.ChangeWorkload{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web--x--a"}},
		&appv1alpha1.ChangeWorkload{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "statefulsets.web--x--a"},
			Spec:       appv1alpha1.ChangeWorkloadSpec{Release: 1}, Status: appv1alpha1.ChangeWorkloadStatus{ObservedRelease: 1},
		},
	).Build()
	s := stageOf(kube, statefulset.Kind{})
	now, err := s.current(t.Context(), kube)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(now.object).To(BeAssignableToTypeOf(&appsv1.StatefulSet{}))
	g.Expect(now.record.Name).To(Equal("statefulsets.web--x--a"))
}
