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

package opsconfiginfo_test

import (
	"context"
	"errors"
	"os"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientevents "k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/opsconfiginfo"
	"github.com/traas-stack/altershield-operator/controllers/platform/events"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
)

var apiServer testkit.APIServer

func TestMain(m *testing.M) { os.Exit(apiServer.Run(m)) }

// bench is a reconciler whose settings are in a namespace of its own.
type bench struct {
	t          *testing.T
	kube       client.WithWatch
	recorded   *clientevents.FakeRecorder
	reconciler *opsconfiginfo.Reconciler
}

func newBench(t *testing.T, funcs interceptor.Funcs) *bench {
	t.Helper()
	kube := apiServer.Client(t)
	b := &bench{t: t, kube: kube, recorded: clientevents.NewFakeRecorder(10)}
	b.reconciler = &opsconfiginfo.Reconciler{
		Client: interceptor.NewClient(testkit.Cached(t, kube), funcs), Recorder: events.Recorder{Events: b.recorded}, Clock: clocktesting.NewFakePassiveClock(testkit.Now()),
		Namespace: testkit.Namespace(t, kube, false),
	}
	return b
}

func (b *bench) key(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: b.reconciler.Namespace, Name: name}
}

func (b *bench) create(key client.ObjectKey, spec appv1alpha1.OpsConfigInfoSpec) *appv1alpha1.OpsConfigInfo {
	b.t.Helper()
	setting := &appv1alpha1.OpsConfigInfo{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}, Spec: spec}
	NewWithT(b.t).Expect(b.kube.Create(b.t.Context(), setting)).To(Succeed())
	return setting
}

func (b *bench) reconcile(key client.ObjectKey) error {
	result, err := b.reconciler.Reconcile(b.t.Context(), ctrl.Request{NamespacedName: key})
	NewWithT(b.t).Expect(result).To(Equal(ctrl.Result{}))
	return err
}

// effective is the status and the reason of the condition of a setting.
func (b *bench) effective(key client.ObjectKey) string {
	b.t.Helper()
	var setting appv1alpha1.OpsConfigInfo
	NewWithT(b.t).Expect(b.kube.Get(b.t.Context(), key, &setting)).To(Succeed())
	for _, condition := range setting.Status.Conditions {
		if condition.Type == "Effective" {
			return string(condition.Status) + " " + condition.Reason
		}
	}
	return ""
}

func (b *bench) events() []string {
	var seen []string
	for len(b.recorded.Events) > 0 {
		seen = append(seen, <-b.recorded.Events)
	}
	return seen
}

func TestReconcileCreatesMissingSettingsWithTheDocumentedDefaults(t *testing.T) {
	g, b := NewWithT(t), newBench(t, interceptor.Funcs{})
	for name, spec := range map[string]appv1alpha1.OpsConfigInfoSpec{
		"blocking":           {Type: "isBlockingUp", Enable: true, Remark: "Enabling Blockade"},
		"branch":             {Type: "isBranch", Enable: false, Content: "10", Remark: "Enabling Batch Protection"},
		"stuck-rollback":     {Type: "isStuckRollback", Enable: true, Content: "2m", Remark: "Roll back releases whose pods don't run for this long"},
		"suspended-rollback": {Type: "isSuspendedRollback", Enable: false, Remark: "Roll back suspended releases without being asked"},
		"park":               {Type: "isPark", Enable: false, Remark: "Park suspended releases of StatefulSets without being asked"},
		"unstick":            {Type: "isUnstick", Enable: false, Remark: "Delete pods that keep a StatefulSet from going on to another version"},
		"refusal":            {Type: "isRefusal", Enable: true, Content: "24h", Remark: "Refuse versions that were rolled back for this long"},
		"template-history":   {Type: "isTemplateHistory", Enable: true, Content: "10", Remark: "Keep this many verified pod templates of each workload"},
		"change-records":     {Type: "isChangeRecords", Enable: true, Content: "100", Remark: "Write ChangeRecords, and keep this many of each workload"},
		"record-days":        {Type: "isRecordDays", Enable: true, Content: "90", Remark: "Keep ChangeRecords for this many days"},
		"finished-label":     {Type: "isFinishedLabel", Enable: true, Remark: "Label finished pods"},
		"release-history":    {Type: "isReleaseHistory", Enable: false, Content: "5", Remark: "Keep this many ChangeWorkloads of past releases of each workload"},
	} {
		g.Expect(b.reconcile(b.key(name))).To(Succeed())
		var setting appv1alpha1.OpsConfigInfo
		g.Expect(b.kube.Get(t.Context(), b.key(name), &setting)).To(Succeed())
		g.Expect(setting.Spec).To(Equal(spec))
		g.Expect(b.events()).To(ConsistOf("Normal ConfigRestored created with the default"))
		g.Expect(b.reconcile(b.key(name))).To(Succeed())
		g.Expect(b.effective(b.key(name))).To(Equal("True InEffect"))
		g.Expect(b.events()).To(BeEmpty())
	}
}

func TestReconcileCreatesNothingElse(t *testing.T) {
	g, b := NewWithT(t), newBench(t, interceptor.Funcs{})
	for _, key := range []client.ObjectKey{b.key("blokking"), {Namespace: "default", Name: "blocking"}} {
		g.Expect(b.reconcile(key)).To(Succeed())
		err := b.kube.Get(t.Context(), key, &appv1alpha1.OpsConfigInfo{})
		g.Expect(apierrors.IsNotFound(err)).To(BeTrue())
	}
	g.Expect(b.events()).To(BeEmpty())
}

func TestReconcileSaysWhyASettingHasNoEffect(t *testing.T) {
	for _, row := range []struct {
		name   string
		key    func(*bench) client.ObjectKey
		spec   appv1alpha1.OpsConfigInfoSpec
		reason string
	}{
		{"in another namespace", func(b *bench) client.ObjectKey {
			return client.ObjectKey{Namespace: testkit.Namespace(b.t, b.kube, false), Name: "blocking"}
		}, appv1alpha1.OpsConfigInfoSpec{Type: "isBlockingUp"}, "OtherNamespace"},
		{"of another name", func(b *bench) client.ObjectKey { return b.key("blokking") }, appv1alpha1.OpsConfigInfoSpec{Type: "isBlockingUp"}, "UnknownName"},
		{"of another type", func(b *bench) client.ObjectKey { return b.key("branch") }, appv1alpha1.OpsConfigInfoSpec{Type: "isBlockingUp", Content: "abc"}, "UnusableSpec"},
	} {
		t.Run(row.name, func(t *testing.T) {
			g, b := NewWithT(t), newBench(t, interceptor.Funcs{})
			key := row.key(b)
			b.create(key, row.spec)
			g.Expect(b.reconcile(key)).To(Succeed())
			g.Expect(b.effective(key)).To(Equal("False " + row.reason))
			g.Expect(b.events()).To(ConsistOf(HavePrefix("Warning ConfigIgnored ")))
			g.Expect(b.reconcile(key)).To(Succeed())
			g.Expect(b.events()).To(BeEmpty(), "it is reported once")
		})
	}
}

func TestReconcileTakesASettingThatIsMended(t *testing.T) {
	g, b := NewWithT(t), newBench(t, interceptor.Funcs{})
	branch := b.create(b.key("branch"), appv1alpha1.OpsConfigInfoSpec{Type: "isBlockingUp"})
	g.Expect(b.reconcile(b.key("branch"))).To(Succeed())
	g.Expect(b.effective(b.key("branch"))).To(Equal("False UnusableSpec"))
	g.Expect(b.events()).To(HaveLen(1))

	before := branch.DeepCopy()
	branch.Spec = appv1alpha1.OpsConfigInfoSpec{Type: "isRefusal"}
	g.Expect(b.kube.Patch(t.Context(), branch, client.MergeFrom(before))).To(Succeed())
	g.Expect(b.reconcile(b.key("branch"))).To(Succeed())
	g.Expect(b.effective(b.key("branch"))).To(Equal("False UnusableSpec"))
	g.Expect(b.events()).To(BeEmpty(), "it has no effect as before")

	before = branch.DeepCopy()
	branch.Spec = appv1alpha1.OpsConfigInfoSpec{Type: "isBranch", Enable: true, Content: "3"}
	g.Expect(b.kube.Patch(t.Context(), branch, client.MergeFrom(before))).To(Succeed())
	g.Expect(b.reconcile(b.key("branch"))).To(Succeed())
	g.Expect(b.effective(b.key("branch"))).To(Equal("True InEffect"))
	g.Expect(b.events()).To(BeEmpty())
}

func TestReconcileLeavesASettingToWhoeverWasFaster(t *testing.T) {
	b := newBench(t, interceptor.Funcs{
		Create: func(ctx context.Context, kube client.WithWatch, object client.Object, _ ...client.CreateOption) error {
			mine := object.DeepCopyObject().(*appv1alpha1.OpsConfigInfo)
			mine.Spec.Remark = "by a user"
			if err := kube.Create(ctx, mine); err != nil {
				return err
			}
			return kube.Create(ctx, object)
		},
	})
	g := NewWithT(t)
	g.Expect(b.reconcile(b.key("blocking"))).To(Succeed())
	var setting appv1alpha1.OpsConfigInfo
	g.Expect(b.kube.Get(t.Context(), b.key("blocking"), &setting)).To(Succeed())
	g.Expect(setting.Spec.Remark).To(Equal("by a user"))
	g.Expect(b.events()).To(BeEmpty())
}

func TestReconcileIsTriedAgain(t *testing.T) {
	down := errors.New("etcd has no leader")
	for _, row := range []struct {
		name  string
		funcs interceptor.Funcs
		there bool
		err   string
	}{
		{"where the setting can't be read", interceptor.Funcs{Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return down
		}}, true, "reading OpsConfigInfo "},
		{"where its status can't be written", interceptor.Funcs{SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
			return down
		}}, true, "writing the status of OpsConfigInfo "},
		{"where it can't be created", interceptor.Funcs{Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
			return down
		}}, false, "creating OpsConfigInfo "},
	} {
		t.Run(row.name, func(t *testing.T) {
			g, b := NewWithT(t), newBench(t, row.funcs)
			if row.there {
				b.create(b.key("blocking"), appv1alpha1.OpsConfigInfoSpec{Type: "isBlockingUp", Enable: true})
			}
			g.Expect(b.reconcile(b.key("blocking"))).To(MatchError(row.err + b.key("blocking").String() + ": etcd has no leader"))
			g.Expect(b.events()).To(BeEmpty())
		})
	}
}

func TestReconcileTellsThatAWebhookDeniesTheStatusWhateverItsCode(t *testing.T) {
	g, b := NewWithT(t), newBench(t, interceptor.Funcs{
		SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
			return testkit.Denied(404)
		},
	})
	b.create(b.key("blocking"), appv1alpha1.OpsConfigInfoSpec{Type: "isBlockingUp", Enable: true})
	g.Expect(b.reconcile(b.key("blocking"))).To(MatchError("writing the status of OpsConfigInfo " + b.key("blocking").String() +
		`: admission webhook "guard.example.com" denied the request: no`))
}

// The API server rejects an enabled setting that the operator could not use.
func TestOpsConfigInfoRefusesContentsThatCanNotBeUsed(t *testing.T) {
	b := newBench(t, interceptor.Funcs{})
	const number, duration = "content must be a whole number from 1 to 100", "content must be a whole number of seconds, minutes or hours such as 90s, 2m or 24h"
	for _, row := range []struct {
		kind, err string
		contents  []string
	}{
		{"isBranch", "content must be a whole number from 1 to 500 while isBranch is enabled", []string{"abc", "0", "-1", "1.5", "", "501"}},
		{"isStuckRollback", duration, []string{"", "0s", "-1m", "2", "1.5h", "2d", "100000s"}},
		{"isRefusal", duration, []string{"", "0h", "forever"}},
		{"isTemplateHistory", number, []string{"", "0", "101", "ten"}},
		{"isReleaseHistory", number, []string{"", "0", "101", "ten"}},
		{"isChangeRecords", "content must be a whole number from 1 to 1000", []string{"", "0", "1001", "ten"}},
		{"isRecordDays", "content must be a whole number from 1 to 400", []string{"", "0", "401", "90d"}},
	} {
		for _, content := range row.contents {
			setting := &appv1alpha1.OpsConfigInfo{ObjectMeta: metav1.ObjectMeta{Namespace: b.reconciler.Namespace, GenerateName: "setting-"}}
			setting.Spec = appv1alpha1.OpsConfigInfoSpec{Type: row.kind, Enable: true, Content: content}
			NewWithT(t).Expect(b.kube.Create(t.Context(), setting)).To(MatchError(ContainSubstring(row.err)), "%s %q", row.kind, content)
		}
	}
}
