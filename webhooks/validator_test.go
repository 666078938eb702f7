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
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
	kind "github.com/traas-stack/altershield-operator/controllers/workload/deployment"
)

const olderVersion = "0123456789abcdef0123456789abcdef"

func readerOf(t testing.TB, funcs interceptor.Funcs, workloads ...client.Object) client.Reader {
	t.Helper()
	return interceptor.NewClient(testkit.NewFake(t, workloads...), funcs)
}

// changeWorkload belongs to the Deployment with this UID.
func changeWorkload(deployment, version, status, reason string) *appv1alpha1.ChangeWorkload {
	name := "sleep"
	if deployment != "d-1" {
		name = "other"
	}
	workload := &appv1alpha1.ChangeWorkload{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name + "--x--" + version, Labels: map[string]string{"app.kubernetes.io/deployment-name": name},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "Deployment", Name: name, UID: types.UID(deployment), Controller: ptr.To(true)}},
		},
		Spec: appv1alpha1.ChangeWorkloadSpec{Reversion: version, Release: 1},
		Status: appv1alpha1.ChangeWorkloadStatus{
			Status: appv1alpha1.ChangeWorkloadPhase(status), ObservedRelease: 1,
			Conditions: []metav1.Condition{{Type: "Verified", Status: "Unknown", Reason: reason}},
		},
	}
	if status == "Suspend" {
		workload.Status.DefenseCheckFailPods = []appv1alpha1.PodSummary{{Pod: "sleep-5c698f4449-fsb27", Verdict: "unpass", Message: "find error"}}
	}
	return workload
}

func validatorOf(t testing.TB, reader client.Reader) *validator {
	t.Helper()
	accounts := accountsOf(t, reader)
	return &validator{kind: kind.Kind{}, operator: operator, clock: accounts.clock, accounts: accounts, past: pastOf(reader, accounts)}
}

// recorder keeps the Events.
type recorder struct{ reported []report }

type report struct {
	regarding, related              runtime.Object
	eventType, reason, action, note string
}

func (r *recorder) Eventf(regarding, related runtime.Object, eventType, reason, action, note string, args ...any) {
	r.reported = append(r.reported, report{regarding, related, eventType, reason, action, fmt.Sprintf(note, args...)})
}

func validate(t testing.TB, request admission.Request, workloads ...client.Object) admission.Response {
	t.Helper()
	return validatorOf(t, readerOf(t, interceptor.Funcs{}, workloads...)).Handle(t.Context(), request)
}

func TestDeploymentValidatorHandle(t *testing.T) {
	release := all(stamped(versionOf123, "4"), processed)
	next := stamped(versionOf1234, "5")
	record := recorded("alice", "2026-11-21T10:00:00.000000Z", versionOf1234, "5")
	const stays = "deployment sleep stays suspended until this release is verified; the override is recorded for alice"
	const returns = "deployment sleep returns to a verified version and stays suspended until its pods are checked again"
	failing := changeWorkload("d-1", versionOf123, "Suspend", "PodsFailed")
	remembering := changeWorkload("d-1", versionOf123, "Suspend", "PodsFailed")
	remembering.Status.VerifiedVersions = []string{versionOf1234}
	again := changeWorkload("d-1", versionOf1234, "Success", "AllPodsPassed")
	again.Spec.Release = 2
	for _, row := range []struct {
		name         string
		old, updated edit
		workloads    []client.Object
		allowed      bool
		warnings     []string
	}{
		{"a release of one that isn't suspended", release, all(release, repaired, next), nil, true, nil},
		{"no release of a suspended one", all(release, suspended), all(release, suspended, repaired, next), []client.Object{failing}, false, []string{
			"pod sleep-5c698f4449-fsb27 failed its check: find error (see: kubectl describe changeworkload -n default sleep--x--c6c45d23c098bdf181853a85b60b5d74)",
			"to let a repair through, set the label altershield.defense.antgroup.com/ignored-suspend=true on the Deployment in the same update"}},
		{"scaling of a suspended one", all(release, suspended), all(release, suspended, field(7, "replicas", "spec")), nil, true, nil},
		{"pausing of a suspended one", all(release, suspended), all(release, suspended, field(true, "paused", "spec")), nil, true, nil},
		{"an annotation of a suspended one", all(release, suspended), all(release, suspended, annotation("note", "b")), nil, true, nil},
		{"a label of a suspended one", all(release, suspended), all(release, suspended, label("team", "a")), nil, true, nil},
		{"a finalizer of a suspended one", all(release, suspended), all(release, suspended, field([]any{"example.com/a"}, "finalizers", "metadata")), nil, true, nil},
		{"the version label of a suspended one changing alone", all(release, suspended), all(release, suspended, stamped(olderVersion, "4")), nil, true, nil},
		{"no release whose update takes the suspension away", all(release, suspended), all(release, repaired, next), []client.Object{failing}, false, []string{
			"pod sleep-5c698f4449-fsb27 failed its check: find error (see: kubectl describe changeworkload -n default sleep--x--c6c45d23c098bdf181853a85b60b5d74)",
			"to let a repair through, set the label altershield.defense.antgroup.com/ignored-suspend=true on the Deployment in the same update"}},
		{"a repair that the defaulter recorded", all(release, suspended), all(release, suspended, repaired, next, record), []client.Object{failing}, true, []string{stays}},
		{"no repair whose record is of an earlier release", all(release, suspended, recorded("alice", "2026-11-20T10:00:00.000000Z", versionOf1234, "4")),
			all(release, suspended, repaired, next, recorded("alice", "2026-11-20T10:00:00.000000Z", versionOf1234, "4")), nil, false, []string{
				"to let a repair through, set the label altershield.defense.antgroup.com/ignored-suspend=true on the Deployment in the same update"}},
		{"no repair whose record is of another version", all(release, suspended),
			all(release, suspended, repaired, next, recorded("alice", "2026-11-21T10:00:00.000000Z", olderVersion, "5")), nil, false, []string{
				"to let a repair through, set the label altershield.defense.antgroup.com/ignored-suspend=true on the Deployment in the same update"}},
		{"no repair whose label the defaulter didn't turn into a record", all(release, suspended), all(release, suspended, repaired, next, ignoring), nil, false, []string{
			"to let a repair through, set the label altershield.defense.antgroup.com/ignored-suspend=true on the Deployment in the same update"}},
		{"the return to a verified version", all(release, suspended), all(release, suspended, repaired, next),
			[]client.Object{failing, changeWorkload("d-1", versionOf1234, "Success", "AllPodsPassed")}, true, []string{returns}},
		{"the return to a version that is remembered as verified", all(release, suspended), all(release, suspended, repaired, next),
			[]client.Object{remembering}, true, []string{returns}},
		{"no return to a version that had no pods to check", all(release, suspended), all(release, suspended, repaired, next),
			[]client.Object{changeWorkload("d-1", versionOf1234, "Success", "NoReplicas")}, false, []string{
				"to let a repair through, set the label altershield.defense.antgroup.com/ignored-suspend=true on the Deployment in the same update"}},
		{"no return to a version that is released anew and not verified yet", all(release, suspended), all(release, suspended, repaired, next),
			[]client.Object{again}, false, []string{
				"to let a repair through, set the label altershield.defense.antgroup.com/ignored-suspend=true on the Deployment in the same update"}},
		{"no version that only another Deployment verified", all(release, suspended), all(release, suspended, repaired, next),
			[]client.Object{changeWorkload("d-2", versionOf1234, "Success", "AllPodsPassed")}, false, []string{
				"to let a repair through, set the label altershield.defense.antgroup.com/ignored-suspend=true on the Deployment in the same update"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			request := requestOf(t, deployment(t, row.old), deployment(t, row.updated))
			row.workloads = append(row.workloads, cached(t, row.old))
			response := validate(t, request, row.workloads...)
			g.Expect(response.Allowed).To(Equal(row.allowed))
			g.Expect(response.Warnings).To(HaveExactElements(row.warnings))

			request.DryRun = ptr.To(true)
			g.Expect(validate(t, request, row.workloads...)).To(Equal(response), "a dry run gets the same response")

			request.UserInfo.Username = operator
			g.Expect(validate(t, request, row.workloads...).Allowed).To(Equal(row.allowed), "the operator gets no exception")
		})
	}
}

func TestDeploymentValidatorDeniesAsDocumented(t *testing.T) {
	g := NewWithT(t)
	release := all(stamped(versionOf123, "4"), suspended)
	response := validate(t, requestOf(t, deployment(t, release), deployment(t, release, repaired)))
	g.Expect(response.Allowed).To(BeFalse())
	g.Expect(response.Result).To(Equal(&metav1.Status{
		Status: "Failure", Code: 403, Reason: "deployment sleep is suspended", Message: "deployment sleep is suspended",
	}))
	g.Expect(response.Patches).To(BeEmpty())
}

func TestDeploymentValidatorPassesCreationsAndDeletions(t *testing.T) {
	g := NewWithT(t)
	g.Expect(validate(t, requestOf(t, nil, deployment(t, suspended))).Allowed).To(BeTrue())
	request := requestOf(t, deployment(t, suspended), deployment(t))
	request.Operation, request.Object = "DELETE", runtime.RawExtension{}
	g.Expect(validate(t, request).Allowed).To(BeTrue())
}

func TestDeploymentValidatorRefusesWhatItCanNotRead(t *testing.T) {
	release := all(stamped(versionOf123, "4"), suspended)
	broken := runtime.RawExtension{Raw: []byte(`{"metadata":`)}
	t.Run("malformed JSON is a bad request", func(t *testing.T) {
		g := NewWithT(t)
		request := requestOf(t, deployment(t, release), deployment(t, release))
		request.Object = broken
		g.Expect(validate(t, request).Result.Code).To(Equal(int32(400)))
		request = requestOf(t, deployment(t, release), deployment(t, release))
		request.OldObject = broken
		g.Expect(validate(t, request).Result.Code).To(Equal(int32(400)))
		g.Expect(validate(t, request).Allowed).To(BeFalse())
	})
	t.Run("a cache that can't be read is no reason to let a release through", func(t *testing.T) {
		g := NewWithT(t)
		funcs := interceptor.Funcs{List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return errors.New("not synced")
		}}
		response := validatorOf(t, readerOf(t, funcs, cached(t, release))).Handle(t.Context(), requestOf(t, deployment(t, release), deployment(t, release, repaired)))
		g.Expect(response.Allowed).To(BeFalse())
		g.Expect(response.Result.Code).To(Equal(int32(500)))
	})
}

// A whole repair, as called by the API server: both webhooks in order, and the defaulter once more because a later webhook changed
// the template.
func TestStampUpdateKeepsTheBypassOfARepairWhenCalledAgain(t *testing.T) {
	g := NewWithT(t)
	old := deployment(t, stamped(versionOf123, "4"), suspended)
	apply := func(given object) marks {
		result, err := stampUpdate(marksOf(t, old), marksOf(t, given), author{user: "alice"}, now)
		g.Expect(err).NotTo(HaveOccurred())
		return result
	}
	first := apply(deployment(t, stamped(versionOf123, "4"), suspended, repaired, ignoring))
	g.Expect(first.labels).NotTo(HaveKey("altershield.defense.antgroup.com/ignored-suspend"))

	// Another webhook adds a sidecar's label after the label was consumed.
	between := deployment(t, suspended, repaired, templateLabel("sidecar", "injected"), func(deployment object) {
		for key, value := range first.annotations {
			annotation(key, value)(deployment)
		}
	})
	second := apply(between)
	g.Expect(second.annotations).To(HaveKeyWithValue("altershield.defense.antgroup.com/release", "5"), "it is one release, not two")
	updated := deployment(t, suspended, repaired, templateLabel("sidecar", "injected"), func(deployment object) {
		for key, value := range second.labels {
			label(key, value)(deployment)
		}
		for key, value := range second.annotations {
			annotation(key, value)(deployment)
		}
		for key, value := range second.templates["/spec/template"].labels {
			templateLabel(key, value)(deployment)
		}
	})
	g.Expect(second.labels["admission-webhook-altershield.antgroup.com/version"]).NotTo(Equal("6a8ff823a5011291b0f02a1d83c2222d"))
	g.Expect(validate(t, requestOf(t, old, updated)).Allowed).To(BeTrue())
}

func TestAccountsCountAndLogDecisionsButNotThoseOfDryRuns(t *testing.T) {
	g := NewWithT(t)
	release := all(stamped(versionOf123, "4"), suspended)
	validator := validatorOf(t, readerOf(t, interceptor.Funcs{}, cached(t, release)))
	metrics := validator.accounts.metrics
	defaulter := &defaulter{kind: kind.Kind{}, operator: operator, clock: validator.clock, accounts: validator.accounts, past: validator.past, freezes: freezesOf(t, validator.accounts, kind.Kind{}),
		paces: pacesOf(t, validator.past, kind.Kind{})}
	next := requestOf(t, deployment(t, release), deployment(t, release, repaired))
	scaled := requestOf(t, deployment(t, release), deployment(t, release, field(7, "replicas", "spec")))
	rehearsed := next
	rehearsed.DryRun = ptr.To(true)
	log := &bytes.Buffer{}
	ctx := ctrl.LoggerInto(t.Context(), zap.New(zap.WriteTo(log)))
	for _, request := range []admission.Request{next, scaled, rehearsed} {
		defaulter.Handle(ctx, request)
		validator.Handle(ctx, request)
	}
	g.Expect(strings.Split(strings.TrimSpace(log.String()), "\n")).To(HaveExactElements(
		MatchRegexp(`"level":"info".*"deployment":"sleep","version":"[0-9a-f]{32}","release":5,"reason":"stamped"`),
		ContainSubstring(`"deployment":"sleep","version":"`+versionOf123+`","release":4,"reason":"denied"`), // the request isn't stamped
	))
	g.Expect(testutil.ToFloat64(metrics.decisions.WithLabelValues("stamped"))).To(BeEquivalentTo(1))
	g.Expect(testutil.ToFloat64(metrics.decisions.WithLabelValues("denied"))).To(BeEquivalentTo(1))
}
