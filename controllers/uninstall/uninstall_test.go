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

package uninstall

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/traas-stack/altershield-operator/controllers/testkit"
	"github.com/traas-stack/altershield-operator/controllers/workload/daemonset"
	"github.com/traas-stack/altershield-operator/controllers/workload/deployment"
	"github.com/traas-stack/altershield-operator/controllers/workload/statefulset"
	"github.com/traas-stack/altershield-operator/hack/local/assets"
	"github.com/traas-stack/altershield-operator/hack/local/cluster"
	"github.com/traas-stack/altershield-operator/hack/local/operator"
)

// patience is long enough for a busy machine.
const patience = 3 * time.Minute

// bench is a control plane with an installed operator. The pods of its Deployment are ready but do nothing; a manager outside the
// cluster may do their work.
type bench struct {
	plane   *cluster.Cluster
	options operator.Options
}

func TestUninstaller(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a control plane")
	}
	ctrl.SetLogger(logr.Discard())
	g := NewWithT(t)
	programs, err := assets.Ensure(t.Context(), os.Stderr)
	g.Expect(err).NotTo(HaveOccurred())
	dir := t.TempDir()
	plane, err := cluster.Start(t.Context(), cluster.Options{Dir: dir, Assets: programs, Log: t.Output()})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { g.Expect(plane.Stop(context.WithoutCancel(t.Context()))).To(Succeed()) })
	root, err := filepath.Abs("../..")
	g.Expect(err).NotTo(HaveOccurred())
	b := &bench{plane: plane, options: operator.Options{
		Dir: dir, Binary: filepath.Join(dir, "manager"), Config: filepath.Join(root, "config", "default"),
	}}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", b.options.Binary, ".")
	build.Dir = root
	output, err := build.CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), string(output))

	t.Run("removes a running operator and leaves workloads running and deletable", b.removesARunningOperator)
	t.Run("lets the records of a dead operator go", b.letsRecordsOfADeadOperatorGo)
	t.Run("waits no longer than its patience for an operator that hangs", b.waitsNoLongerThanItsPatienceForAHangingOperator)
	t.Run("leaves the records of an operator that another program removes, and nothing that keeps them", b.keepsRecords)
	t.Run("removes half an operator, and nothing twice", b.removesHalfAnOperator)
}

func (b *bench) removesARunningOperator(t *testing.T) {
	g := NewWithT(t)
	ctx := t.Context()
	manager := b.install(t)
	g.Expect(manager.Start(ctx)).To(Succeed())
	t.Cleanup(func() { _ = manager.Kill(context.WithoutCancel(ctx)) }) // its token is void, and it may have exited
	b.kubectl(t, "create namespace shop", "label namespace shop admission-webhook-altershield=enabled",
		"-n shop create deployment sleep --image=busybox --replicas=2", "-n shop create deployment other --image=busybox")
	const record = "changeworkload -l app.kubernetes.io/deployment-name="
	for _, name := range []string{"sleep", "other"} {
		g.Eventually(func() string { return b.kubectl(t, "-n shop get -o jsonpath={.items[*].status.status} "+record+name) }).
			WithTimeout(patience).Should(Equal("Success"))
	}
	name := b.kubectl(t, "-n shop get -o name "+record+"sleep")
	b.kubectl(t, "-n shop patch --type=merge -p {\"metadata\":{\"finalizers\":[\"altershield.defense.antgroup.com/change-order\"]}} "+name)
	pods := b.kubectl(t, "-n shop get pods -o name")

	said := b.uninstall(t, patience)
	g.Expect(said).To(MatchRegexp(`(?s)^deleted Mutating.* Validating.* CustomResource.*waiting up to .* for the operator to release its records.* ` +
		`CustomResourceDefinition controlledkinds.* Namespace .* ClusterRole`))
	g.Expect(said).NotTo(MatchRegexp(`(?s)controlledkinds.*changeworkloads`), "the operator would end its holds while it has the records")
	g.Expect(said).NotTo(ContainSubstring("removed its finalizer"), "the operator is there to do that")
	b.expectNothingLeft(t)

	// As if the operator had paused it: without the webhooks nothing prevents this forgery.
	b.kubectl(t, "-n shop annotate deployment sleep altershield.defense.antgroup.com/held=1", "-n shop rollout pause deployment sleep")
	left := b.leftovers(t)
	g.Expect(left.String()).To(And(
		ContainSubstring("\n  kubectl -n shop rollout resume deployment/sleep\n"),
		ContainSubstring("\n  labels and annotations on 2 Deployments and 3 pods\n"),
		ContainSubstring("\n  2 ControllerRevisions"),
		ContainSubstring("on the namespaces shop\n")))
	for line := range strings.Lines(left.String()) {
		if command, found := strings.CutPrefix(strings.TrimSpace(line), "kubectl "); found {
			b.kubectl(t, command)
		}
	}
	g.Expect(b.leftovers(t)).To(Equal(leftovers{pods: 3}), "the version label stays in the pod templates")
	g.Expect(b.kubectl(t, "-n shop get deployment sleep -o jsonpath={.spec.paused}")).To(BeEmpty())
	g.Expect(b.kubectl(t, "-n shop get pods -o name")).To(Equal(pods), "a pod was restarted")

	b.kubectl(t, "-n shop set image deployment/sleep busybox=busybox:1.37", "-n shop rollout status deployment/sleep --timeout=3m",
		"-n shop delete deployment sleep --cascade=foreground --timeout=3m", "delete namespace shop --timeout=3m")
}

func (b *bench) letsRecordsOfADeadOperatorGo(t *testing.T) {
	g := NewWithT(t)
	b.install(t)
	b.kubectl(t, "-n altershieldoperator-system scale deployment altershieldoperator-controller-manager --replicas=0",
		"-n altershieldoperator-system rollout status deployment/altershieldoperator-controller-manager --timeout=3m")
	b.record(t)
	b.pace(t)

	said := b.uninstall(t, patience)
	g.Expect(said).To(MatchRegexp(`(?s)LeaderWorkerSet default/midway: its release is rolled out at once\n.*ControlledKind leaderworkersets.leaderworkerset.x-k8s.io: removed its finalizer`))
	b.expectRolledOut(t)
	g.Expect(said).To(ContainSubstring("ChangeWorkload default/stuck: removed its finalizer"))
	g.Expect(said).NotTo(ContainSubstring("waiting for the operator"))
	b.expectNothingLeft(t)
}

func (b *bench) waitsNoLongerThanItsPatienceForAHangingOperator(t *testing.T) {
	g := NewWithT(t)
	b.install(t)
	b.record(t)

	said := b.uninstall(t, time.Second)
	g.Expect(said).To(MatchRegexp(`(?s)waiting up to 1s for the operator to release its records\nthe operator didn't release them in time\nChangeWorkload default/stuck: removed its finalizer`))
	b.expectNothingLeft(t)
}

func (b *bench) keepsRecords(t *testing.T) {
	g := NewWithT(t)
	b.install(t)
	b.record(t)
	b.pace(t)
	b.kubectl(t, "create deployment sleep --image=busybox",
		"annotate deployment sleep altershield.defense.antgroup.com/release=1 altershield.defense.antgroup.com/held=1", "rollout pause deployment sleep")

	said := b.run(t, Options{Namespace: operator.Namespace, KeepRecords: true})
	g.Expect(said).To(MatchRegexp(`(?s)^deleted Mutating.* Validating.* Deployment .*ChangeWorkload default/stuck: removed its finalizer`))
	g.Expect(said).To(ContainSubstring("\n  kubectl -n default rollout resume deployment/sleep\n"))
	g.Expect(b.kubectl(t, "get changeworkload stuck -o jsonpath={.metadata.finalizers}")).To(BeEmpty())
	g.Expect(b.kubectl(t, "get controlledkind leaderworkersets.leaderworkerset.x-k8s.io -o jsonpath={.spec.mode}{.metadata.finalizers}")).To(Equal("Enforce"))
	b.expectRolledOut(t)
	g.Expect(b.kubectl(t, "-n altershieldoperator-system get deployments,pods -o name")).To(BeEmpty())
	g.Expect(b.run(t, Options{Namespace: operator.Namespace, KeepRecords: true})).NotTo(ContainSubstring("deleted "))

	b.uninstall(t, patience)
	b.expectNothingLeft(t)
	b.kubectl(t, "delete deployment sleep --timeout=3m")
}

func (b *bench) removesHalfAnOperator(t *testing.T) {
	g := NewWithT(t)
	b.install(t)
	b.kubectl(t, "delete namespace altershieldoperator-system --timeout=3m",
		"delete crd changeworkloads.app.ops.cloud.alipay.com opsconfiginfoes.app.ops.cloud.alipay.com",
		"delete mutatingwebhookconfiguration altershieldoperator-mutating-webhook-configuration")

	g.Expect(b.uninstall(t, patience)).To(And(
		ContainSubstring("deleted ValidatingWebhookConfiguration altershieldoperator-validating-webhook-configuration\n"),
		ContainSubstring("deleted CustomResourceDefinition changepods.app.ops.cloud.alipay.com\n"),
		ContainSubstring("deleted ClusterRole altershieldoperator-manager-role\n")))
	b.expectNothingLeft(t)
	g.Expect(b.uninstall(t, patience)).NotTo(ContainSubstring("deleted "), "nothing was left to remove")
}

// install installs the operator and waits for its fake pods.
func (b *bench) install(t *testing.T) *operator.Operator {
	t.Helper()
	g := NewWithT(t)
	manager, err := operator.Install(t.Context(), b.plane, b.options)
	g.Expect(err).NotTo(HaveOccurred())
	b.kubectl(t, "-n altershieldoperator-system rollout status deployment/altershieldoperator-controller-manager --timeout=3m")
	return manager
}

// record creates a ChangeWorkload with a finalizer.
func (b *bench) record(t *testing.T) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "record.yaml")
	NewWithT(t).Expect(os.WriteFile(file, []byte(`apiVersion: app.ops.cloud.alipay.com/v1alpha1
kind: ChangeWorkload
metadata:
  name: stuck
  namespace: default
  finalizers: [altershield.defense.antgroup.com/change-order]
spec:
  changeWorkloadId: stuck
  serviceName: sleep
  appName: sleep
  reversion: 0123456789abcdef0123456789abcdef
  createTime: "2026-01-01 00:00:00"
  createTimeUnix: 1767225600
`), 0o600)).To(Succeed())
	b.kubectl(t, "create -f "+file)
}

// pace creates a workload of a declared kind that waits at a step.
func (b *bench) pace(t *testing.T) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "midway.yaml")
	NewWithT(t).Expect(os.WriteFile(file, []byte(`apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata:
  name: midway
  namespace: default
  labels: {admission-webhook-altershield.antgroup.com/version: "0123456789abcdef0123456789abcdef"}
  annotations:
    altershield.defense.antgroup.com/release: "2"
    altershield.defense.antgroup.com/paced: |-
      {"release":2,"policy":"default/careful","lever":"Partition","from":{"/spec/rolloutStrategy/rollingUpdateConfiguration/partition":1}}
spec:
  replicas: 3
  rolloutStrategy: {type: RollingUpdate, rollingUpdateConfiguration: {partition: 2147483647, maxUnavailable: 1, maxSurge: 0}}
  leaderWorkerTemplate: {size: 1, workerTemplate: {spec: {containers: [{name: web, image: busybox}]}}}
`), 0o600)).To(Succeed())
	const name = "leaderworkersets.leaderworkerset.x-k8s.io"
	b.kubectl(t, "create -f ../workload/declared/testdata/crds/leaderworkersets.yaml", "wait --for=condition=Established crd/"+name,
		"apply -f ../../config/samples/kinds/leaderworkerset.yaml",
		`patch controlledkind `+name+` --type=merge -p {"metadata":{"finalizers":["altershield.defense.antgroup.com/kind"]},"spec":{"mode":"Enforce"}}`,
		"create -f "+file)
}

// expectRolledOut checks that this workload doesn't wait any more, and removes it with its kind.
func (b *bench) expectRolledOut(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	g.Expect(b.kubectl(t, "get leaderworkerset midway -o jsonpath={.spec.rolloutStrategy.rollingUpdateConfiguration.partition}")).To(Equal("1"))
	g.Expect(b.kubectl(t, "get leaderworkerset midway -o jsonpath={.metadata.annotations}")).NotTo(ContainSubstring("altershield.defense.antgroup.com/paced"))
	b.kubectl(t, "delete crd leaderworkersets.leaderworkerset.x-k8s.io --timeout=3m", "delete clusterrole altershield-kind-leaderworkersets.leaderworkerset.x-k8s.io")
}

// uninstall removes the operator and returns the output.
func (b *bench) uninstall(t *testing.T, patience time.Duration) string {
	t.Helper()
	return b.run(t, Options{Namespace: operator.Namespace, Patience: patience})
}

func (b *bench) run(t *testing.T, options Options) string {
	t.Helper()
	g := NewWithT(t)
	var printed bytes.Buffer
	u, err := New(b.plane.Config(), testkit.Kinds(), options, &printed)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(u.Run(t.Context())).To(Succeed(), printed.String())
	return printed.String()
}

func (b *bench) leftovers(t *testing.T) leftovers {
	t.Helper()
	g := NewWithT(t)
	u, err := New(b.plane.Config(), testkit.Kinds(), Options{Namespace: operator.Namespace}, io.Discard)
	g.Expect(err).NotTo(HaveOccurred())
	left, err := u.survey(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	return left
}

// expectNothingLeft checks that no object with the operator's name exists.
func (b *bench) expectNothingLeft(t *testing.T) {
	t.Helper()
	kinds := "namespaces,crds,clusterroles,clusterrolebindings,mutatingwebhookconfigurations,validatingwebhookconfigurations," +
		"mutatingadmissionpolicies,mutatingadmissionpolicybindings,validatingadmissionpolicies,validatingadmissionpolicybindings"
	NewWithT(t).Expect(b.kubectl(t, "get -o name "+kinds)).NotTo(Or(ContainSubstring("altershield"), ContainSubstring("alipay")))
}

// kubectl runs commands, whose arguments contain no blanks, and returns the output of the last one.
func (b *bench) kubectl(t *testing.T, commands ...string) string {
	t.Helper()
	var last string
	for _, command := range commands {
		cmd := exec.CommandContext(t.Context(), b.plane.Kubectl(), strings.Fields(command)...)
		cmd.Env = append(os.Environ(), "KUBECONFIG="+b.plane.Kubeconfig())
		output, err := cmd.CombinedOutput()
		NewWithT(t).Expect(err).NotTo(HaveOccurred(), command+": "+string(output))
		last = strings.TrimSpace(string(output))
	}
	return last
}

func TestOptionsValidate(t *testing.T) {
	for name, c := range map[string]struct {
		options Options
		problem string
	}{
		"no name of a namespace": {Options{Namespace: "No Name"}, `--namespace "No Name" is not the name of a namespace`},
		"no patience":            {Options{Namespace: "system", Patience: -time.Second}, "--patience -1s is negative"},
		"all and nothing":        {Options{Namespace: "system", RecordsOnly: true, KeepRecords: true}, "--records-only and --keep-records exclude each other"},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(c.options.Validate()).To(MatchError(ContainSubstring(c.problem)))
		})
	}
	NewWithT(t).Expect((&Options{Namespace: "system"}).Validate()).To(Succeed())
}

func TestUninstallerRemovesNothingOfAnOperatorInAnotherNamespace(t *testing.T) {
	g := NewWithT(t)
	webhooks := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "altershieldoperator-validating-webhook-configuration"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{Name: "vdeployment.kb.io", ClientConfig: admissionregistrationv1.WebhookClientConfig{
			Service: &admissionregistrationv1.ServiceReference{Namespace: "change-control", Name: "altershieldoperator-webhook-service"}}}},
	}
	other := webhooks.DeepCopy()
	other.Name, other.Webhooks[0].ClientConfig.Service.Namespace = "another-operator", "elsewhere"
	kube := testkit.NewFake(t, webhooks, other)
	for _, keep := range []bool{true, false} {
		u := &Uninstaller{kinds: testkit.Kinds(), client: kube, out: io.Discard, Options: Options{Namespace: "altershieldoperator-system", KeepRecords: keep}}
		g.Expect(u.Run(t.Context())).To(MatchError("the operator isn't in namespace altershieldoperator-system: the webhooks of ValidatingWebhookConfiguration " +
			"altershieldoperator-validating-webhook-configuration are served in namespace change-control: run it with --namespace=change-control"))
		g.Expect(kube.Get(t.Context(), client.ObjectKeyFromObject(webhooks), webhooks)).To(Succeed())
	}
	u := &Uninstaller{client: kube, Options: Options{Namespace: "change-control"}}
	g.Expect(u.checkNamespace(t.Context())).To(Succeed())
}

func TestUninstallerRemovesOnlyANamespaceThatWasMadeForTheOperator(t *testing.T) {
	for _, row := range []struct {
		namespace string
		labels    map[string]string
		stays     bool
	}{
		{"altershieldoperator-system", nil, false},
		{"change-control", map[string]string{"app.kubernetes.io/name": "altershield-operator"}, false},
		{"platform", map[string]string{"app.kubernetes.io/name": "platform"}, true},
		{"platform", nil, true},
	} {
		g := NewWithT(t)
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: row.namespace, Labels: row.labels}}
		manager := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: row.namespace, Name: "altershieldoperator-controller-manager"}}
		kube := testkit.NewFake(t, namespace, manager)
		var out bytes.Buffer
		u := &Uninstaller{client: kube, out: &out, Options: Options{Namespace: row.namespace}}
		g.Expect(u.removeNamespace(t.Context())).To(Succeed())
		g.Expect(u.removeNamespace(t.Context())).To(Succeed(), "again")
		if row.stays {
			g.Expect(kube.Get(t.Context(), client.ObjectKeyFromObject(namespace), namespace)).To(Succeed())
			g.Expect(apierrors.IsNotFound(kube.Get(t.Context(), client.ObjectKeyFromObject(manager), manager))).To(BeTrue())
			g.Expect(out.String()).To(HavePrefix("Namespace platform stays, as it has no label app.kubernetes.io/name=altershield-operator: delete what remains of the operator in it\n" +
				"deleted Deployment altershieldoperator-controller-manager"))
		} else {
			g.Expect(apierrors.IsNotFound(kube.Get(t.Context(), client.ObjectKeyFromObject(namespace), namespace))).To(BeTrue(), row.namespace)
		}
	}
}

func TestLeftoversNameAPausedRolloutOnlyIfTheOperatorPausedIt(t *testing.T) {
	kind := deployment.Kind{}
	deployment := func(paused bool, annotations ...string) *appsv1.Deployment {
		d := &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Paused: paused}}
		d.Namespace, d.Name, d.Annotations = "shop", "sleep", map[string]string{}
		for i := 0; i < len(annotations); i += 2 {
			d.Annotations["altershield.defense.antgroup.com/"+annotations[i]] = annotations[i+1]
		}
		return d
	}
	for name, c := range map[string]struct {
		deployment *appsv1.Deployment
		named      bool
	}{
		"the operator paused its present release": {deployment(true, "release", "3", "held", "3"), true},
		"its release waits for a freeze":          {deployment(true, "release", "3", "held", "3", "frozen", `{"release":3,"by":["ops/friday"],"concurrent":5}`), true},
		"a user paused it, and a freeze is on":    {deployment(true, "release", "3", "frozen", `{"release":3,"by":["ops/friday"],"concurrent":5}`), false},
		"a user resumed it":                       {deployment(false, "release", "3", "held", "3"), false},
		"a user resumed it and paused it again":   {deployment(true, "release", "3", "held", "3-overridden"), false},
		"the operator paused a release before":    {deployment(true, "release", "4", "held", "3"), false},
		"a user paused it":                        {deployment(true, "release", "3"), false},
		"the operator never saw it":               {deployment(true), false},
		"its number is unreadable":                {deployment(true, "release", "x", "held", "0"), false},
		"its number became unreadable":            {deployment(true, "release", "x", "held", "1"), true},
	} {
		t.Run(name, func(t *testing.T) {
			var left leftovers
			NewWithT(t).Expect(left.add(kind, c.deployment)).To(Succeed())
			NewWithT(t).Expect(strings.Contains(left.String(), "kubectl -n shop rollout resume deployment/sleep")).To(Equal(c.named))
		})
	}
}

func TestLeftoversOfEachKind(t *testing.T) {
	g := NewWithT(t)
	meta := func(held ...string) metav1.ObjectMeta {
		made := metav1.ObjectMeta{Namespace: "shop", Name: "web", Annotations: map[string]string{
			"altershield.defense.antgroup.com/release": "3", "altershield.defense.antgroup.com/held": "3",
		}}
		if len(held) > 0 {
			made.Annotations["altershield.defense.antgroup.com/held-from"] = held[0]
		}
		return made
	}
	partitioned := appsv1.StatefulSetUpdateStrategy{Type: "RollingUpdate", RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: ptr.To[int32](2147483647)}}
	left := leftovers{pods: 7, revisions: 2}
	g.Expect(left.add(deployment.Kind{}, &appsv1.Deployment{ObjectMeta: meta()})).To(Succeed())
	g.Expect(left.add(statefulset.Kind{}, &appsv1.StatefulSet{ObjectMeta: meta(`{"partition":2}`), Spec: appsv1.StatefulSetSpec{UpdateStrategy: partitioned}})).To(Succeed())
	g.Expect(left.add(statefulset.Kind{}, &appsv1.StatefulSet{ObjectMeta: meta()})).To(Succeed(), "a user let it go on")
	g.Expect(left.add(daemonset.Kind{}, &appsv1.DaemonSet{ObjectMeta: meta(), Spec: appsv1.DaemonSetSpec{UpdateStrategy: appsv1.DaemonSetUpdateStrategy{Type: "OnDelete"}}})).To(Succeed())
	g.Expect(left.String()).To(HavePrefix(`
AlterShield Operator is removed. Workloads keep running.

PAUSED ROLLOUTS: the operator paused 2 because their releases failed, or wait for their first nodes. Resume them yourself:
  kubectl -n shop patch statefulset web --type=json -p '[{"op":"replace","path":"/spec/updateStrategy/rollingUpdate/partition","value":2}]'
  kubectl -n shop patch daemonset web --type=json -p '[{"op":"replace","path":"/spec/updateStrategy/type","value":"RollingUpdate"}]'

The following remains, without effect:
  labels and annotations on 1 Deployments, 2 StatefulSets, 1 DaemonSets and 7 pods
  2 ControllerRevisions with pod templates of verified releases, owned by their workloads
`))
	g.Expect(left.String()).To(And(
		ContainSubstring("\n  kubectl annotate statefulsets.apps -A --all altershield.defense.antgroup.com/break-glass- "),
		ContainSubstring(" altershield.defense.antgroup.com/parked- "),
		ContainSubstring(" altershield.defense.antgroup.com/held- altershield.defense.antgroup.com/held-from- "),
		ContainSubstring(" altershield.defense.antgroup.com/frozen- "),
		ContainSubstring(" altershield.defense.antgroup.com/break-glass- "),
		ContainSubstring("\n  kubectl label daemonsets.apps -A --all admission-webhook-altershield.antgroup.com/version- "),
		// The controllers' own ControllerRevisions carry a version, too, and stay.
		ContainSubstring("\n  kubectl delete controllerrevisions -A -l admission-webhook-altershield.antgroup.com/version,app.kubernetes.io/deployment-name\n"),
		ContainSubstring("\n  kubectl delete controllerrevisions -A -l admission-webhook-altershield.antgroup.com/version,altershield.defense.antgroup.com/workload\n")))
}

func TestLeftoversAreNoneWhereNothingIs(t *testing.T) {
	g := NewWithT(t)
	var left leftovers
	g.Expect(left.add(deployment.Kind{}, &appsv1.Deployment{})).To(Succeed())
	g.Expect(left.String()).To(Equal("\nAlterShield Operator is removed. Workloads keep running.\n"))
}

func TestObstaclesAreWhatKeepsANamespace(t *testing.T) {
	namespace := &corev1.Namespace{Status: corev1.NamespaceStatus{Conditions: []corev1.NamespaceCondition{
		{Type: corev1.NamespaceContentRemaining, Status: corev1.ConditionTrue, Message: "Some resources are remaining: pods. has 1 resource instances"},
		{Type: corev1.NamespaceDeletionDiscoveryFailure, Status: corev1.ConditionFalse, Message: "All resources successfully discovered"},
	}}}
	NewWithT(t).Expect(obstacles(namespace)).To(Equal("; Some resources are remaining: pods. has 1 resource instances"))
}
