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
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// The checks that ask others: one before the first pod, one for which pods wait, one whose verdict is reported, and a script after the last pod.
const readyCheck, placementCheck, driftCheck, smokeCheck = "ready", "placement", "drift", "smoke"

// othersDecide makes a release in steps that others let go on at each point, and one that fails by a reported verdict.
func othersDecide() step {
	return inTurn(
		twoSteps(), createDeployment, verified(1), askOthers,
		secondRelease, waitsFor(readyCheck), passes(readyCheck),
		waitsFor(placementCheck), reports(2, appv1alpha1.ReportedPass), passes(placementCheck),
		awaitsApproval, approve, waitsFor(smokeCheck), verified(2),
		decidedBy(readyCheck, "Pass CheckPassed"), decidedBy(placementCheck, "Pass CheckPassed"), decidedBy(driftCheck, "Pass CheckPassed"),
		decidedBy(smokeCheck, "Pass CheckPassed"),
		change("the third release", template("third", "")), reports(3, appv1alpha1.ReportedFail), suspended(3), decidedBy(driftCheck, "Fail CheckFailed"),
		batchesEnd, denied)
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
		address, err := serve(ctx, s.asker, anyPort, "")
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

// reports has a verdict reported on a release, once the operator waits for it.
func reports(release int64, verdict appv1alpha1.ReportedVerdict) step {
	return func(ctx context.Context, s *stage) error {
		return s.write(ctx, fmt.Sprintf("the verdict on release %d", release), func(ctx context.Context) error {
			var verdicts appv1alpha1.ChangeVerdictList
			if err := s.Kube.List(ctx, &verdicts, client.InNamespace(s.namespace)); err != nil {
				return err
			}
			for i := range verdicts.Items {
				if verdicts.Items[i].Spec.Release == release {
					patch := fmt.Sprintf(`{"status":{"verdict":%q}}`, verdict)
					return s.Kube.Status().Patch(ctx, &verdicts.Items[i], client.RawPatch(types.MergePatchType, []byte(patch)))
				}
			}
			return errors.New("there is no ChangeVerdict on it")
		})
	}
}
