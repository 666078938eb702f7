//go:build e2e

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

// Package e2e_test installs the operator as a user does, on a cluster with real nodes, and tests its life: releases of
// real containers, lost replicas, a new certificate, an upgrade, the removal. It is started by make e2e.
package e2e_test

import (
	"context"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

const (
	system      = "altershieldoperator-system"
	deployment  = "altershieldoperator-controller-manager"
	operator    = "system:serviceaccount:altershieldoperator-system:altershieldoperator-controller-manager"
	leaderLease = "altershieldoperator.app.ops.cloud.alipay.com"
	secretName  = "webhook-server-cert"
	optIn       = "admission-webhook-altershield"

	// The images of the operator: the same code, stamped with two versions.
	previous = "altershield-operator:previous"
	current  = "altershield-operator:current"
)

var (
	// root is the project's folder.
	root = os.Getenv("E2E_ROOT")

	kube   client.WithWatch
	config *rest.Config
)

func TestInstalledOperator(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "AlterShield Operator on real nodes")
}

var _ = BeforeSuite(func(ctx context.Context) {
	log.SetLogger(GinkgoLogr)
	SetDefaultEventuallyTimeout(3 * time.Minute)
	EnforceDefaultTimeoutsWhenUsingContexts()
	SetDefaultEventuallyPollingInterval(200 * time.Millisecond)
	for _, name := range []string{"E2E_ROOT", "NODE_STATE", "NODE_REGISTRY", "NODE_ADDRESS", "KUBECONFIG"} {
		Expect(os.Getenv(name)).NotTo(BeEmpty(), "%s isn't set: this suite is started by make e2e", name)
	}

	var err error
	config, err = clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	Expect(err).NotTo(HaveOccurred())
	config.QPS, config.Burst = 200, 400
	scheme := apiruntime.NewScheme()
	Expect(clientgoscheme.AddToScheme(scheme)).To(Succeed())
	Expect(appv1alpha1.AddToScheme(scheme)).To(Succeed())
	kube, err = client.NewWithWatch(config, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	for _, image := range []string{previous, current} {
		_, version, _ := strings.Cut(image, ":")
		must(ctx, "make", "image-push", "INSECURE=1", "PLATFORMS=linux/"+runtime.GOARCH, "VERSION="+version,
			"IMG="+os.Getenv("NODE_REGISTRY")+"/library/"+image)
	}
})

// The specs are the life of one installation: each continues where the previous one ended.
var _ = Describe("An operator on real nodes", Ordered, func() {
	AfterAll(func(ctx context.Context) { tellWhatWasLeft(ctx) })

	It("is installed and removed by the commands of the README, word for word", followsTheReadme)
	It("is installed by one command, and two replicas become ready under the restricted profile", installs)
	It("plays the documented walkthrough, and rolls back a release whose image can't be pulled", walksThrough)
	It("rolls back a release whose container crashes again and again", takesBackACrashLoop)
	It("suspends releases whose pods run out of memory, lose their readiness or crash after they were ready", checksPods)
	It("suspends a release whose Job fails, and not one whose Job succeeds", runsScripts)
	It("suspends, holds and rolls back releases of StatefulSets and DaemonSets", controlsSets)
	It("checks a Job and a CronJob, releases to a node first, and controls a declared kind", controlsOtherKinds)
	It("parks a release during a freeze, which a BreakGlass starts", freezes)
	It("rolls out releases in steps, as far as others than their author approve", releasesInSteps)
	It("suspends a release in steps whose first pod fails more requests, by a Prometheus that reads its metrics", comparesMetrics)
	It("suspends a release by the verdict that a service account reports", awaitsVerdicts)
	DescribeTable("rolls out a hundred releases in steps:", Label("many"), releasesInStepsAgainAndAgain,
		Entry("Deployments", "deployment", 10), Entry("StatefulSets", "statefulset", 10), Entry("DaemonSets", "daemonset", 10),
		Entry("LeaderWorkerSets", groups, 5))
	It("asks AlterShield Server, which calls back through the Service", asksTheServer)
	It("serves metrics only to authorized accounts", guardsItsMetrics)
	It("verifies a release whose leader was deleted in the middle", losesItsLeader)
	It("admits every release while a node is drained", survivesADrain)
	It("admits every release while it changes its certificate", changesItsCertificate)
	It("is upgraded from the previous image, and no pod of a workload restarts", isUpgraded)
	It("loses its leader 20 times during 50 releases, and every release ends correctly", Label("slow"), losesItsLeaderAgainAndAgain)
	It("recovers after its leader was killed without notice", isKilledOnTheSpot)
	It("blocks nothing but releases in opted-in namespaces while it is down", isDown)
	It("needs few resources at rest", Label("slow"), rests)
	It("has every permission that it needs, and none that it doesn't use", hasTheRightPermissions)
	It("is removed, and leaves every workload running and deletable", isRemoved)
})

// A hundred releases are judged apart from that life, on a cluster of their own: make judge-nodes.
var _ = Describe("Checks of releases on real nodes", Label("judge"), Ordered, func() {
	AfterAll(func(ctx context.Context) { tellWhatWasLeft(ctx) })

	It("find bad releases among as many good ones", judgesReleases)
})

// An autoscaler takes minutes to see a load and its end, so that it has a cluster of its own, too: make autoscale-nodes.
var _ = Describe("Autoscalers on real nodes", Label("autoscale"), Ordered, func() {
	AfterAll(func(ctx context.Context) { tellWhatWasLeft(ctx) })

	It("scale by the figures of metrics-server between releases, and while they are suspended or wait at a step", autoscales)
})
