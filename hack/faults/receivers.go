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
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/workload/statefulset"
	"github.com/traas-stack/altershield-operator/hack/lab"
)

// The checks that ask others: one before the first pod, one for which pods wait, one whose verdict is reported, and a script after the last pod.
const readyCheck, placementCheck, driftCheck, smokeCheck = "ready", "placement", "drift", "smoke"

func ofReceivers() []scenario {
	return []scenario{
		// Others let a release in steps go on at each point, and another one fails by a reported verdict.
		{name: "checks-asked", kind: statefulset.Kind{}, looks: true, play: withPlugin(inTurn(
			twoSteps(policy{}), createStatefulSet(replicas), verified(1), askOthers,
			secondRelease, waitsFor(readyCheck), passes(readyCheck),
			waitsFor(placementCheck), reports(2, appv1alpha1.ReportedPass), passes(placementCheck),
			awaitsApproval, approve, waitsFor(smokeCheck), verified(2),
			decided(readyCheck, "Pass CheckPassed"), decided(placementCheck, "Pass CheckPassed"), decided(driftCheck, "Pass CheckPassed"),
			decided(smokeCheck, "Pass CheckPassed"),
			change(template("third", "")), awaitsApproval, reports(3, appv1alpha1.ReportedFail), suspended(3), decided(driftCheck, "Fail CheckFailed"),
			batchesEnd, denied))},
		// A release passes, is suspended by a verdict and repaired, while a receiver takes each of its events before the next one. What a faster
		// course of things shows only for a moment, a subscription doesn't promise to tell, but for the end of a failure.
		{name: "notify", objects: []string{appv1alpha1.SystemNamespace}, play: withReceiver(inTurn(
			createDeployment, verified(1), told(1, started, deployed),
			failed(1), suspended(1), told(1, started, deployed, incident),
			repair, verified(2), told(2, started, bypassed, upgraded), told(1, started, deployed, incident, incidentOver), allTold))},
	}
}

// asker is a plug-in. It can't tell until it is told that a check passes, and takes the questions whose verdicts are reported.
type asker struct{ passed sync.Map }

// ServeHTTP answers a question, and that it is there.
func (a *asker) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	if request.Method != http.MethodPost {
		return
	}
	var question struct {
		Check string `json:"check"`
	}
	if err := json.NewDecoder(request.Body).Decode(&question); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if question.Check == driftCheck {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	verdict := appv1alpha1.ReportedInconclusive
	if _, passed := a.passed.Load(question.Check); passed {
		verdict = appv1alpha1.ReportedPass
	}
	_, _ = fmt.Fprintf(w, `{"verdict":%q}`, verdict)
}

// passes has a check pass from now on.
func passes(check string) step {
	return func(_ context.Context, s *stage) error {
		s.asker.passed.Store(check, true)
		return nil
	}
}

// withPlugin returns a play with a plug-in of its own.
func withPlugin(play step) step {
	return func(ctx context.Context, s *stage) error {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		s.asker = &asker{}
		address, err := lab.ServeHTTP(ctx, s.asker, lab.AnyPort, "")
		if err != nil {
			return err
		}
		return s.asking(ctx, appv1alpha1.SourceHTTP, address, play)
	}
}

// askOthers creates a VerificationPolicy whose checks ask the plug-in, and run a script.
func askOthers(ctx context.Context, s *stage) error {
	ask := func(name string, answer appv1alpha1.HTTPAnswer) appv1alpha1.VerificationCheck {
		return appv1alpha1.VerificationCheck{Name: name, Type: appv1alpha1.CheckHTTP, HTTP: &appv1alpha1.HTTPCheck{
			SourceRef: appv1alpha1.SourceReference{Name: s.namespace}, Answer: answer,
		}}
	}
	ready, placement := ask(readyCheck, appv1alpha1.AnswerSynchronous), ask(placementCheck, appv1alpha1.AnswerSynchronous)
	smoke := appv1alpha1.VerificationCheck{Name: smokeCheck, Type: appv1alpha1.CheckJob, Job: &appv1alpha1.JobCheck{Image: "busybox:1.36"}}
	ready.Phase, smoke.Phase, placement.OnInconclusive = appv1alpha1.PhaseBefore, appv1alpha1.PhaseAfter, appv1alpha1.InconclusiveHold
	for _, awaited := range []*appv1alpha1.VerificationCheck{&ready, &placement, &smoke} {
		awaited.TimeoutSeconds, awaited.OnTimeout = waitSeconds, appv1alpha1.FallbackFail
	}
	return s.enforce(ctx, shortBake, ready, placement, ask(driftCheck, appv1alpha1.AnswerAsynchronous), smoke)
}

// reports has a verdict reported on a release, once the operator waits for it and has paused the rollout until its next step: one that comes
// before the pause leaves a rollout that is held for the failure alone.
func reports(release int64, verdict appv1alpha1.ReportedVerdict) step {
	return acts(fmt.Sprintf("the verdict on release %d", release), func(ctx context.Context, s seen) error {
		var verdicts appv1alpha1.ChangeVerdictList
		if err := s.Kube.List(ctx, &verdicts, client.InNamespace(s.namespace)); err != nil {
			return err
		}
		for i := range verdicts.Items {
			if verdicts.Items[i].Spec.Release == release && s.kind.Rollout(s.object).Paused {
				patch := fmt.Sprintf(`{"status":{"verdict":%q}}`, verdict)
				return s.Kube.Status().Patch(ctx, &verdicts.Items[i], client.RawPatch(types.MergePatchType, []byte(patch)))
			}
		}
		return errors.New("there is no ChangeVerdict on it, or its rollout goes on")
	})
}

const (
	ownEvent, cdEvent = "dev.cdeventsx.altershield-release.", "dev.cdevents."
	// started and so on are the types of CDEvents that are awaited.
	started, bypassed      = ownEvent + "started.0.1.0", ownEvent + "bypassed.0.1.0"
	deployed, upgraded     = cdEvent + "service.deployed.0.3.0", cdEvent + "service.upgraded.0.3.0"
	incident, incidentOver = cdEvent + "incident.detected.0.3.0", cdEvent + "incident.resolved.0.3.0"
)

// inbox is a receiver of CDEvents. The zero value is empty.
type inbox struct {
	mutex sync.Mutex
	// events are in the order in which they came first.
	events []event
}

// event is what is read of a CDEvent.
type event struct {
	ID   string `json:"id"`
	Type string `json:"type"`
	Data struct {
		CustomData struct {
			Release int64 `json:"release"`
		} `json:"customData"`
	} `json:"data"`
}

// ServeHTTP takes an event. One that is known already is one that was sent again.
func (i *inbox) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	var came event
	if err := json.NewDecoder(request.Body).Decode(&came); err != nil || came.ID == "" {
		http.Error(w, "no CloudEvent", http.StatusBadRequest)
		return
	}
	i.mutex.Lock()
	defer i.mutex.Unlock()
	if !slices.ContainsFunc(i.events, func(known event) bool { return known.ID == came.ID }) {
		i.events = append(i.events, came)
	}
}

// of returns the types of the events of a release, in the order in which they came first.
func (i *inbox) of(release int64) (types []string) {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	for _, event := range i.events {
		if event.Data.CustomData.Release == release {
			types = append(types, event.Type)
		}
	}
	return types
}

// withReceiver returns a play with a ChangeSubscription that tells a receiver of its own all events of the namespace.
func withReceiver(play step) step {
	return func(ctx context.Context, s *stage) error {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		s.inbox = &inbox{}
		address, err := lab.ServeHTTP(ctx, s.inbox, lab.AnyPort, s.dir)
		if err != nil {
			return err
		}
		at := metav1.ObjectMeta{Namespace: appv1alpha1.SystemNamespace, Name: s.namespace}
		secret := &corev1.Secret{ObjectMeta: at, StringData: map[string]string{appv1alpha1.SinkURLKey: "https://" + address}}
		subscription := &appv1alpha1.ChangeSubscription{ObjectMeta: at}
		subscription.Spec.Events = []appv1alpha1.SubscribedEvent{appv1alpha1.NotifyAll}
		subscription.Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: s.namespace}}
		subscription.Spec.Sink = appv1alpha1.SubscriptionSink{
			Type: appv1alpha1.SinkCDEvents, SecretRef: appv1alpha1.SourceSecret{Name: s.namespace}, CABundle: string(s.authority),
		}
		defer func() { _ = s.Kube.Delete(context.WithoutCancel(ctx), secret) }() // on failure it only costs time
		if err := s.created(ctx, secret); err != nil {
			return err
		}
		return s.with(ctx, subscription, readyIn(&subscription.Status.Conditions), play)
	}
}

// told waits until the receiver has the events of a release, each at least once, and in their order.
func told(release int64, types ...string) step {
	return func(ctx context.Context, s *stage) error {
		return until(ctx, fmt.Sprintf("the events of release %d", release), func(context.Context) error {
			found := s.inbox.of(release)
			return expect(slices.Equal(found, types), "there are %v instead of %v", found, types)
		})
	}
}

// allTold waits until the subscription knows that it delivered all events. It must not have given up any.
func allTold(ctx context.Context, s *stage) error {
	return until(ctx, "the end of the messages", func(ctx context.Context) error {
		var subscription appv1alpha1.ChangeSubscription
		if err := s.Kube.Get(ctx, client.ObjectKey{Namespace: appv1alpha1.SystemNamespace, Name: s.namespace}, &subscription); err != nil {
			return err
		}
		status := &subscription.Status
		return expect(
			len(status.Delivered) == 7 && status.Pending == 0 && status.Dropped == 0 && status.FailingSince == nil && len(status.ToldFailures) == 0,
			"its status has %d delivered, %d pending and %d dropped events", len(status.Delivered), status.Pending, status.Dropped)
	})
}

// tellFor is how long a callback is sent again, tellTimeout how long an answer may take.
const tellFor, tellTimeout = 30 * time.Second, 6 * time.Second

// relay receives callbacks of the server and delivers them until the manager accepts them. AlterShield Server v1.0 sends a verdict
// only once. The effect of a lost one is known (the batch waits for two minutes, and then only a pass is found), and is not tested
// here.
type relay struct {
	// ctx is the context of the whole run: a callback outlives its request.
	ctx    context.Context
	target string
}

// ServeHTTP receives a callback.
func (r relay) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	header := request.Header.Clone()
	go func() {
		_ = lab.Until(r.ctx, tellFor, "the answer to a callback", func(ctx context.Context) error { return r.tell(ctx, header, body) })
	}()
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"success":true}`) // the server ignores the answer
}

// tell delivers a callback once.
func (r relay) tell(ctx context.Context, header http.Header, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, tellTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, r.target, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header = header.Clone()
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	return cmp.Or(err, expect(response.StatusCode == http.StatusOK, "the manager answers %s", response.Status))
}
