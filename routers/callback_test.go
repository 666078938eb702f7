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

package routers

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
	"github.com/traas-stack/altershield-operator/controllers/verifier/altershield"
)

func TestApplyMovesTheBatchOn(t *testing.T) {
	for _, row := range []struct {
		name, phase, message, stage, verdict string
		applied                              bool
		nextPhase, nextMessage, podVerdict   string
	}{
		{"before it takes effect, if it passed", "PreSubmitted", "", "PRE", "pass", true, "PostWait", "", ""},
		{"to its end, if it failed before it took effect", "PreSubmitted", "", "PRE", "fail", true, "ExecuteDone", "PreFailed", "unpass"},
		{"to its end, if it passed", "PostSubmitted", "", "POST", "pass", true, "ExecuteDone", "PostFinish", "pass"},
		{"to its end, if it failed", "PostSubmitted", "", "POST", "fail", true, "ExecuteDone", "PostFinish", "unpass"},
		{"if it overtook the answer to our notice", "PostWait", "", "POST", "fail", true, "ExecuteDone", "PostFinish", "unpass"},
		{"after its deadline", "ExecuteDone", "PostTimeout", "POST", "fail", true, "ExecuteDone", "PostFinish", "unpass"},
		{"not, if another came first", "ExecuteDone", "PostFinish", "POST", "fail", false, "ExecuteDone", "PostFinish", ""},
		{"not, if its stage is over", "PostWait", "", "PRE", "fail", false, "PostWait", "", ""},
		{"not, if a pass comes too late", "ExecuteDone", "PreTimeout", "PRE", "pass", false, "ExecuteDone", "PreTimeout", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			b := newBench(t, interceptor.Funcs{}, changePod(row.phase, row.message))
			answer := b.callBack(t, bodyOf(row.stage, row.verdict))
			g.Expect(answer.Code).To(Equal(200))
			g.Expect(answer.Header().Get("Content-Type")).To(Equal("application/json"))
			if row.applied {
				g.Expect(answer.Body.String()).To(beSuccess("the verdict is saved"))
				g.Expect(b.counted(t)).To(ConsistOf("altershield_callbacks_total{applied} 1",
					"altershield_verdicts_total{"+row.stage+","+row.verdict+"} 1"))
			} else {
				g.Expect(answer.Body.String()).To(beSuccess("the verdict changes nothing: it is already known, or came too late"))
				g.Expect(b.counted(t)).To(ConsistOf("altershield_callbacks_total{stale} 1"))
			}
			status := b.changePod(t).Status
			g.Expect(string(status.Status)).To(Equal(row.nextPhase))
			g.Expect(status.Message).To(Equal(row.nextMessage))
			if row.podVerdict == "" {
				g.Expect(status.PodResults).To(BeEmpty())
				return
			}
			g.Expect(status.VerdictTime.Time).To(BeTemporally("==", now))
			message := map[string]string{"unpass": "error rate: find error"}[row.podVerdict]
			g.Expect(status.PodResults).To(HaveExactElements(
				appv1alpha1.PodSummary{Pod: "sleep-a", Verdict: appv1alpha1.Verdict(row.podVerdict), Message: message},
				appv1alpha1.PodSummary{Pod: "sleep-b", Verdict: appv1alpha1.Verdict(row.podVerdict), Message: message}))
		})
	}
}

func TestCallbackThatPanicsEndsNothingElse(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, interceptor.Funcs{List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
		panic("Bearer " + token)
	}})
	answer := b.callBack(t, bodyOf("POST", "pass"))
	g.Expect(answer.Code).To(Equal(500))
	g.Expect(answer.Body.String()).To(beFailure("the verdict could not be saved"))
	g.Expect(b.counted(t)).To(ConsistOf("altershield_callbacks_total{failed} 1"))
	log := string(b.log.Contents())
	g.Expect(log).To(And(ContainSubstring("A verdict was not saved"), ContainSubstring("callback_test.go")), "where it happened")
	g.Expect(log).NotTo(ContainSubstring(token))
}

func TestNewServesCallbacksUnderEveryPublishedPath(t *testing.T) {
	for _, path := range []string{"/openapi/altershield/callback", "/openapi/opscloud/callback", "/openapi/callback"} {
		t.Run(path, func(t *testing.T) {
			b := newBench(t, interceptor.Funcs{}, changePod("PostSubmitted", ""))
			request := signed(t, bodyOf("POST", "pass"))
			request.URL.Path = path
			NewWithT(t).Expect(b.serveHTTP(request).Body.String()).To(beSuccess("the verdict is saved"))
		})
	}
}

func TestApplyTakesTheVerdictOnAnOrder(t *testing.T) {
	g := NewWithT(t)
	check := changePod("PreSubmitted", "")
	check.Spec.Order, check.Spec.PodInfos = true, []appv1alpha1.PodSummary{}
	b := newBench(t, interceptor.Funcs{}, check)
	answer := b.callBack(t, strings.Replace(bodyOf("PRE", "fail"), "CHANGE_BATCH", "CHANGE_ORDER", 1))
	g.Expect(answer.Body.String()).To(beSuccess("the verdict is saved"))
	g.Expect(b.counted(t)).To(ConsistOf("altershield_callbacks_total{applied} 1", "altershield_verdicts_total{PRE,fail} 1"))
	status := b.changePod(t).Status
	g.Expect(string(status.Status) + " " + status.Message).To(Equal("ExecuteDone PreFailed"))
	g.Expect(status.PodResults).To(HaveExactElements(appv1alpha1.PodSummary{
		Namespace: "default", Pod: "change order", Verdict: "unpass", Message: "error rate: find error",
	}))
}

func TestApplyChangesNothingByARepeatedCallback(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, interceptor.Funcs{}, changePod("PostSubmitted", ""))
	body := bodyOf("POST", "fail")
	g.Expect(b.callBack(t, body).Body.String()).To(beSuccess("the verdict is saved"))
	saved := b.changePod(t)
	again := b.callBack(t, body)
	g.Expect(again.Code).To(Equal(200))
	g.Expect(again.Body.String()).To(beSuccess("the verdict changes nothing: it is already known, or came too late"))
	g.Expect(b.changePod(t)).To(Equal(saved))
	g.Expect(b.counted(t)).To(ConsistOf("altershield_callbacks_total{applied} 1", "altershield_callbacks_total{stale} 1",
		"altershield_verdicts_total{POST,fail} 1"))
}

func TestApplyTakesOneOfTwoCallbacksAtOnce(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, interceptor.Funcs{}, changePod("PostSubmitted", ""))
	var answers [2]*httptest.ResponseRecorder
	var callers sync.WaitGroup
	for i := range answers {
		request := signed(t, bodyOf("POST", "pass"))
		callers.Go(func() { answers[i] = b.serveHTTP(request) })
	}
	callers.Wait()
	for _, answer := range answers {
		g.Expect(answer.Code).To(Equal(200))
		g.Expect(answer.Body.String()).To(ContainSubstring(`"success":true`))
	}
	g.Expect(b.counted(t)).To(ConsistOf("altershield_callbacks_total{applied} 1", "altershield_callbacks_total{stale} 1",
		"altershield_verdicts_total{POST,pass} 1"))
}

func TestCallbacksThatAreNotVerdictsOfBatchesOrOrdersAreAcknowledged(t *testing.T) {
	for name, body := range map[string]string{
		"of an action":      strings.Replace(bodyOf("POST", "fail"), "CHANGE_BATCH", "CHANGE_ACTION", 1),
		"before the end":    strings.Replace(bodyOf("POST", "fail"), `"allFinish":true`, `"allFinish":false`, 1),
		"of nothing at all": strings.Replace(bodyOf("POST", "fail"), "CHANGE_BATCH", "", 1),
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			b := newBench(t, interceptor.Funcs{}, changePod("PostSubmitted", ""))
			answer := b.callBack(t, body)
			g.Expect(answer.Code).To(Equal(200))
			g.Expect(answer.Body.String()).To(beSuccess("only verdicts of whole batches and orders count"))
			g.Expect(b.counted(t)).To(ConsistOf("altershield_callbacks_total{ignored} 1"))
			g.Expect(b.changePod(t).Status.Status).To(BeEquivalentTo("PostSubmitted"))
		})
	}
}

// altered returns an authentic callback with an altered header.
func altered(header, value string) func(testing.TB) *http.Request {
	return func(t testing.TB) *http.Request {
		request := signed(t, bodyOf("POST", "fail"))
		request.Header.Set(header, value)
		return request
	}
}

// sentAt returns an authentic callback of another time.
func sentAt(timestamp string) func(testing.TB) *http.Request {
	return func(t testing.TB) *http.Request {
		request := signed(t, bodyOf("POST", "fail"))
		sign(request, timestamp, bodyOf("POST", "fail"))
		return request
	}
}

// sent returns an authentic callback with this body.
func sent(body string) func(testing.TB) *http.Request {
	return func(t testing.TB) *http.Request { return signed(t, body) }
}

func TestCallbacksAreRejectedUnread(t *testing.T) {
	body := bodyOf("POST", "fail")
	for _, row := range []struct {
		name    string
		request func(testing.TB) *http.Request
		code    int
		status  string
		message string
	}{
		{"no signature", altered("X-AlterShield-Sign", ""), 401, "unsigned", "the signature is not valid"},
		{"a wrong signature", altered("X-AlterShield-Sign", "M38WRU7HVU9NPVW0GJEC64VWRGFLG2TC8ZRQHOYJUAG="), 401, "unsigned", "the signature is not valid"},
		{"another platform", altered("X-AlterShield-Platform", "somebody"), 401, "unsigned", "the signature is not valid"},
		{"another timestamp than was signed", altered("X-AlterShield-Timestamp", "1795255200001"), 401, "unsigned", "the signature is not valid"},
		{"another body than was signed", func(t testing.TB) *http.Request {
			request := signed(t, body)
			request.Body = io.NopCloser(strings.NewReader(bodyOf("POST", "pass")))
			return request
		}, 401, "unsigned", "the signature is not valid"},
		{"too old", sentAt("1795254899999"), 401, "expired", "the timestamp is out of range"},
		{"from the future", sentAt("1795255500001"), 401, "expired", "the timestamp is out of range"},
		{"too large", sent(strings.Repeat(" ", 10<<20)), 413, "too_large", "the callback is larger than 1 MiB"},
		{"just too large", sent(body + strings.Repeat(" ", 1<<20+1-len(body))), 413, "too_large", "the callback is larger than 1 MiB"},
		{"no JSON", sent(`{"callbackRequest":`), 400, "malformed", "the callback is malformed: unexpected end of JSON input"},
		{"no check", sent(strings.Replace(body, `"check-1"`, `""`, 1)), 400, "malformed", "the callback's nodeId has 0 bytes: it must have 1 to 256"},
		{"no body", sent(""), 400, "malformed", "the callback is malformed: unexpected end of JSON input"},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			b := newBench(t, interceptor.Funcs{}, changePod("PostSubmitted", ""))
			request := row.request(t)
			answer := b.serveHTTP(request)
			g.Expect(answer.Code).To(Equal(row.code))
			g.Expect(answer.Header().Get("Content-Type")).To(Equal("application/json"))
			g.Expect(answer.Body.String()).To(beFailure(row.message))
			g.Expect(b.counted(t)).To(ConsistOf("altershield_callbacks_total{" + row.status + "} 1"))
			g.Expect(b.changePod(t).Status.Status).To(BeEquivalentTo("PostSubmitted"))

			log := string(b.log.Contents())
			g.Expect(strings.Count(log, "\n")).To(Equal(1), "one line")
			g.Expect(log).To(And(ContainSubstring(`"status":"`+row.status+`"`), ContainSubstring(`"remote":"192.0.2.1:1234"`),
				MatchRegexp(`"reason":".+"`)))
			g.Expect(log).NotTo(Or(ContainSubstring(token), ContainSubstring("CHANGE_BATCH"), ContainSubstring("find error")))
			if signature := request.Header.Get("X-AlterShield-Sign"); signature != "" {
				g.Expect(log).NotTo(ContainSubstring(signature))
			}
		})
	}
}

func TestReceiveTakesTheLargestCallback(t *testing.T) {
	b := newBench(t, interceptor.Funcs{}, changePod("PostSubmitted", ""))
	body := bodyOf("POST", "pass")
	answer := b.callBack(t, body+strings.Repeat(" ", 1<<20-len(body)))
	NewWithT(t).Expect(answer.Body.String()).To(beSuccess("the verdict is saved"))
}

func TestCallbacksAreNotTakenWithoutCredentials(t *testing.T) {
	for name, row := range map[string]struct {
		keyring *altershield.Keyring
		message string
	}{
		"as no server is configured": {nil, "the operator has no AlterShield Server configured"},
		"as the token can't be read": {altershield.NewKeyring(altershield.Credentials{Platform: "kubernetes", TokenFile: "/nowhere/token"}),
			"the operator can't read its token"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			b := newBench(t, interceptor.Funcs{}, changePod("PostSubmitted", ""))
			registry := prometheus.NewRegistry()
			server, err := New(Options{
				Kinds: testkit.Kinds(), Receiver: altershield.Callbacks{Keyring: row.keyring}, Client: b.kube, Live: b.kube, Clock: clocktesting.NewFakePassiveClock(now), Metrics: registry,
			})
			g.Expect(err).NotTo(HaveOccurred())
			b.Server, b.registry = server, registry
			answer := b.callBack(t, bodyOf("POST", "fail"))
			g.Expect(answer.Code).To(Equal(503))
			g.Expect(answer.Body.String()).To(beFailure(row.message))
			g.Expect(b.counted(t)).To(ConsistOf("altershield_callbacks_total{unavailable} 1"), "no alert of a verdict that can't be saved: nobody was authenticated")
			g.Expect(b.changePod(t).Status.Status).To(BeEquivalentTo("PostSubmitted"))
		})
	}
}

// broken is a receiver that fails with an unknown error.
type broken struct{ altershield.Callbacks }

func (broken) CheckHeader(http.Header, time.Time) error {
	return errors.New("the key store at 10.0.0.7 is sealed")
}

func TestHandleKeepsTheReasonsOfAReceiverToItself(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, interceptor.Funcs{}, changePod("PostSubmitted", ""))
	registry := prometheus.NewRegistry()
	server, err := New(Options{Receiver: broken{}, Client: b.kube, Live: b.kube, Clock: clocktesting.NewFakePassiveClock(now), Metrics: registry})
	g.Expect(err).NotTo(HaveOccurred())
	b.Server, b.registry = server, registry
	answer := b.callBack(t, bodyOf("POST", "fail"))
	g.Expect(answer.Code).To(Equal(503))
	g.Expect(answer.Body.String()).To(beFailure("the operator can't verify callbacks at present"))
	g.Expect(string(b.log.Contents())).To(ContainSubstring("the key store at 10.0.0.7 is sealed"))
	g.Expect(b.counted(t)).To(ConsistOf("altershield_callbacks_total{unavailable} 1"))
}

func TestReportLogsAnAppliedVerdictInOneLine(t *testing.T) {
	g := NewWithT(t)
	checked := changePod("PostSubmitted", "")
	checked.Labels = map[string]string{"app.kubernetes.io/deployment-name": "sleep", "admission-webhook-altershield.antgroup.com/version": version}
	b := newBench(t, interceptor.Funcs{}, checked)
	request := signed(t, bodyOf("POST", "fail"))
	b.serveHTTP(request)
	log := string(b.log.Contents())
	g.Expect(strings.Count(log, "\n")).To(Equal(1))
	for _, part := range []string{`"status":"applied"`, `"check":"check-1"`, `"order":"default/default/sleep/0123456789/4"`, `"stage":"POST"`, `"verdict":"fail"`,
		`"namespace":"default","deployment":"sleep","version":"` + version + `","release":4,"reason":"VerdictArrived"`,
		`"changePod":{"name":"sleep--x--1","namespace":"default"}`} {
		g.Expect(log).To(ContainSubstring(part))
	}
	g.Expect(log).NotTo(Or(ContainSubstring(token), ContainSubstring("CHANGE_BATCH"), ContainSubstring(request.Header.Get("X-AlterShield-Sign"))))
}

func TestCallbacksTakeAThousandVerdictsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, interceptor.Funcs{}, changeWorkload())
		var callers sync.WaitGroup
		codes := make([]int, 1000)
		for i := range codes {
			// Each waits for its ChangePod, as after a burst of starts.
			callers.Go(func() { codes[i] = b.serveHTTP(signed(t, bodyOf("POST", "pass"))).Code })
		}
		callers.Wait()
		NewWithT(t).Expect(codes).To(HaveEach(200), "the server would send none of them again")
	})
}

func TestWaitLetsNoProcessEndBeforeItsVerdictsAreSaved(t *testing.T) {
	for _, row := range []struct {
		name         string
		outage, wait time.Duration
		phase, log   string
	}{
		{"in an outage of twenty seconds", 20 * time.Second, time.Minute, "ExecuteDone", "A verdict arrived"},
		{"but not for longer than it may take", 2 * time.Minute, 30 * time.Second, "PostSubmitted", "The process ends before all verdicts are saved"},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := NewWithT(t)
				start := time.Now()
				b := newBench(t, interceptor.Funcs{SubResourcePatch: func(ctx context.Context, kube client.Client, sub string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
					if time.Since(start) < row.outage {
						return errors.New("the API server is down")
					}
					return kube.SubResource(sub).Patch(ctx, object, patch, options...)
				}}, changePod("PostSubmitted", ""))
				g.Expect(b.callBack(t, bodyOf("POST", "fail")).Code).To(Equal(500))
				ctx, cancel := context.WithTimeout(b.context(t.Context()), row.wait)
				defer cancel()
				b.Wait(ctx)
				g.Expect(b.changePod(t).Status.Status).To(BeEquivalentTo(row.phase))
				g.Expect(string(b.log.Contents())).To(ContainSubstring(row.log))
				g.Expect(time.Since(start)).To(BeNumerically("<=", 5*time.Second+min(row.outage, row.wait)))
				time.Sleep(3 * time.Minute) // of the bubble's clock: until it gives up
			})
		})
	}
}

func TestWaitDoesNotWaitForAnUnknownCheckToAppear(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		b := newBench(t, interceptor.Funcs{})
		g.Expect(b.callBack(t, bodyOf("POST", "fail")).Code).To(Equal(200))
		start := time.Now()
		b.Wait(t.Context())
		g.Expect(time.Since(start)).To(BeZero(), "the cache, which would show it, has stopped")
		time.Sleep(3 * time.Minute) // of the bubble's clock: until it gives up
	})
}
