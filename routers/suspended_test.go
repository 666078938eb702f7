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

package routers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// suspendedDeployment returns a Deployment at release 4 of version, with the UID d-<name>.
func suspendedDeployment(namespace, name string) *appsv1.Deployment {
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name, UID: types.UID("d-" + name),
		Labels: map[string]string{
			"admission-webhook-altershield.antgroup.com/version": version,
			"altershield.defense.antgroup.com/suspend":           "1795255000",
		},
		Annotations: map[string]string{"altershield.defense.antgroup.com/release": "4"},
	}}
	deployment.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Env: []corev1.EnvVar{{Name: "PASSWORD", Value: "hush"}}}}
	return deployment
}

// releaseOf returns the record of a release of the Deployment sleep.
func releaseOf(version string, number int64, status, reason string, verified ...string) *appv1alpha1.ChangeWorkload {
	workload := changeWorkload()
	workload.Name = "sleep--x--" + version
	workload.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "sleep", UID: "d-sleep", Controller: ptr.To(true)}}
	workload.Spec.Reversion, workload.Spec.Release = version, number
	workload.Status = appv1alpha1.ChangeWorkloadStatus{
		Status: appv1alpha1.ChangeWorkloadPhase(status), ObservedRelease: number, VerifiedVersions: verified,
		Conditions: []metav1.Condition{{Type: "Verified", Status: "Unknown", Reason: reason}},
	}
	return workload
}

func failing(workload *appv1alpha1.ChangeWorkload, pods ...appv1alpha1.PodSummary) *appv1alpha1.ChangeWorkload {
	workload.Status.DefenseCheckFailPods = pods
	workload.Status.Counts.Failed = int32(len(pods))
	return workload
}

// ask sends a query of alice to a server whose cache is unordered.
func ask(t testing.TB, query string, objects ...client.Object) *httptest.ResponseRecorder {
	t.Helper()
	funcs := (&reviews{}).funcs()
	funcs.List = func(ctx context.Context, kube client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
		err := kube.List(ctx, list, options...)
		if deployments, ok := list.(*appsv1.DeploymentList); ok {
			slices.Reverse(deployments.Items)
		}
		return err
	}
	b := newBench(t, funcs, objects...)
	request := httptest.NewRequestWithContext(t.Context(), "GET", "/openapi/altershield/suspend/deployment"+query, nil)
	request.Header.Set("Authorization", "Bearer of-alice")
	return b.serveHTTP(request)
}

// namesAndNext returns a page as "names|continue".
func namesAndNext(t testing.TB, answer *httptest.ResponseRecorder) string {
	t.Helper()
	shown := page{}
	NewWithT(t).Expect(json.Unmarshal(answer.Body.Bytes(), &shown)).To(Succeed())
	var names []string
	for _, item := range shown.Items {
		names = append(names, item.Name)
	}
	return strings.Join(names, " ") + "|" + shown.Continue
}

func TestSuspendedShowsTheFailuresOfADeployment(t *testing.T) {
	g := NewWithT(t)
	failed := failing(releaseOf(version, 4, "Suspend", "PodsFailed"),
		appv1alpha1.PodSummary{Pod: "sleep-a", Verdict: "unpass", Message: "find error", IP: "10.0.0.1"}, appv1alpha1.PodSummary{Pod: "sleep-b", Verdict: "unpass"})
	failed.Status.Order = &appv1alpha1.ChangeOrder{BizExecOrderID: order, Release: 4, State: "Open"}
	const second = "00000000000000000000000000000002"
	foreign := failing(releaseOf("ffffffffffffffffffffffffffffffff", 9, "Suspend", "PodsFailed"))
	foreign.OwnerReferences[0].UID = "d-another"
	healthy := suspendedDeployment("default", "healthy")
	delete(healthy.Labels, "altershield.defense.antgroup.com/suspend")
	answer := ask(t, "?namespace=default", suspendedDeployment("default", "sleep"), healthy, suspendedDeployment("elsewhere", "secret"),
		failed, foreign, failing(releaseOf(second, 3, "Suspend", "PodsFailed")), releaseOf(older, 2, "Success", "AllPodsPassed"),
		failing(releaseOf(oldest, 1, "Suspend", "PodsFailed"))) // already superseded
	g.Expect(answer.Code).To(Equal(200))
	g.Expect(answer.Body.String()).To(MatchJSON(`{"items":[{
		"kind": "Deployment", "namespace": "default", "name": "sleep", "version": "c6c45d23c098bdf181853a85b60b5d74", "release": 4,
		"suspendedSince": "2026-11-21T09:56:40Z", "lastVerifiedVersion": "0123456789abcdef0123456789abcdef",
		"failedVersions": [{
			"changeWorkload": "sleep--x--c6c45d23c098bdf181853a85b60b5d74", "version": "c6c45d23c098bdf181853a85b60b5d74",
			"order": "default/default/sleep/0123456789/4", "failedPodCount": 2,
			"failedPods": [{"pod": "sleep-a", "message": "find error"}, {"pod": "sleep-b", "message": ""}]
		}, {
			"changeWorkload": "sleep--x--00000000000000000000000000000002", "version": "00000000000000000000000000000002",
			"order": "", "failedPods": [], "failedPodCount": 0
		}]
	}], "continue": ""}`))
}

func TestDescribeShowsTheFirstOfManyFailedPods(t *testing.T) {
	g := NewWithT(t)
	var pods []appv1alpha1.PodSummary
	for i := range 21 {
		pods = append(pods, appv1alpha1.PodSummary{Pod: fmt.Sprintf("sleep-%02d", i)})
	}
	workload := failing(releaseOf(version, 4, "Suspend", "PodsFailed"), pods...)
	workload.Status.Counts.Failed = 700
	shown := describe(suspendedDeployment("default", "sleep"), []appv1alpha1.ChangeWorkload{*workload}).FailedVersions[0]
	g.Expect(shown.FailedPods).To(HaveLen(20))
	g.Expect(shown.FailedPods[19].Pod).To(Equal("sleep-19"))
	g.Expect(shown.FailedPodCount).To(BeEquivalentTo(700))
}

func TestDescribeLeavesOutATimeThatTheLabelDoesNotHold(t *testing.T) {
	deployment := suspendedDeployment("default", "sleep")
	deployment.Labels["altershield.defense.antgroup.com/suspend"] = "true"
	NewWithT(t).Expect(describe(deployment, nil).SuspendedSince).To(BeEmpty())
}

func TestDescribeShowsTheLastVerifiedVersion(t *testing.T) {
	failed := *releaseOf(version, 4, "Suspend", "PodsFailed")
	for _, row := range []struct {
		name      string
		workloads []appv1alpha1.ChangeWorkload
		version   string
	}{
		{"is none without any release", nil, ""},
		{"is none if none was", []appv1alpha1.ChangeWorkload{failed}, ""},
		{"is the newest of those with a record", []appv1alpha1.ChangeWorkload{
			*releaseOf(oldest, 1, "Success", "AllPodsPassed"), *releaseOf(older, 3, "Success", "AllPodsPassed"), failed}, older},
		{"is no release without pods", []appv1alpha1.ChangeWorkload{
			*releaseOf(oldest, 1, "Success", "AllPodsPassed"), *releaseOf(older, 3, "Success", "NoReplicas"), failed}, oldest},
		{"is the newest that is remembered", []appv1alpha1.ChangeWorkload{*releaseOf(version, 4, "Suspend", "PodsFailed", older, oldest)}, older},
		{"is none that failed since", []appv1alpha1.ChangeWorkload{*releaseOf(version, 4, "Suspend", "PodsFailed", version, oldest)}, oldest},
	} {
		t.Run(row.name, func(t *testing.T) {
			NewWithT(t).Expect(describe(suspendedDeployment("default", "sleep"), row.workloads).LastVerifiedVersion).To(Equal(row.version))
		})
	}
}

func TestListReturnsPages(t *testing.T) {
	deployments := []client.Object{suspendedDeployment("default", "c"), suspendedDeployment("default", "a"),
		suspendedDeployment("default", "b.b"), suspendedDeployment("default", "b")}
	for _, row := range []struct {
		query, names, next string
	}{
		{"", "a b b.b c", ""},
		{"&limit=4", "a b b.b c", ""},
		{"&limit=2", "a b", "Yg"},
		{"&limit=2&continue=Yg", "b.b c", ""},
		{"&limit=1&continue=Yg", "b.b", "Yi5i"},
		{"&continue=YmE", "c", ""},
		{"&continue=Yw", "", ""},
	} {
		t.Run("default"+row.query, func(t *testing.T) {
			g := NewWithT(t)
			answer := ask(t, "?namespace=default"+row.query, deployments...)
			g.Expect(answer.Code).To(Equal(200))
			g.Expect(namesAndNext(t, answer)).To(Equal(row.names + "|" + row.next))
		})
	}
}

func TestListReturnsAHundredDeploymentsByDefault(t *testing.T) {
	var deployments []client.Object
	for i := range 101 {
		deployments = append(deployments, suspendedDeployment("default", fmt.Sprintf("sleep-%03d", i)))
	}
	g := NewWithT(t)
	g.Expect(namesAndNext(t, ask(t, "?namespace=default", deployments...))).To(HaveSuffix(" sleep-099|c2xlZXAtMDk5"))
	g.Expect(namesAndNext(t, ask(t, "?namespace=default&limit=500", deployments...))).To(HaveSuffix(" sleep-100|"))
}

func TestParseQuestionRefusesWhatMakesNoSense(t *testing.T) {
	const limits = "the parameter limit must be from 1 to 500"
	for query, message := range map[string]string{
		"":                                   "the parameter namespace is missing",
		"?namespace=":                        "the parameter namespace is missing",
		"?namespace=A/B":                     `\"A/B\" is not the name of a namespace`,
		"?namespace=default&limit=0":         limits,
		"?namespace=default&limit=501":       limits,
		"?namespace=default&limit=many":      limits,
		"?namespace=default&continue=%25%25": "the parameter continue must be the one of the previous page",
	} {
		t.Run(query, func(t *testing.T) {
			g := NewWithT(t)
			answer := ask(t, query)
			g.Expect(answer.Code).To(Equal(400))
			g.Expect(answer.Body.String()).To(beFailure(message))
		})
	}
}

func TestListFailsWhereTheCacheCanNotBeRead(t *testing.T) {
	for _, unread := range []client.ObjectList{&appsv1.DeploymentList{}, &appv1alpha1.ChangeWorkloadList{}} {
		t.Run(fmt.Sprintf("%T", unread), func(t *testing.T) {
			g := NewWithT(t)
			funcs := (&reviews{}).funcs()
			funcs.List = func(ctx context.Context, kube client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
				if fmt.Sprintf("%T", list) == fmt.Sprintf("%T", unread) {
					return errors.New("not synced")
				}
				return kube.List(ctx, list, options...)
			}
			b := newBench(t, funcs, suspendedDeployment("default", "sleep"))
			request := httptest.NewRequestWithContext(t.Context(), "GET", "/openapi/altershield/suspend/deployment?namespace=default", nil)
			request.Header.Set("Authorization", "Bearer of-alice")
			answer := b.serveHTTP(request)
			g.Expect(answer.Code).To(Equal(500))
			g.Expect(answer.Body.String()).To(beFailure("the suspended Deployments can't be listed: the operator's log has the error"))
			g.Expect(string(b.log.Contents())).To(ContainSubstring("not synced"))
		})
	}
}
