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
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/traas-stack/altershield-operator/hack/lab"
)

func revisionOf(number, status string) *corev1.Secret {
	labels := map[string]string{"owner": "helm", "name": "web", "version": number, "status": status}
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "sh.helm.release.v1.web.v" + number, Labels: labels}}
}

// chartOf returns one whose Helm only ends.
func chartOf(t *testing.T, revisions ...client.Object) *chart {
	kube := fake.NewClientBuilder().WithObjects(revisions...).Build()
	return &chart{stage: &stage{lab: &lab.Lab{Kube: kube}, helm: &helm{program: "true"}}, name: "web", folder: t.TempDir()}
}

func TestVersionIsTheValuesOfAChart(t *testing.T) {
	g := NewWithT(t)
	c := chartOf(t, revisionOf("1", "superseded"), revisionOf("2", "deployed"))
	g.Expect(c.bring(t.Context(), version{[]byte(`{"kind":"Deployment"}`), "a note"})).To(Succeed())
	g.Expect(c.settle(t.Context())).To(Succeed())
	g.Expect(c.shows(t.Context())).To(Equal(outcome{ok: true, says: "deployed", final: true}))
	g.Expect(os.ReadFile(filepath.Join(c.folder, "values.json"))).To(MatchJSON(`{"workload":{"kind":"Deployment"},"note":"a note"}`))
}

func TestChartGoesBackToTheRevisionOfAVersion(t *testing.T) {
	g := NewWithT(t)
	c := chartOf(t, revisionOf("1", "superseded"))
	bring := func() {
		g.Expect(c.bring(t.Context(), version{[]byte(`{}`), ""})).To(Succeed())
		g.Expect(c.settle(t.Context())).To(Succeed())
	}
	bring()
	g.Expect(c.lab.Kube.Create(t.Context(), revisionOf("9", "superseded"))).To(Succeed())
	bring()
	g.Expect(c.lab.Kube.Create(t.Context(), revisionOf("10", "deployed"))).To(Succeed())
	g.Expect(c.again(t.Context())).To(BeEquivalentTo(2)) // another revision of the same version
	bring()
	g.Expect(c.back(t.Context(), 1)).To(Equal("helm rollback web 9"))
	g.Expect(c.settle(t.Context())).To(Succeed())
	g.Expect(c.back(t.Context(), 3)).To(Equal("helm rollback web 1"))
	g.Expect(c.settle(t.Context())).To(Succeed())
}

func TestNewestRevisionIsTheLastByNumber(t *testing.T) {
	g := NewWithT(t)
	number, status := newestRevision([]corev1.Secret{*revisionOf("9", "superseded"), *revisionOf("10", "failed"), *revisionOf("2", "deployed"), {}})
	g.Expect(number).To(Equal(10))
	g.Expect(status).To(Equal("failed"))
}

func TestProblemIsTheErrorOfHelm(t *testing.T) {
	g := NewWithT(t)
	g.Expect(problem([]byte("level=WARN msg=x\nError: UPGRADE FAILED: two\nlines\n"))).To(Equal("UPGRADE FAILED: two lines"))
	g.Expect(problem([]byte("Error: at once"))).To(Equal("at once"))
	g.Expect(problem([]byte("it has no\nerror\n"))).To(Equal("it has no error"))
}
