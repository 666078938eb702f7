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

package lab_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
	"github.com/traas-stack/altershield-operator/hack/altershield"
	"github.com/traas-stack/altershield-operator/hack/lab"
)

func TestLabChecksAReleaseAndShowsItsRequestsAndMetrics(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a control plane")
	}
	g, ctx := NewWithT(t), context.Background()
	manager := filepath.Join(t.TempDir(), "manager")
	output, err := exec.CommandContext(ctx, "go", "build", "-o", manager, "../..").CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), string(output))
	l, err := lab.Open(ctx, lab.Options{Manager: manager, Config: "../../config/local"})
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { g.Expect(l.Close(ctx)).To(Succeed()) }()
	g.Expect(l.Serve(ctx, altershield.Options{})).To(Succeed())
	g.Expect(l.StartOperator(ctx)).To(Succeed())

	g.Expect(l.Namespace(ctx, "shop", true)).To(Succeed())
	g.Expect(l.Kube.Create(ctx, lab.Deployment("shop", "cart", 2))).To(Succeed())
	verified := func() (numbers []int64) {
		var workloads appv1alpha1.ChangeWorkloadList
		g.Expect(l.Kube.List(ctx, &workloads, client.InNamespace("shop"))).To(Succeed())
		for _, workload := range workloads.Items {
			if workload.Status.Status == "Success" {
				numbers = append(numbers, workload.Spec.Release)
			}
		}
		return numbers
	}
	g.Eventually(verified).WithTimeout(3 * time.Minute).Should(ConsistOf(int64(1)))
	g.Expect(l.Release(ctx, appsv1.SchemeGroupVersion.WithKind("Deployment"), "shop", "cart", "second")).To(Succeed())
	g.Eventually(verified).WithTimeout(3 * time.Minute).Should(ContainElement(int64(2)))

	g.Expect(l.Server.Orders()).To(HaveLen(2))
	metrics, err := l.Metrics(ctx)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(metrics["altershield_build_info"].GetMetric()).To(HaveLen(1))
	requests, err := l.RequestsSince(0)
	g.Expect(err).NotTo(HaveOccurred())
	var created int
	for _, request := range requests {
		if request.Verb == "create" && request.ObjectRef.Resource == "changepods" {
			created++
		}
	}
	g.Expect(created).To(Equal(4))
}

func TestNewestRecordIsThatOfTheLastReleaseOfThisWorkload(t *testing.T) {
	g := NewWithT(t)
	kube := fake.NewClientBuilder().WithScheme(testkit.Scheme())
	for release, of := range map[int64]types.UID{1: "this", 3: "this", 2: "this", 4: "other"} {
		owner := metav1.OwnerReference{UID: of, Controller: ptr.To(true)}
		kube.WithObjects(&appv1alpha1.ChangeWorkload{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprint("cart--x--", release), OwnerReferences: []metav1.OwnerReference{owner}},
			Spec:       appv1alpha1.ChangeWorkloadSpec{Release: release},
		})
	}
	l := &lab.Lab{Kube: kube.Build()}
	newest, err := l.NewestRecord(t.Context(), &metav1.ObjectMeta{Namespace: "shop", UID: "this"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(newest.Spec.Release).To(BeEquivalentTo(3))
	_, err = l.NewestRecord(t.Context(), &metav1.ObjectMeta{Namespace: "shop", UID: "nobody"})
	g.Expect(err).To(MatchError("there is no ChangeWorkload"))
}

func TestAWorkloadIsPatchedAndSeenWithItsRecord(t *testing.T) {
	g := NewWithT(t)
	deployment := lab.Deployment("shop", "cart", 2)
	deployment.UID = "this"
	record := &appv1alpha1.ChangeWorkload{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "cart--x--1"}, Spec: appv1alpha1.ChangeWorkloadSpec{Release: 7}}
	record.OwnerReferences = []metav1.OwnerReference{{UID: "this", Controller: ptr.To(true)}}
	l := &lab.Lab{Kube: fake.NewClientBuilder().WithScheme(testkit.Scheme()).WithObjects(deployment, record).Build()}
	of := lab.Workload{Lab: l, Kind: appsv1.SchemeGroupVersion.WithKind("Deployment"), ObjectKey: client.ObjectKeyFromObject(deployment), Patience: 500 * time.Millisecond}
	g.Expect(of.Patch(t.Context(), `{"metadata":{"labels":{"patched":"true"}}}`)).To(Succeed())
	g.Expect(of.Awaits(t.Context(), "release 7", func(_ context.Context, now lab.Seen) error {
		if now.GetLabels()["patched"] != "true" || now.Record.Spec.Release != 7 {
			return fmt.Errorf("it is at %d with %v", now.Record.Spec.Release, now.GetLabels())
		}
		return nil
	})).To(Succeed())
	g.Expect(of.Judge(t.Context(), appv1alpha1.VerdictPass)).To(MatchError(ContainSubstring("a batch whose check has ended: timed out after 500ms")))
	of.Name = "other"
	g.Expect(of.Patch(t.Context(), `{}`)).To(MatchError(HavePrefix("patching Deployment shop/other: ")))
}

func TestKeepLogFindsAPanicAndADataRaceInALog(t *testing.T) {
	g, log := NewWithT(t), filepath.Join(t.TempDir(), "manager.log")
	found := func(content string) []string {
		g.Expect(os.WriteFile(log, []byte(content), 0o600)).To(Succeed())
		lines, crashes, err := lab.KeepLog(log, log+".kept")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(lines).To(Equal(strings.Count(content, "\n")))
		g.Expect(os.ReadFile(log + ".kept")).To(BeEquivalentTo(content))
		return crashes
	}
	g.Expect(found("{\"level\":\"info\"}\na reconcile failed: panic-free\n")).To(BeEmpty())
	g.Expect(found("{}\nWARNING: DATA RACE\n")).To(ConsistOf("line 2 of " + log + ".kept: WARNING: DATA RACE"))
	g.Expect(found("panic: runtime error\n\ngoroutine 1\n")).To(HaveLen(1))
	g.Expect(found("{\"msg\":\"Observed a panic\"}\n")).To(HaveLen(1))
}
