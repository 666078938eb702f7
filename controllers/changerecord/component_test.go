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

package changerecord_test

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/changerecord"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/settings"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
	"github.com/traas-stack/altershield-operator/hack/manifests"
)

var apiServer testkit.APIServer

func TestMain(m *testing.M) { os.Exit(apiServer.Run(m)) }

// bench is a Writer and what it writes in a namespace of its own.
type bench struct {
	t         *testing.T
	kube      client.WithWatch
	namespace string
	clock     *clocktesting.FakePassiveClock
	// fails is the call that fails, answered whether it takes effect before.
	fails    string
	answered bool
	// stays is a record that can't be removed, by this error or errLost.
	stays   string
	refusal error
	// expires reports whether each list has pages of one record, and the version of the first page expires before the second is asked for.
	expires bool
	writer  *changerecord.Writer
}

var errLost = errors.New("the API server is away")

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, kube: apiServer.Client(t), clock: clocktesting.NewFakePassiveClock(testkit.Now())}
	b.namespace = testkit.Namespace(t, b.kube, false)
	through := interceptor.NewClient(b.kube, interceptor.Funcs{
		List: func(ctx context.Context, kube client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if _, pods := list.(*corev1.PodList); pods && b.fails == "list pods" || !pods && b.fails == "list" {
				return errLost
			}
			return b.list(ctx, kube, list, options...)
		},
		Get: func(ctx context.Context, kube client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			if _, record := object.(*unstructured.Unstructured); record && b.fails == "get" {
				return errLost
			}
			return kube.Get(ctx, key, object, options...)
		},
		Create: func(ctx context.Context, kube client.WithWatch, object client.Object, options ...client.CreateOption) error {
			if b.fails != "create" {
				return kube.Create(ctx, object, options...)
			}
			if b.answered {
				NewWithT(t).Expect(kube.Create(ctx, object, options...)).To(Succeed())
			}
			return errLost
		},
		Delete: func(ctx context.Context, kube client.WithWatch, object client.Object, options ...client.DeleteOption) error {
			if b.fails == "delete" || object.GetNamespace() == b.namespace && object.GetName() == b.stays {
				return cmp.Or(b.refusal, errLost)
			}
			return kube.Delete(ctx, object, options...)
		},
	})
	reader := settings.Reader{Client: b.kube, Namespace: b.namespace}
	b.writer = &changerecord.Writer{Client: through, Live: through, Settings: reader, Clock: b.clock}
	return b
}

// list lists in pages of one record where their version expires.
func (b *bench) list(ctx context.Context, kube client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
	if _, records := list.(*metav1.PartialObjectMetadataList); !records || !b.expires {
		return kube.List(ctx, list, options...)
	}
	token, again := strings.CutPrefix((&client.ListOptions{}).ApplyOptions(options).Continue, "latest ")
	if token != "" && !again {
		expired := apierrors.NewResourceExpired("the provided continue parameter is too old")
		expired.ErrStatus.Continue = "latest " + token // as the API server does: to go on at its latest version
		return expired
	}
	return kube.List(ctx, list, append(options, client.Limit(1), client.Continue(token))...)
}

// release returns a release of the workload web and its status.
func (b *bench) release(number int64, phase appv1alpha1.ChangeWorkloadPhase, reason string) (*appv1alpha1.ChangeWorkload, *appv1alpha1.ChangeWorkloadStatus) {
	workload := &appv1alpha1.ChangeWorkload{
		ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: "web--x--" + testkit.Version},
		Spec: appv1alpha1.ChangeWorkloadSpec{
			AppName: "web", Reversion: testkit.Version, Release: number, CreateTimeUnix: testkit.Now().Unix(),
			WorkloadRef: &appv1alpha1.WorkloadReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", UID: "d-1"},
		},
	}
	return workload, &appv1alpha1.ChangeWorkloadStatus{
		Status: phase, ObservedRelease: number, Conditions: []metav1.Condition{{Type: "Verified", Reason: reason}},
		DefenseCheckPassPods: []appv1alpha1.PodSummary{{Pod: "web-1"}},
	}
}

func (b *bench) record(number int64, phase appv1alpha1.ChangeWorkloadPhase, reason string, known *appv1alpha1.RecordedOutcome) (*appv1alpha1.RecordedOutcome, error) {
	workload, next := b.release(number, phase, reason)
	next.Recorded = known
	return b.writer.Record(b.t.Context(), workload, next, decide.RecordFacts{})
}

// outcomes returns the records as <place> <outcome> after <previous>, in the order of their names, and checks their chain.
func (b *bench) outcomes() []string {
	b.t.Helper()
	g := NewWithT(b.t)
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(appv1alpha1.GroupVersion.WithKind("ChangeRecordList"))
	g.Expect(b.kube.List(b.t.Context(), list, client.InNamespace(b.namespace))).To(Succeed())
	var links []decide.RecordLink
	var outcomes []string
	for _, item := range list.Items {
		hash, err := decide.RecordHash(item.GetNamespace(), item.GetName(), item.Object["spec"])
		g.Expect(err).NotTo(HaveOccurred())
		var record appv1alpha1.ChangeRecord
		g.Expect(b.kube.Get(b.t.Context(), client.ObjectKeyFromObject(&item), &record)).To(Succeed())
		links = append(links, decide.RecordLink{Namespace: item.GetNamespace(), Name: item.GetName(), Hash: hash, Previous: record.Spec.Previous})
		text := strings.TrimPrefix(record.Name, decide.RecordKey("d-1", false)+"-") + " " + string(record.Spec.Outcome)
		if record.Spec.Previous != nil {
			text += " after " + strings.TrimPrefix(record.Spec.Previous.Name, decide.RecordKey("d-1", false)+"-")
		}
		outcomes = append(outcomes, text)
	}
	g.Expect(decide.VerifyRecords(links)).To(BeEmpty())
	return outcomes
}

// stored returns the spec of a ChangeRecord.
func (b *bench) stored(number int64, correction int32) appv1alpha1.ChangeRecordSpec {
	b.t.Helper()
	var record appv1alpha1.ChangeRecord
	key := client.ObjectKey{Namespace: b.namespace, Name: decide.ChangeRecordName(decide.RecordKey("d-1", false), number, correction)}
	NewWithT(b.t).Expect(b.kube.Get(b.t.Context(), key, &record)).To(Succeed())
	return record.Spec
}

func TestRecordWritesOneRecordARelease(t *testing.T) {
	g, b := NewWithT(t), newBench(t)
	g.Expect(b.record(1, "Running", "Verifying", nil)).To(BeNil())
	g.Expect(b.outcomes()).To(BeEmpty())
	verified := &appv1alpha1.RecordedOutcome{Outcome: "Verified"}
	g.Expect(b.record(1, "Success", "AllPodsPassed", nil)).To(Equal(verified))
	g.Expect(b.record(1, "Success", "AllPodsPassed", verified)).To(BeNil())
	g.Expect(b.record(2, "Suspend", "PodsFailed", nil)).To(Equal(&appv1alpha1.RecordedOutcome{Outcome: "Failed"}))
	g.Expect(b.outcomes()).To(Equal([]string{"1 Verified", "2 Failed after 1"}))
}

func TestRecordAddsARecordForALateVerdict(t *testing.T) {
	g, b := NewWithT(t), newBench(t)
	verified, err := b.record(1, "Success", "AllPodsPassed", nil)
	g.Expect(err).NotTo(HaveOccurred())
	failed, err := b.record(1, "Suspend", "PodsFailed", verified)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(failed).To(Equal(&appv1alpha1.RecordedOutcome{Outcome: "Failed", Corrections: 1}))
	g.Expect(b.record(2, "Success", "AllPodsPassed", nil)).NotTo(BeNil())
	g.Expect(b.outcomes()).To(ConsistOf("1 Verified", "1-1 Failed after 1", "2 Verified after 1-1"))
}

// Observed releases are counted separately.
func TestRecordKeepsObservedReleasesApart(t *testing.T) {
	g, b := NewWithT(t), newBench(t)
	workload, next := b.release(7, "Success", "AllPodsPassed")
	workload.Spec.Observed = true
	g.Expect(b.writer.Record(t.Context(), workload, next, decide.RecordFacts{})).To(Equal(&appv1alpha1.RecordedOutcome{Outcome: "Verified"}))
	g.Expect(b.record(7, "Success", "AllPodsPassed", nil)).To(Equal(&appv1alpha1.RecordedOutcome{Outcome: "Verified"}))
	g.Expect(b.outcomes()).To(ConsistOf("7 Verified", decide.RecordKey("d-1", true)+"-7 Verified"))
}

// The count of releases begins anew where its annotation is lost.
func TestRecordAfterTheCountBeganAnew(t *testing.T) {
	g, b := NewWithT(t), newBench(t)
	record := func(number int64, after time.Duration, phase appv1alpha1.ChangeWorkloadPhase, known *appv1alpha1.RecordedOutcome) *appv1alpha1.RecordedOutcome {
		workload, next := b.release(number, phase, "AllPodsPassed")
		workload.Spec.CreateTimeUnix += int64(after / time.Second)
		next.Recorded = known
		recorded, err := b.writer.Record(t.Context(), workload, next, decide.RecordFacts{})
		g.Expect(err).NotTo(HaveOccurred())
		return recorded
	}
	verified := &appv1alpha1.RecordedOutcome{Outcome: "Verified"}
	for number := int64(2); number <= 3; number++ {
		g.Expect(record(number, 0, "Success", nil)).To(Equal(verified))
	}
	for range 2 { // also after a crash before the status
		g.Expect(record(2, time.Minute, "Success", nil)).To(Equal(verified))
	}
	g.Expect(record(2, time.Minute, "Suspend", verified)).To(Equal(&appv1alpha1.RecordedOutcome{Outcome: "Failed", Corrections: 1}))
	g.Expect(record(1, time.Hour, "Success", nil)).To(Equal(verified))
	g.Expect(b.outcomes()).To(ConsistOf("2 Verified", "3 Verified after 2", "4 Verified after 3", "4-1 Failed after 4", "5 Verified after 4-1"))
	g.Expect(record(2, time.Minute, "Success", &appv1alpha1.RecordedOutcome{Outcome: "Failed", Corrections: 1})).To(Equal(&appv1alpha1.RecordedOutcome{Outcome: "Verified", Corrections: 2}))
	g.Expect(b.outcomes()).To(ContainElement("6-2 Verified after 5"))
}

func TestRecordOfAReleaseAfterThatOfALaterOne(t *testing.T) {
	g, b := NewWithT(t), newBench(t)
	for _, number := range []int64{4, 2, 3} {
		g.Expect(b.record(number, "Success", "AllPodsPassed", nil)).NotTo(BeNil())
	}
	g.Expect(b.record(3, "Suspend", "PodsFailed", &appv1alpha1.RecordedOutcome{Outcome: "Verified"})).NotTo(BeNil())
	g.Expect(b.outcomes()).To(ConsistOf("4 Verified", "2 Verified", "3 Verified after 2", "3-1 Failed after 3"))
}

func TestRecordHasTheApprovalsOfTheRelease(t *testing.T) {
	g, b := NewWithT(t), newBench(t)
	for name, of := range map[string]struct {
		number int64
		uid    types.UID
	}{"carol": {1, "d-1"}, "dave": {2, "d-1"}, "erin": {1, "d-2"}} {
		approval := &appv1alpha1.ChangeApproval{
			ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: name},
			Spec: appv1alpha1.ChangeApprovalSpec{
				Workload: appv1alpha1.ReleasedWorkload{Kind: "Deployment.apps", Name: "web"}, Version: testkit.Version, Release: of.number, ApprovedBy: name,
				UID: of.uid,
			},
		}
		g.Expect(b.kube.Create(t.Context(), approval)).To(Succeed())
	}
	g.Expect(b.record(1, "Running", "Superseded", nil)).To(BeNil())
	workload, next := b.release(1, "Running", "Superseded")
	g.Expect(b.writer.Record(t.Context(), workload, next, decide.RecordFacts{End: decide.Ending{Superseded: true}})).NotTo(BeNil())
	g.Expect(b.stored(1, 0).Approvals).To(HaveLen(1))
	g.Expect(b.stored(1, 0).Approvals[0].User).To(Equal("carol"))
}

func TestRecordHasTheImagesOfAPod(t *testing.T) {
	g, b := NewWithT(t), newBench(t)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: "web-1"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "nginx:2"}}},
	}
	g.Expect(b.kube.Create(t.Context(), pod)).To(Succeed())
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "web", Image: "nginx:2", ImageID: "docker.io/library/nginx@sha256:9f86"}}
	g.Expect(b.kube.Status().Update(t.Context(), pod)).To(Succeed())
	for number, uid := range map[int64]types.UID{1: pod.UID, 2: "of-another-release"} {
		workload, next := b.release(number, "Success", "AllPodsPassed")
		next.DefenseCheckPassPods[0].UID = uid
		g.Expect(b.writer.Record(t.Context(), workload, next, decide.RecordFacts{})).NotTo(BeNil())
	}
	g.Expect(b.stored(1, 0).Images).To(Equal([]appv1alpha1.RecordedImage{{Container: "web", Image: "nginx:2", Digest: "sha256:9f86"}}))
	g.Expect(b.stored(2, 0).Images).To(BeEmpty(), "the pod was replaced")
}

// The operator may crash between the record and the status, and the answer to the creation may get lost. The next leader finds the record.
func TestRecordAfterACrashFindsTheRecord(t *testing.T) {
	for _, call := range []string{"list", "get", "list pods", "create"} {
		for _, answered := range []bool{false, true} {
			t.Run(call+" "+strconv.FormatBool(answered), func(t *testing.T) {
				g, b := NewWithT(t), newBench(t)
				g.Expect(b.record(1, "Success", "AllPodsPassed", nil)).NotTo(BeNil())
				b.fails, b.answered = call, answered
				owed, err := b.record(2, "Suspend", "PodsFailed", nil)
				g.Expect(err).To(MatchError(errLost))
				g.Expect(err).To(MatchError(HavePrefix("writing the ChangeRecord of release 2 of " + b.namespace + "/web: ")))
				g.Expect(owed).To(Equal(&appv1alpha1.RecordedOutcome{Outcome: "Failed", Owed: err.Error()}))
				b.fails = ""
				b.clock.SetTime(testkit.Now().Add(time.Minute))
				failed := &appv1alpha1.RecordedOutcome{Outcome: "Failed"}
				g.Expect(b.record(2, "Suspend", "PodsFailed", owed)).To(Equal(failed), "after the error")
				g.Expect(b.record(2, "Suspend", "PodsFailed", nil)).To(Equal(failed), "after a crash before the status")
				g.Expect(b.outcomes()).To(Equal([]string{"1 Verified", "2 Failed after 1"}))
			})
		}
	}
}

func TestRecordAfterACrashCorrectsAnotherOutcome(t *testing.T) {
	g, b := NewWithT(t), newBench(t)
	g.Expect(b.record(1, "Success", "AllPodsPassed", nil)).NotTo(BeNil())
	g.Expect(b.record(1, "Suspend", "PodsFailed", nil)).To(Equal(&appv1alpha1.RecordedOutcome{Outcome: "Failed", Corrections: 1}))
	g.Expect(b.outcomes()).To(ConsistOf("1 Verified", "1-1 Failed after 1"))
}

func TestRecordOfTwoLeadersIsOne(t *testing.T) {
	g, b := NewWithT(t), newBench(t)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() { _, _ = b.record(1, "Success", "AllPodsPassed", nil) })
	}
	group.Wait()
	g.Expect(b.record(1, "Success", "AllPodsPassed", nil)).To(Equal(&appv1alpha1.RecordedOutcome{Outcome: "Verified"}))
	g.Expect(b.outcomes()).To(Equal([]string{"1 Verified"}))
}

func TestRecordWritesNothingWhereItIsOff(t *testing.T) {
	g, b := NewWithT(t), newBench(t)
	off := &appv1alpha1.OpsConfigInfo{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: "change-records"}, Spec: appv1alpha1.OpsConfigInfoSpec{Type: "isChangeRecords"}}
	g.Expect(b.kube.Create(t.Context(), off)).To(Succeed())
	g.Expect(b.record(1, "Success", "AllPodsPassed", nil)).To(BeNil())
	g.Expect(b.record(1, "Success", "AllPodsPassed", &appv1alpha1.RecordedOutcome{Outcome: "Verified", Owed: "quota"})).To(Equal(&appv1alpha1.RecordedOutcome{}))
	g.Expect(b.record(1, "Suspend", "PodsFailed", &appv1alpha1.RecordedOutcome{Outcome: "Verified"})).To(BeNil())
	b.writer = nil
	g.Expect(b.record(1, "Success", "AllPodsPassed", nil)).To(BeNil())
	g.Expect(b.outcomes()).To(BeEmpty())
}

func TestRecordGivesUpInANamespaceThatIsDeleted(t *testing.T) {
	g, b := NewWithT(t), newBench(t)
	g.Expect(b.kube.Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: b.namespace}})).To(Succeed())
	g.Expect(b.record(1, "Success", "AllPodsPassed", nil)).To(BeNil())
}

func (b *bench) sweep() error {
	retention := &changerecord.Retention{Client: b.writer.Client, Live: b.writer.Live, Settings: b.writer.Settings, Agreed: b.clock.Now}
	result, err := retention.Reconcile(b.t.Context(), ctrl.Request{})
	if err == nil {
		NewWithT(b.t).Expect(result).To(Equal(ctrl.Result{RequeueAfter: time.Hour}))
	} else {
		NewWithT(b.t).Expect(result).To(BeZero(), "controller-runtime warns of a result with an error")
	}
	return err
}

func TestRetentionRemovesByNumberAndAge(t *testing.T) {
	g, b := NewWithT(t), newBench(t)
	b.clock.SetTime(time.Now())
	for release := range int64(4) {
		g.Expect(b.record(release+1, "Success", "AllPodsPassed", nil)).NotTo(BeNil())
	}
	g.Expect(b.sweep()).To(Succeed())
	g.Expect(b.outcomes()).To(HaveLen(4))
	limit := &appv1alpha1.OpsConfigInfo{
		ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: "change-records"},
		Spec:       appv1alpha1.OpsConfigInfoSpec{Type: "isChangeRecords", Enable: true, Content: "2"},
	}
	g.Expect(b.kube.Create(t.Context(), limit)).To(Succeed())
	b.fails = "delete"
	g.Expect(b.sweep()).To(MatchError(ContainSubstring("removing ChangeRecord " + b.namespace + "/" + decide.ChangeRecordName(decide.RecordKey("d-1", false), 1, 0) + ": the API server is away")))
	b.fails = "list"
	g.Expect(b.sweep()).To(MatchError("listing ChangeRecords: the API server is away"))
	b.fails = ""
	g.Expect(b.sweep()).To(Succeed())
	g.Expect(b.outcomes()).To(Equal([]string{"3 Verified after 2", "4 Verified after 3"}))
	b.clock.SetTime(time.Now().Add(90*24*time.Hour - time.Hour))
	g.Expect(b.sweep()).To(Succeed())
	g.Expect(b.outcomes()).To(HaveLen(2))
	b.clock.SetTime(time.Now().Add(91 * 24 * time.Hour))
	g.Expect(b.sweep()).To(Succeed())
	g.Expect(b.outcomes()).To(BeEmpty())
}

func TestRetentionGoesOnAfterARecordThatCannotBeRemoved(t *testing.T) {
	g, b := NewWithT(t), newBench(t)
	for _, uid := range []types.UID{"d-1", "d-2", "d-3"} {
		workload, next := b.release(1, "Success", "AllPodsPassed")
		workload.Spec.WorkloadRef.UID = uid
		g.Expect(b.writer.Record(t.Context(), workload, next, decide.RecordFacts{})).NotTo(BeNil())
	}
	b.clock.SetTime(time.Now().Add(91 * 24 * time.Hour))
	b.stays = decide.ChangeRecordName(decide.RecordKey("d-1", false), 1, 0)
	g.Expect(b.sweep()).To(MatchError("removing ChangeRecord " + b.namespace + "/" + b.stays + ": the API server is away"))
	g.Expect(b.outcomes()).To(Equal([]string{"1 Verified"}))
}

func TestRetentionLeavesNoGapAfterARecordThatAWebhookKeeps(t *testing.T) {
	for _, code := range []int32{404, 409} {
		g, b := NewWithT(t), newBench(t)
		for release := range int64(2) {
			g.Expect(b.record(release+1, "Success", "AllPodsPassed", nil)).NotTo(BeNil())
		}
		b.clock.SetTime(time.Now().Add(91 * 24 * time.Hour))
		b.stays, b.refusal = decide.ChangeRecordName(decide.RecordKey("d-1", false), 1, 0), testkit.Denied(code)
		g.Expect(b.sweep()).To(MatchError("removing ChangeRecord " + b.namespace + "/" + b.stays + `: admission webhook "guard.example.com" denied the request: no`))
		g.Expect(b.outcomes()).To(Equal([]string{"1 Verified", "2 Verified after 1"}), "or one after it would be gone")
	}
}

func TestRetentionGoesOnWhereTheVersionOfItsListExpires(t *testing.T) {
	g, b := NewWithT(t), newBench(t)
	for _, uid := range []types.UID{"d-1", "d-2"} {
		workload, next := b.release(1, "Success", "AllPodsPassed")
		workload.Spec.WorkloadRef.UID = uid
		g.Expect(b.writer.Record(t.Context(), workload, next, decide.RecordFacts{})).NotTo(BeNil())
	}
	b.clock.SetTime(time.Now().Add(91 * 24 * time.Hour))
	b.expires = true
	g.Expect(b.sweep()).To(Succeed())
	g.Expect(b.outcomes()).To(BeEmpty())
}

func TestRecordBeginsAnewWhereTheVersionOfItsListExpired(t *testing.T) {
	g, b := NewWithT(t), newBench(t)
	for release := range int64(2) {
		g.Expect(b.record(release+1, "Success", "AllPodsPassed", nil)).NotTo(BeNil())
	}
	b.expires = true
	owed, err := b.record(3, "Success", "AllPodsPassed", nil)
	g.Expect(err).To(MatchError(HaveSuffix("the provided continue parameter is too old")))
	g.Expect(owed.Owed).To(HaveSuffix("the provided continue parameter is too old"))
	b.expires = false
	g.Expect(b.record(3, "Success", "AllPodsPassed", owed)).To(Equal(&appv1alpha1.RecordedOutcome{Outcome: "Verified"}))
	g.Expect(b.outcomes()).To(Equal([]string{"1 Verified", "2 Verified after 1", "3 Verified after 2"}))
}

func TestRetentionKeepsWhatOthersMade(t *testing.T) {
	g, b := NewWithT(t), newBench(t)
	g.Expect(b.record(1, "Success", "AllPodsPassed", nil)).NotTo(BeNil())
	var record appv1alpha1.ChangeRecord
	g.Expect(b.kube.Get(t.Context(), client.ObjectKey{Namespace: b.namespace, Name: decide.ChangeRecordName(decide.RecordKey("d-1", false), 1, 0)}, &record)).To(Succeed())
	byHand := &appv1alpha1.ChangeRecord{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: "by-hand"}, Spec: record.Spec}
	g.Expect(b.kube.Create(t.Context(), byHand)).To(Succeed())
	b.clock.SetTime(time.Now().Add(91 * 24 * time.Hour))
	g.Expect(b.sweep()).To(Succeed())
	g.Expect(b.outcomes()).To(Equal([]string{"by-hand Verified"}))
}

func TestSettingsThatCannotBeReadAreErrors(t *testing.T) {
	for _, setting := range []string{"change-records", "record-days"} {
		g, b := NewWithT(t), newBench(t)
		b.writer.Settings.Client = interceptor.NewClient(b.kube, interceptor.Funcs{
			Get: func(ctx context.Context, kube client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
				if key.Name == setting {
					return errLost
				}
				return kube.Get(ctx, key, object, options...)
			},
		})
		g.Expect(b.sweep()).To(MatchError(errLost))
		if setting == "change-records" {
			_, err := b.record(1, "Success", "AllPodsPassed", nil)
			g.Expect(err).To(MatchError(errLost))
		}
	}
}

func TestPolicyLeavesRecordsToTheOperator(t *testing.T) {
	g, b := NewWithT(t), newBench(t)
	b.confine()
	const operator = "system:serviceaccount:altershieldoperator-system:altershieldoperator-controller-manager"
	clients := map[string]client.Client{"an administrator": apiServer.Client(t), "the operator": b.administratorCalled(operator)}
	const forbidden = "only the operator writes and removes ChangeRecords"
	b.writer.Client = clients["the operator"]
	_, err := b.record(1, "Success", "AllPodsPassed", nil)
	g.Expect(err).NotTo(HaveOccurred())
	for name, kube := range clients {
		record := &appv1alpha1.ChangeRecord{}
		g.Expect(b.kube.Get(t.Context(), client.ObjectKey{Namespace: b.namespace, Name: decide.ChangeRecordName(decide.RecordKey("d-1", false), 1, 0)}, record)).To(Succeed())
		forged := &appv1alpha1.ChangeRecord{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: "forged"}, Spec: record.Spec}
		for verb, act := range map[string]func() error{
			"create": func() error { return kube.Create(t.Context(), forged, client.DryRunAll) },
			"delete": func() error { return kube.Delete(t.Context(), record, client.DryRunAll) },
		} {
			if name == "the operator" {
				g.Expect(act()).To(Succeed(), verb)
				continue
			}
			g.Eventually(act, "30s", "200ms").Should(MatchError(ContainSubstring(forbidden)), verb) // a policy takes effect a moment after it was created
		}
	}
}

// confine creates the policy of config/admission-policy for the namespace.
func (b *bench) confine() {
	b.t.Helper()
	g := NewWithT(b.t)
	content, err := os.Open(filepath.Join("..", "..", "config", "admission-policy", "records.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	defer content.Close()
	objects, err := manifests.Decode(content)
	g.Expect(err).NotTo(HaveOccurred())
	for _, object := range objects {
		if object.GetKind() == "ValidatingAdmissionPolicyBinding" {
			here := map[string]any{"matchLabels": map[string]any{corev1.LabelMetadataName: b.namespace}}
			g.Expect(unstructured.SetNestedMap(object.Object, here, "spec", "matchResources", "namespaceSelector")).To(Succeed())
		}
		g.Expect(b.kube.Create(b.t.Context(), object)).To(Succeed())
		b.t.Cleanup(func() { _ = b.kube.Delete(context.Background(), object) })
	}
}

// administratorCalled returns a client with all rights under the name of another user.
func (b *bench) administratorCalled(user string) client.Client {
	b.t.Helper()
	config := apiServer.Config(b.t)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:masters"}}
	kube, err := client.New(config, client.Options{Scheme: testkit.Scheme()})
	NewWithT(b.t).Expect(err).NotTo(HaveOccurred())
	return kube
}
