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
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/traas-stack/altershield-operator/controllers/platform/events"
	kind "github.com/traas-stack/altershield-operator/controllers/workload/deployment"
)

// decided returns the number of counted decisions.
func decided(metrics *Metrics) float64 {
	sum := 0.0
	for _, decision := range []string{"stamped", "denied", "refused", "suspension_ignored", "refusal_ignored", "returned_to_verified", "rule_broken"} {
		sum += testutil.ToFloat64(metrics.decisions.WithLabelValues(decision))
	}
	return sum
}

// Any caller who reaches the port can send any review.
func TestAccountsTakeOnlyWhatTheCacheConfirms(t *testing.T) {
	release := all(stamped(versionOf123, "4"), processed)
	next := all(repaired, stamped(versionOf1234, "5"))
	forged := rolledBack(leaving(versionOf1234, "4", refused, `"message":"CALL +1-555-0100 NOW"`))
	failing := changeWorkload("d-1", versionOf123, "Suspend", "PodsFailed")
	uid := func(uid types.UID) func(*admission.Request) {
		return func(request *admission.Request) {
			request.OldObject.Raw = bytes.ReplaceAll(request.OldObject.Raw, []byte(`"d-1"`), []byte(`"`+string(uid)+`"`))
		}
	}
	elsewhere := func(request *admission.Request) { request.Namespace = "kube-system" }
	for _, row := range []struct {
		name         string
		known        edit // nil if the cache has no such Deployment
		old, updated edit // old is nil for a creation
		forge        func(*admission.Request)
		confirmed    bool // by the cached Deployment
	}{
		{"nothing of a Deployment that it doesn't have", nil, all(release, forged), all(release, forged, next), elsewhere, false},
		{"nothing of one in another namespace", all(release, forged), all(release, forged), all(release, forged, next), elsewhere, false},
		{"nothing of one with another UID", all(release, forged), all(release, forged), all(release, forged, next), uid("d-2"), false},
		{"nothing of one without a UID", all(release, forged, field("", "uid", "metadata")), all(release, forged), all(release, forged, next), uid(""), false},
		{"no refusal that isn't its own", release, all(release, forged), all(release, forged, next), func(*admission.Request) {}, true},
		{"no denial where it isn't suspended", release, all(release, suspended), all(release, suspended, next), func(*admission.Request) {}, true},
		{"no denial of one with another UID", all(release, suspended), all(release, suspended), all(release, suspended, next), uid("d-2"), false},
		{"no creation", nil, nil, all(), func(*admission.Request) {}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			objects := []client.Object{failing}
			if row.known != nil {
				objects = append(objects, cached(t, row.known))
			}
			validator := validatorOf(t, readerOf(t, interceptor.Funcs{}, objects...))
			seen := &recorder{}
			validator.accounts.recorder.Events = seen
			defaulter := &defaulter{kind: kind.Kind{}, operator: operator, clock: validator.clock, accounts: validator.accounts, past: validator.past, freezes: freezesOf(t, validator.accounts, kind.Kind{}),
				paces: pacesOf(t, validator.past, kind.Kind{})}
			var old object
			if row.old != nil {
				old = deployment(t, row.old)
			}
			request := requestOf(t, old, deployment(t, row.updated))
			row.forge(&request)
			log := &bytes.Buffer{}
			ctx := ctrl.LoggerInto(t.Context(), zap.New(zap.WriteTo(log)))

			response := validator.Handle(ctx, request)
			g.Expect(decided(validator.accounts.metrics)).To(BeZero())
			g.Expect(log.String()).To(BeEmpty())
			if !row.confirmed {
				g.Expect(response.Warnings).NotTo(ContainElement(ContainSubstring("sleep-5c698f4449-fsb27")), "failed pods are named to no stranger")
				defaulter.Handle(ctx, request)
			}
			g.Expect(decided(validator.accounts.metrics)).To(BeZero())
			g.Expect(log.String()).To(BeEmpty())
			g.Expect(seen.reported).To(BeEmpty())
		})
	}
}

func TestAccountsTakeTheTextOfAnEventFromTheCache(t *testing.T) {
	g := NewWithT(t)
	release := stamped(versionOf123, "4")
	validator := validatorOf(t, readerOf(t, interceptor.Funcs{}, cached(t, release, rolledBack(leaving(versionOf1234, "4", refused, `"reason":"PodsFailed"`)))))
	seen := &recorder{}
	validator.accounts.recorder.Events = seen
	forged := all(release, rolledBack(leaving(versionOf1234, "4", refused, `"message":"CALL +1-555-0100 NOW"`)))
	validator.Handle(t.Context(), requestOf(t, deployment(t, forged), deployment(t, forged, repaired, stamped(versionOf1234, "5"))))
	g.Expect(seen.reported).To(HaveLen(1))
	g.Expect(seen.reported[0].note).To(Equal(sentence))
}

func TestAccountsReportNoRefusalOfAnotherVersion(t *testing.T) {
	g := NewWithT(t)
	release := stamped(versionOf123, "4")
	validator := validatorOf(t, readerOf(t, interceptor.Funcs{}, cached(t, release, rolledBack(leaving(olderVersion, "4", refused)))))
	seen := &recorder{}
	validator.accounts.recorder.Events = seen
	forged := all(release, rolledBack(leaving(versionOf1234, "4", refused)))
	validator.Handle(t.Context(), requestOf(t, deployment(t, forged), deployment(t, forged, repaired, stamped(versionOf1234, "5"))))
	g.Expect(seen.reported).To(BeEmpty())
}

func TestAccountsLogNoTextOfARequestAtLength(t *testing.T) {
	g := NewWithT(t)
	release := all(stamped(versionOf123, "4"), suspended)
	validator := validatorOf(t, readerOf(t, interceptor.Funcs{}, cached(t, release)))
	request := requestOf(t, deployment(t, release), deployment(t, release, repaired, stamped(strings.Repeat("v", 9000), "5")))
	request.UserInfo.Username = strings.Repeat("u", 9000)
	log := &bytes.Buffer{}
	validator.Handle(ctrl.LoggerInto(t.Context(), zap.New(zap.WriteTo(log))), request)
	g.Expect(log.String()).To(ContainSubstring(`"namespace":"default"`))
	g.Expect(log.Len()).To(BeNumerically("<", 700))
}

func TestAccountsAreLimited(t *testing.T) {
	g := NewWithT(t)
	release := all(stamped(versionOf123, "4"), suspended)
	named := func(name string) edit {
		return all(release, field(name, "name", "metadata"), field("uid of "+name, "uid", "metadata"))
	}
	var objects []client.Object
	for i := range 60 {
		objects = append(objects, cached(t, named(fmt.Sprintf("sleep-%d", i))))
	}
	validator := validatorOf(t, readerOf(t, interceptor.Funcs{}, objects...))
	clock := clocktesting.NewFakePassiveClock(now)
	metrics := validator.accounts.metrics
	validator.accounts = newAccounts(Options{Reader: validator.accounts.cache, Clock: clock, Recorder: events.Recorder{Events: &recorder{}}}, metrics).of(kind.Kind{})
	ask := func(name string, times int) {
		request := requestOf(t, deployment(t, named(name)), deployment(t, named(name), repaired))
		request.Name = name
		for range times {
			g.Expect(validator.Handle(t.Context(), request).Allowed).To(BeFalse(), "it is denied, counted or not")
		}
	}
	ask("sleep-0", 30)
	g.Expect(decided(metrics)).To(BeEquivalentTo(20))
	clock.SetTime(now.Add(5 * time.Second))
	ask("sleep-0", 30)
	g.Expect(decided(metrics)).To(BeEquivalentTo(25))
	ask("sleep-1", 30)
	g.Expect(decided(metrics)).To(BeEquivalentTo(45), "one Deployment doesn't hide another")
	for i := range 58 {
		ask(fmt.Sprintf("sleep-%d", i+2), 20)
	}
	g.Expect(decided(metrics)).To(BeEquivalentTo(20+1000), "all together are limited, too")
}

func TestBoundedLogLimitsLinesAboutWhatIsNoReview(t *testing.T) {
	g := NewWithT(t)
	log := &bytes.Buffer{}
	clock := clocktesting.NewFakePassiveClock(now)
	logger := boundedLog(clock)
	base := zap.New(zap.WriteTo(log))
	for range 100 {
		logger(base, nil).Info("bad request")
	}
	g.Expect(strings.Count(log.String(), "bad request")).To(Equal(10))
	clock.SetTime(now.Add(time.Second))
	for range 100 {
		logger(base, nil).Info("bad request")
	}
	g.Expect(strings.Count(log.String(), "bad request")).To(Equal(11))
	request := requestOf(t, nil, deployment(t))
	for range 100 {
		logger(base, &request).Info("a review")
	}
	g.Expect(strings.Count(log.String(), "a review")).To(Equal(100))
	g.Expect(log.String()).NotTo(ContainSubstring("alice"))
}
