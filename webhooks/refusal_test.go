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

package webhooks

import (
	"context"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// sentence is the message about a version whose pods failed.
const sentence = "deployment sleep refuses version 6a8ff823a5011291b0f02a1d83c2222d: it was rolled back at 2026-11-21T08:00:00Z " +
	"because its pods failed their check; it is refused until 2026-11-22T08:00:00Z"

func TestDeploymentValidatorRefusesAVersionThatWasRolledBack(t *testing.T) {
	const (
		stays    = "deployment sleep stays suspended until this release is verified; the override is recorded for alice"
		takes    = "deployment sleep: version 6a8ff823a5011291b0f02a1d83c2222d was rolled back before and is released again; the override is recorded for alice"
		returns  = "deployment sleep returns to a verified version and stays suspended until its pods are checked again"
		byChange = "to release something else, change the pod template: only this exact template is refused"
		byLabel  = "to let this version through, set the label altershield.defense.antgroup.com/ignored-suspend=true on the Deployment in the same update"
		byTime   = "or wait until 2026-11-22T08:00:00Z"
		repair   = "to let a repair through, set the label altershield.defense.antgroup.com/ignored-suspend=true on the Deployment in the same update"
	)
	failed := leaving(versionOf1234, "4", refused, `"reason":"PodsFailed"`)
	release := all(stamped(versionOf123, "4"), processed)
	next := all(repaired, stamped(versionOf1234, "5"))
	record := recorded("alice", "2026-11-21T10:00:00.000000Z", versionOf1234, "5")
	refusing := rolledBack(failed)
	own := rolledBack(leaving(versionOf123, "5", refused), failed)
	verified := []client.Object{changeWorkload("d-1", versionOf1234, "Success", "AllPodsPassed")}
	for _, row := range []struct {
		name         string
		user         string
		old, updated edit
		workloads    []client.Object
		denial       string // empty if it is allowed
		warnings     []string
		decision     string // empty if nothing is counted
		reported     bool
	}{
		{"while it is refused", "alice", all(release, refusing), all(release, refusing, next), nil,
			"deployment sleep refuses this version", []string{byChange, byLabel, byTime}, "refused", true},
		{"although it was verified once", "alice", all(release, refusing), all(release, refusing, next), verified,
			"deployment sleep refuses this version", []string{byChange, byLabel, byTime}, "refused", true},
		{"although the update takes the rollbacks away", "alice", all(release, refusing), all(release, next), nil,
			"deployment sleep refuses this version", []string{byChange, byLabel, byTime}, "refused", true},
		{"also where the defaulter made no record of its label", "alice", all(release, refusing), all(release, refusing, next, ignoring), nil,
			"deployment sleep refuses this version", []string{byChange, byLabel, byTime}, "refused", true},
		{"also where a user forges a rollback of the operator's", "alice", all(release, refusing), all(release, own, next), nil,
			"deployment sleep refuses this version", []string{byChange, byLabel, byTime}, "refused", true},
		{"also where the operator releases it, but not as a rollback", operator, all(release, refusing), all(release, refusing, next), nil,
			"deployment sleep refuses this version", []string{byChange, byLabel, byTime}, "refused", true},
		{"also where the operator's rollback is of another release", operator, all(stamped(versionOf123, "7"), refusing), all(own, repaired, stamped(versionOf1234, "8")), nil,
			"deployment sleep refuses this version", []string{byChange, byLabel, byTime}, "refused", true},
		{"but not when the time is over", "alice", all(release, rolledBack(leaving(versionOf1234, "4", `"refusedUntil":"2026-11-21T10:00:00Z"`))), all(release, next), nil,
			"", nil, "", false},
		{"but not where refusals are off", "alice", all(release, rolledBack(leaving(versionOf1234, "4"))), all(release, next), nil, "", nil, "", false},
		{"but no other version", "alice", all(release, rolledBack(leaving(olderVersion, "4", refused))), all(release, next), nil, "", nil, "", false},
		{"but nothing that is no release", "alice", all(release, refusing), all(release, refusing, field(7, "replicas", "spec")), nil, "", nil, "", false},
		{"but not with a recorded override", "alice", all(release, refusing), all(release, refusing, next, record), nil,
			"", []string{takes}, "refusal_ignored", false},
		{"but not where the operator rolls back to it", operator, all(release, refusing), all(release, own, next), nil, "", nil, "", false},
		{"and denied as suspended while the Deployment is", "alice", all(release, suspended, refusing), all(release, suspended, refusing, next), nil,
			"deployment sleep is suspended", []string{sentence, repair}, "denied", true},
		{"but in a suspension no other verified version", "alice", all(release, suspended, rolledBack(leaving(olderVersion, "4", refused))),
			all(release, suspended, next), verified, "", []string{returns}, "returned_to_verified", false},
		{"but not in a suspension with a recorded override", "alice", all(release, suspended, refusing),
			all(release, suspended, refusing, next, record), nil, "", []string{stays}, "suspension_ignored", false},
		{"but not where the operator rolls back in a suspension, to an unverified version", operator, all(release, suspended),
			all(release, suspended, own, next), nil, "", nil, "", false},
		{"and a suspension without a refusal reports nothing", "alice", all(release, suspended), all(release, suspended, next), nil,
			"deployment sleep is suspended", []string{repair}, "denied", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			validator := validatorOf(t, readerOf(t, interceptor.Funcs{}, append(row.workloads, cached(t, row.old))...))
			seen := &recorder{}
			validator.accounts.recorder.Events = seen
			request := requestOf(t, deployment(t, row.old), deployment(t, row.updated))
			request.UserInfo.Username = row.user
			request.DryRun = ptr.To(true)
			rehearsed := validator.Handle(t.Context(), request)
			g.Expect(seen.reported).To(BeEmpty(), "a dry run leaves no trace")

			request.DryRun = nil
			response := validator.Handle(t.Context(), request)
			g.Expect(rehearsed).To(Equal(response), "a dry run gets the same response")
			g.Expect(response.Warnings).To(HaveExactElements(row.warnings))
			g.Expect(response.Allowed).To(Equal(row.denial == ""))
			if row.denial != "" {
				g.Expect(response.Result.Code).To(Equal(int32(403)))
				g.Expect(response.Result.Reason).To(Equal(metav1.StatusReason(row.denial)))
			}
			for _, decision := range []string{"stamped", "denied", "refused", "suspension_ignored", "refusal_ignored", "returned_to_verified"} {
				want := 0
				if decision == row.decision {
					want = 1
				}
				g.Expect(testutil.ToFloat64(validator.accounts.metrics.decisions.WithLabelValues(decision))).To(BeEquivalentTo(want), decision)
			}
			if !row.reported {
				g.Expect(seen.reported).To(BeEmpty())
				return
			}
			g.Expect(seen.reported).To(HaveExactElements(report{
				regarding: &corev1.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "default", Name: "sleep", UID: "d-1"},
				related: &corev1.ObjectReference{APIVersion: "app.ops.cloud.alipay.com/v1alpha1", Kind: "ChangeWorkload",
					Namespace: "default", Name: "sleep--x--6a8ff823a5011291b0f02a1d83c2222d"},
				eventType: "Warning", reason: "ReleaseRefused", action: "Admit", note: sentence,
			}))
		})
	}
}

func TestDeploymentValidatorDeniesAVerifiedVersionThatIsRefused(t *testing.T) {
	g := NewWithT(t)
	release := all(stamped(versionOf123, "4"), suspended, rolledBack(leaving(versionOf1234, "4", refused, `"reason":"PodsFailed"`)))
	response := validate(t, requestOf(t, deployment(t, release), deployment(t, release, repaired, stamped(versionOf1234, "5"))),
		changeWorkload("d-1", versionOf1234, "Success", "AllPodsPassed"), cached(t, release))
	g.Expect(response.Result).To(Equal(&metav1.Status{
		Status: "Failure", Code: 403, Reason: "deployment sleep is suspended", Message: "deployment sleep is suspended",
	}))
	g.Expect(response.Warnings).To(ContainElement(sentence))
}

func TestRefusalSentenceGivesTheReason(t *testing.T) {
	for _, row := range []struct {
		name, fields, because string
	}{
		{"as the rollback does", `"reason":"PodsNotRunning","message":"pod sleep-1 can't pull its image"`, "pod sleep-1 can't pull its image"},
		{"in one line", `"reason":"PodsNotRunning","message":"pod sleep-1:\n\tno such image"`, "pod sleep-1:  no such image"},
		{"as its pods didn't run", `"reason":"PodsNotRunning"`, "its pods didn't run"},
		{"as its pods failed", `"reason":"PodsFailed"`, "its pods failed their check"},
		{"as a user asked", `"reason":"Requested","user":"bob"`, "bob asked for it"},
		{"as an unknown user asked", `"reason":"Requested"`, "an unknown user asked for it"},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			release := all(stamped(versionOf123, "4"), rolledBack(leaving(versionOf1234, "4", row.fields,
				`"refusedUntil":"2026-11-22T08:00:00Z"`)))
			response := validate(t, requestOf(t, deployment(t, release), deployment(t, release, repaired, stamped(versionOf1234, "5"))))
			g.Expect(response.Result).To(Equal(&metav1.Status{
				Status: "Failure", Code: 403, Reason: "deployment sleep refuses this version",
				Message: "deployment sleep refuses version 6a8ff823a5011291b0f02a1d83c2222d: it was rolled back at 2026-11-21T08:00:00Z because " +
					row.because + "; it is refused until 2026-11-22T08:00:00Z",
			}))
		})
	}
}

func TestReportRefusalShortensALongReason(t *testing.T) {
	g := NewWithT(t)
	release := all(stamped(versionOf123, "4"), rolledBack(leaving(versionOf1234, "4", refused, `"message":"`+strings.Repeat("发 100%s ", 500)+`"`)))
	validator := validatorOf(t, readerOf(t, interceptor.Funcs{}, cached(t, release)))
	seen := &recorder{}
	validator.accounts.recorder.Events = seen
	validator.Handle(t.Context(), requestOf(t, deployment(t, release), deployment(t, release, repaired, stamped(versionOf1234, "5"))))
	g.Expect(seen.reported).To(HaveLen(1))
	g.Expect(len(seen.reported[0].note)).To(BeNumerically("<=", 1024))
	g.Expect(seen.reported[0].note).To(ContainSubstring("because 发 100%s 发 100%s "))
}

// sink keeps the Events that client-go would write to the API server.
type sink struct{ created, patched chan *eventsv1.Event }

func (s *sink) Create(_ context.Context, event *eventsv1.Event) (*eventsv1.Event, error) {
	s.created <- event
	return event, nil
}

func (s *sink) Update(_ context.Context, event *eventsv1.Event) (*eventsv1.Event, error) {
	return event, nil
}

func (s *sink) Patch(_ context.Context, event *eventsv1.Event, _ []byte) (*eventsv1.Event, error) {
	s.patched <- event
	return event, nil
}

func TestReportRefusalMakesOneEventForEachVersion(t *testing.T) {
	g := NewWithT(t)
	written := &sink{created: make(chan *eventsv1.Event, 3), patched: make(chan *eventsv1.Event, 3)}
	broadcaster := events.NewBroadcaster(written)
	defer broadcaster.Shutdown()
	g.Expect(broadcaster.StartRecordingToSinkWithContext(t.Context())).To(Succeed())
	other, err := marksOf(t, deployment(t, templateLabel("test", "12345"))).computedVersion()
	g.Expect(err).NotTo(HaveOccurred())

	release := func(generation string) edit {
		return all(stamped(versionOf123, "4"), field(generation, "resourceVersion", "metadata"),
			rolledBack(leaving(versionOf1234, "4", refused, `"reason":"PodsFailed"`), leaving(other, "3", refused)))
	}
	validator := validatorOf(t, readerOf(t, interceptor.Funcs{}, cached(t, release("1"))))
	validator.accounts.recorder.Events = broadcaster.NewRecorder(runtime.NewScheme(), "altershield-operator")
	refuse := func(generation string, next edit) {
		validator.Handle(t.Context(), requestOf(t, deployment(t, release(generation)), deployment(t, release(generation), next)))
	}
	refuse("1", all(repaired, stamped(versionOf1234, "5")))
	var event *eventsv1.Event
	g.Eventually(written.created).Should(Receive(&event))
	g.Expect(event.Note).To(Equal(sentence))
	g.Expect(event.Namespace).To(Equal("default"))
	g.Expect(event.Regarding).To(Equal(corev1.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "default", Name: "sleep", UID: "d-1"}))

	refuse("2", all(repaired, stamped(versionOf1234, "5")))
	g.Eventually(written.patched).Should(Receive(&event))
	g.Expect(event.Series.Count).To(Equal(int32(2)))

	refuse("2", all(templateLabel("test", "12345"), stamped(other, "5")))
	g.Eventually(written.created).Should(Receive(&event))
	g.Expect(event.Note).To(ContainSubstring("refuses version " + other))
}
