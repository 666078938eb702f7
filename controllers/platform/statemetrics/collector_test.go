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

package statemetrics_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus/testutil"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/platform/statemetrics"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
	kinds "github.com/traas-stack/altershield-operator/controllers/workload"
	kind "github.com/traas-stack/altershield-operator/controllers/workload/deployment"
	"github.com/traas-stack/altershield-operator/controllers/workload/statefulset"
)

var controlled = kinds.Registry{kind.Kind{}, statefulset.Kind{}}

var now = clocktesting.NewFakePassiveClock(time.Unix(1795280000, 0))

func deployment(namespace, name string, labels map[string]string) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels}}
}

func suspended(at string) map[string]string {
	return map[string]string{"altershield.defense.antgroup.com/suspend": at}
}

func workload(namespace, name string, recorded int64, reason string) *appv1alpha1.ChangeWorkload {
	result := &appv1alpha1.ChangeWorkload{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name, OwnerReferences: []metav1.OwnerReference{{Kind: "Deployment", Name: name, UID: "d-1", Controller: ptr.To(true)}},
	}}
	result.Spec.Release, result.Status.ObservedRelease, result.Spec.CreateTimeUnix = 1, 1, recorded
	result.Status.Conditions = []metav1.Condition{{Type: "Verified", Status: "Unknown", Reason: reason}}
	return result
}

func frozen(namespace, name string, since int64, reason string) *appv1alpha1.ChangeWorkload {
	result := workload(namespace, name, since, "Frozen")
	result.Status.Frozen = &appv1alpha1.FrozenRelease{By: namespace + "/friday"}
	result.Status.Conditions = append(result.Status.Conditions, metav1.Condition{
		Type: "Frozen", Status: "True", Reason: reason, LastTransitionTime: metav1.Unix(since, 0),
	})
	return result
}

func thawed(namespace, name string) *appv1alpha1.ChangeWorkload {
	result := frozen(namespace, name, 1795270000, "Thawed")
	result.Status.Conditions[0].Reason, result.Status.Conditions[1].Status = "AllPodsPassed", "False"
	return result
}

// paced returns a release that is rolled out in steps, and whose step began at a time; before the first one if it is 0.
func paced(namespace, name, verified, reason string, since int64) *appv1alpha1.ChangeWorkload {
	result := workload(namespace, name, 1795260000, verified)
	result.Status.Pace = &appv1alpha1.ReleasePace{Policy: namespace + "/careful"}
	if since > 0 {
		result.Status.Pace.Step, result.Status.Pace.Since = 1, &metav1.Time{Time: time.Unix(since, 0)}
	}
	result.Status.Conditions = append(result.Status.Conditions, metav1.Condition{
		Type: "Paced", Status: "True", Reason: reason, LastTransitionTime: metav1.Unix(1795260001, 0),
	})
	return result
}

func soaksUntil(until int64, record *appv1alpha1.ChangeWorkload) *appv1alpha1.ChangeWorkload {
	record.Status.Pace.SoakUntil = &metav1.Time{Time: time.Unix(until, 0)}
	return record
}

func rolledOut(namespace, name string) *appv1alpha1.ChangeWorkload {
	result := paced(namespace, name, "AllPodsPassed", "AllSteps", 1795270000)
	result.Status.Conditions[1].Status = "False"
	return result
}

// left returns a release whose workload was deleted with --cascade=orphan.
func left(record *appv1alpha1.ChangeWorkload) *appv1alpha1.ChangeWorkload {
	record.OwnerReferences = nil
	return record
}

func TestCollectorShowsTheStateOfEachNamespace(t *testing.T) {
	kube := testkit.NewFake(t,
		deployment("default", "broken", suspended("")),
		deployment("default", "early", suspended("-1")),
		deployment("default", "sleep", suspended("1795278581")),
		deployment("default", "web", suspended("1795270000")),
		deployment("default", "zoo", suspended("yesterday")),
		deployment("shop", "cart", suspended("yesterday")),
		deployment("shop", "sound", nil),
		&appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db", Labels: suspended("1795279000")}},
		workload("default", "sleep--x--1", 1795278000, "Verifying"),
		workload("shop", "cart--x--1", 1795279000, "ThresholdTimeout"),
		workload("shop", "cart--x--2", 1795278500, "Verifying"),
		workload("quiet", "idle--x--1", 1795270000, "Superseded"),
		frozen("default", "api--x--1", 1795277000, "ChangeFreeze"),
		frozen("default", "job--x--1", 1795276000, "ChangeFreeze"),
		frozen("shop", "pay--x--1", 1795275000, "Thawing"),
		thawed("shop", "old--x--1"),
		paced("steps", "a--x--1", "Paced", "AwaitingApproval", 1795275000),
		paced("steps", "b--x--1", "Paced", "AwaitingApproval", 0),
		paced("steps", "c--x--1", "Paced", "Soaking", 1795276000),
		paced("steps", "d--x--1", "Verifying", "StepRunning", 1795277000),
		rolledOut("steps", "e--x--1"),
		soaksUntil(1795278000, paced("soaked", "a--x--1", "Paced", "AwaitingApproval", 1795190000)),
		soaksUntil(1795279000, paced("soaked", "b--x--1", "Verifying", "StepRunning", 1795190000)),
		soaksUntil(1795290000, paced("soaks", "a--x--1", "Verifying", "StepRunning", 1795270000)),
		left(workload("default", "gone--x--1", 1795260000, "Verifying")),
		left(frozen("default", "gone--x--2", 1795260000, "ChangeFreeze")),
		left(paced("steps", "gone--x--1", "Paced", "AwaitingApproval", 1795260000)),
	)
	NewWithT(t).Expect(testutil.CollectAndCompare(statemetrics.New(kube, controlled, now), strings.NewReader(`
# HELP altershield_deployments_suspended Suspended Deployments.
# TYPE altershield_deployments_suspended gauge
altershield_deployments_suspended{workload_namespace="default"} 5
altershield_deployments_suspended{workload_namespace="shop"} 1
# HELP altershield_oldest_suspension_timestamp_seconds Unix time of the oldest suspension.
# TYPE altershield_oldest_suspension_timestamp_seconds gauge
altershield_oldest_suspension_timestamp_seconds{workload_namespace="default"} 1.79527e+09
altershield_oldest_suspension_timestamp_seconds{workload_namespace="shop"} 1.795279e+09
# HELP altershield_workloads_suspended Suspended workloads, by kind.
# TYPE altershield_workloads_suspended gauge
altershield_workloads_suspended{kind="Deployment",workload_namespace="default"} 5
altershield_workloads_suspended{kind="Deployment",workload_namespace="shop"} 1
altershield_workloads_suspended{kind="StatefulSet",workload_namespace="shop"} 1
# HELP altershield_releases_in_progress Releases whose pods are awaited or checked.
# TYPE altershield_releases_in_progress gauge
altershield_releases_in_progress{workload_namespace="default"} 1
altershield_releases_in_progress{workload_namespace="shop"} 2
altershield_releases_in_progress{workload_namespace="soaked"} 1
altershield_releases_in_progress{workload_namespace="soaks"} 1
altershield_releases_in_progress{workload_namespace="steps"} 2
# HELP altershield_oldest_release_in_progress_timestamp_seconds Unix time at which the oldest release in progress was recorded, or its step began or ended its soak. A step that soaks doesn't count.
# TYPE altershield_oldest_release_in_progress_timestamp_seconds gauge
altershield_oldest_release_in_progress_timestamp_seconds{workload_namespace="default"} 1.795278e+09
altershield_oldest_release_in_progress_timestamp_seconds{workload_namespace="shop"} 1.7952785e+09
altershield_oldest_release_in_progress_timestamp_seconds{workload_namespace="soaked"} 1.795279e+09
altershield_oldest_release_in_progress_timestamp_seconds{workload_namespace="steps"} 1.795277e+09
# HELP altershield_oldest_frozen_release_timestamp_seconds Unix time since which the oldest of these releases has waited.
# TYPE altershield_oldest_frozen_release_timestamp_seconds gauge
altershield_oldest_frozen_release_timestamp_seconds{reason="ChangeFreeze",workload_namespace="default"} 1.795276e+09
altershield_oldest_frozen_release_timestamp_seconds{reason="Thawing",workload_namespace="shop"} 1.795275e+09
# HELP altershield_releases_frozen Releases that wait for the end of a ChangeFreeze, by the reason of their condition Frozen: ChangeFreeze, or Thawing after its end.
# TYPE altershield_releases_frozen gauge
altershield_releases_frozen{reason="ChangeFreeze",workload_namespace="default"} 2
altershield_releases_frozen{reason="Thawing",workload_namespace="shop"} 1
# HELP altershield_oldest_step_timestamp_seconds Unix time at which the oldest present step of a release began or ended its soak, by the reason of its condition Paced.
# TYPE altershield_oldest_step_timestamp_seconds gauge
altershield_oldest_step_timestamp_seconds{reason="AwaitingApproval",workload_namespace="soaked"} 1.795278e+09
altershield_oldest_step_timestamp_seconds{reason="AwaitingApproval",workload_namespace="steps"} 1.795260001e+09
altershield_oldest_step_timestamp_seconds{reason="Soaking",workload_namespace="steps"} 1.795276e+09
altershield_oldest_step_timestamp_seconds{reason="StepRunning",workload_namespace="soaked"} 1.795279e+09
altershield_oldest_step_timestamp_seconds{reason="StepRunning",workload_namespace="soaks"} 1.79527e+09
altershield_oldest_step_timestamp_seconds{reason="StepRunning",workload_namespace="steps"} 1.795277e+09
# HELP altershield_releases_paced Releases that are rolled out in steps, by the reason of their condition Paced: what they wait for.
# TYPE altershield_releases_paced gauge
altershield_releases_paced{reason="AwaitingApproval",workload_namespace="soaked"} 1
altershield_releases_paced{reason="AwaitingApproval",workload_namespace="steps"} 2
altershield_releases_paced{reason="Soaking",workload_namespace="steps"} 1
altershield_releases_paced{reason="StepRunning",workload_namespace="soaked"} 1
altershield_releases_paced{reason="StepRunning",workload_namespace="soaks"} 1
altershield_releases_paced{reason="StepRunning",workload_namespace="steps"} 1
`))).To(Succeed())
}

func TestCollectorLeavesOtherMetricsAloneWhereTheCacheCanNotBeRead(t *testing.T) {
	kube := interceptor.NewClient(testkit.NewFake(t, deployment("default", "sleep", suspended("1795278581"))), interceptor.Funcs{
		List: func(ctx context.Context, kube client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if _, ok := list.(*appv1alpha1.ChangeWorkloadList); ok {
				return errors.New("the cache doesn't sync")
			}
			return kube.List(ctx, list, options...)
		},
	})
	NewWithT(t).Expect(testutil.CollectAndCount(statemetrics.New(kube, controlled, now))).To(BeZero())
}
