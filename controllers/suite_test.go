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

package controllers_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/hack/local/assets"
	"github.com/traas-stack/altershield-operator/hack/local/cluster"
	"github.com/traas-stack/altershield-operator/hack/local/operator"
)

// The suite runs the built manager with the rights of its service account, on a real API server with the real deployment controller.
// It is independent of the implementation. Specs labelled slow run only in `make test-full`.
var (
	plane    *cluster.Cluster
	settings operator.Options
	manager  *operator.Operator
	kube     client.WithWatch
	// shared is a directory that all processes of the suite use.
	shared string
)

// slow labels specs that take long, or that repeat component tests on a control plane.
var slow = Label("slow")

func TestOperator(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a control plane")
	}
	RegisterFailHandler(Fail)
	RunSpecs(t, "AlterShield Operator on a real control plane")
}

// Each process of the suite has its own control plane and manager. The first one builds the manager for all.
var _ = SynchronizedBeforeSuite(func(ctx context.Context) []byte {
	dir, err := os.MkdirTemp("", "altershield-suite")
	Expect(err).NotTo(HaveOccurred())
	buildManager(ctx, dir)
	return []byte(dir)
}, func(ctx context.Context, dir []byte) {
	log.SetLogger(GinkgoLogr)
	SetDefaultEventuallyTimeout(3 * time.Minute)
	SetDefaultEventuallyPollingInterval(100 * time.Millisecond)
	SetDefaultConsistentlyDuration(2 * time.Second)

	programs, err := assets.Ensure(ctx, GinkgoWriter)
	Expect(err).NotTo(HaveOccurred())
	shared = string(dir)
	state := GinkgoT().TempDir()
	plane, err = cluster.Start(ctx, cluster.Options{Dir: state, Assets: programs, AuditLog: true, AuditReadsOf: operator.User})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx context.Context) { Expect(plane.Stop(ctx)).To(Succeed()) })

	scheme := runtime.NewScheme()
	Expect(clientgoscheme.AddToScheme(scheme)).To(Succeed())
	Expect(appv1alpha1.AddToScheme(scheme)).To(Succeed())
	kube, err = client.NewWithWatch(plane.Config(), client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())

	root, err := filepath.Abs("..")
	Expect(err).NotTo(HaveOccurred())
	settings = operator.Options{
		Dir: state, Binary: filepath.Join(shared, "manager"), Args: []string{"--leader-elect"}, Config: filepath.Join(root, "config", "local"),
	}
	if !gatesByPolicy() {
		settings.Config = filepath.Join(settings.Config, "operator")
	}
	manager, err = operator.Install(ctx, plane, settings)
	Expect(err).NotTo(HaveOccurred())
	Expect(manager.Start(ctx)).To(Succeed())

	// A workload that is created before the webhooks of its kind are called stays without a version.
	for _, kind := range []string{"statefulsets.apps", "daemonsets.apps", "cronjobs.batch", "jobs.batch"} {
		enforced(ctx, kind)
	}
	for _, setting := range []string{"blocking", "branch", "stuck-rollback", "suspended-rollback", "park", "unstick", "refusal", "template-history", "release-history", "change-records", "record-days", "finished-label"} {
		Eventually(func() string { return settingReason(ctx, setting) }).Should(Equal("InEffect"))
	}
})

// A manager that loses its lease exits, and a cluster would restart it. Here nothing does, and the following specs would only time
// out.
var _ = AfterEach(func(ctx context.Context) {
	if ended := manager.Ended(); ended != nil {
		Expect(manager.Start(ctx)).To(Succeed())
		Fail(ended.Error())
	}
})

func buildManager(ctx context.Context, dir string) {
	args := []string{"build", "-o", filepath.Join(dir, "manager")}
	if raceDetector {
		args = append(args, "-race")
	}
	build := exec.CommandContext(ctx, "go", append(args, ".")...)
	build.Dir = ".."
	output, err := build.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(output))
}

// After the specs each process stops its manager, and the last one checks the requests of all managers together.
var _ = SynchronizedAfterSuite(func(ctx context.Context) {
	if manager == nil {
		return // BeforeSuite has failed
	}
	Expect(manager.Stop(ctx)).To(Succeed())
	expectCleanLog()
	expectNothingForbidden(ctx)
}, func() {
	defer os.RemoveAll(shared)
	expectLeastPrivilege()
})

// expectCleanLog checks the manager's log for problems that no spec notices.
func expectCleanLog() {
	GinkgoHelper()
	written, err := os.ReadFile(manager.LogPath())
	Expect(err).NotTo(HaveOccurred())
	for line := range strings.Lines(string(written)) {
		Expect(line).NotTo(ContainSubstring("DATA RACE"))
		Expect(line).NotTo(ContainSubstring("panic"))
		Expect(line).NotTo(ContainSubstring(serverToken))
	}
}
