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

package workload_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/controllers/workload/cronjob"
	"github.com/traas-stack/altershield-operator/controllers/workload/daemonset"
	"github.com/traas-stack/altershield-operator/controllers/workload/deployment"
	jobs "github.com/traas-stack/altershield-operator/controllers/workload/job"
	"github.com/traas-stack/altershield-operator/controllers/workload/statefulset"
)

// templateless is a kind without a pod template.
type templateless struct{ workload.Kind }

func (templateless) TemplatePath() []string { return nil }

// revised is a kind whose pods are told apart by their revision.
type revised struct {
	workload.Kind
	labels bool
}

func (revised) Identify(context.Context, client.Reader, *unstructured.Unstructured, string, time.Time) (*decide.Revision, error) {
	return nil, nil
}
func (r revised) LabelsPods() bool { return r.labels }

// pausedRevised is one whose rollouts can be paused.
type pausedRevised struct {
	revised
	pauser
}

type pauser = workload.Pauser

// units is a kind that is judged by what its status lists.
type units struct{ workload.Kind }

func (units) Health(client.Object) (workload.Health, string) { return workload.HealthUnknown, "" }
func (units) Units(client.Object) []appv1alpha1.PodSummary   { return nil }

func TestLeverOf(t *testing.T) {
	for name, row := range map[string]struct {
		kind  workload.Kind
		lever appv1alpha1.Lever
	}{
		"a Deployment":                           {deployment.Kind{}, "Gates"},
		"a StatefulSet":                          {statefulset.Kind{}, "Partition"},
		"a DaemonSet":                            {daemonset.Kind{}, "Nodes"},
		"a CronJob":                              {cronjob.Kind{}, ""},
		"a Job":                                  {jobs.Kind{}, ""},
		"a kind without a pod template":          {templateless{bare{deployment.Kind{}}}, ""},
		"a kind whose templates keep no label":   {revised{bare{deployment.Kind{}}, true}, ""},
		"another kind whose pods have revisions": {revised{bare{deployment.Kind{}}, false}, "Gates"},
		"a kind whose templates keep no label, with a pause": {pausedRevised{revised{bare{deployment.Kind{}}, true}, deployment.Kind{}}, "Gates"},
		"a kind without pods":                                {units{bare{deployment.Kind{}}}, ""},
		"another kind, with a template":                      {bare{deployment.Kind{}}, "Gates"},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(workload.LeverOf(row.kind)).To(Equal(row.lever))
		})
	}
}

// stateful is a kind whose pods have volumes of their own.
type stateful struct{ workload.Kind }

func (stateful) HasData(client.Object) bool { return true }

func TestHasData(t *testing.T) {
	g := NewWithT(t)
	g.Expect(workload.HasData(deployment.Kind{}, &appsv1.Deployment{})).To(BeFalse())
	g.Expect(workload.HasData(stateful{deployment.Kind{}}, &appsv1.Deployment{})).To(BeTrue())
}

func TestModes(t *testing.T) {
	g, deleted := NewWithT(t), &appv1alpha1.ControlledKind{}
	enforced, observed := &appv1alpha1.ControlledKind{}, &appv1alpha1.ControlledKind{}
	enforced.Spec.Mode, observed.Spec.Mode = "Enforce", "Observe"
	g.Expect(workload.IsEnforced(enforced)).To(BeTrue())
	g.Expect(workload.IsObserved(enforced)).To(BeFalse())
	g.Expect(workload.IsEnforced(observed)).To(BeFalse())
	g.Expect(workload.IsObserved(observed)).To(BeTrue())
	enforced.DeepCopyInto(deleted)
	deleted.DeletionTimestamp = &deleted.CreationTimestamp
	g.Expect(workload.IsEnforced(deleted)).To(BeFalse())
}
