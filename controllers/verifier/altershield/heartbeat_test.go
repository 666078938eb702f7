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

package altershield_test

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/traas-stack/altershield-operator/controllers/verifier/altershield"
)

func switches(check, scenes string) string {
	return `{"success":true,"resultCode":"000","msg":null,"domain":{"OPSCLOUD_CLIENT_SWITCH_CHG_SRV_CHECK":"` + check +
		`","OPSCLOUD_CLIENT_SWITCH_OFF_CHANGE_SCENE_KEYS":"` + scenes + `"}}`
}

// beating runs the heartbeats of a client in a bubble of time. end stops them and returns what they logged.
func beating(t *testing.T, operator operator) (end func() []string) {
	t.Helper()
	logged := &bytes.Buffer{}
	ctx, cancel := context.WithCancel(ctrl.LoggerInto(t.Context(), zap.New(zap.WriteTo(logged))))
	ended := make(chan error, 1)
	go func() { ended <- operator.Start(ctx) }()
	synctest.Wait()
	return func() []string {
		cancel()
		NewWithT(t).Expect(<-ended).To(Succeed())
		return strings.FieldsFunc(logged.String(), func(character rune) bool { return character == '\n' })
	}
}

func TestHeartbeatIsSentAtOnceAndEveryTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		operator, wire := wired(t, switches("true", ""))
		end := beating(t, operator)
		g.Expect(wire.count()).To(Equal(1))
		time.Sleep(9999 * time.Millisecond)
		g.Expect(wire.count()).To(Equal(1))
		time.Sleep(20 * time.Second)
		g.Expect(wire.count()).To(Equal(3))
		g.Expect(end()).To(HaveLen(1))
		time.Sleep(time.Minute)
		g.Expect(wire.count()).To(Equal(3))
		g.Expect(operator.calls("heartbeat", "ok")).To(BeEquivalentTo(3))
	})
}

func TestHeartbeatIsSignedOverItsQuery(t *testing.T) {
	g := NewWithT(t)
	server := newServer(t, http.StatusOK, switches("true", ""))
	operator := newOperator(t, configFor(t, server.URL))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- operator.Start(ctx) }()
	g.Eventually(func() float64 { return operator.calls("heartbeat", "ok") }).WithTimeout(time.Minute).Should(BeEquivalentTo(1))
	cancel()
	g.Expect(<-ended).To(Succeed())

	sent := server.last(t, 1)
	g.Expect(sent.Method + " " + sent.URL.String()).To(Equal("GET /openapi/v1/heartbeat/config?platform=kubernetes"))
	g.Expect(sent.body).To(BeEmpty())
	g.Expect(sent.Header.Get("X-AlterShield-Platform")).To(Equal("kubernetes"))
	g.Expect(sent.Header.Get("X-AlterShield-Timestamp")).To(Equal("1700000000000"))
	g.Expect(sent.Header.Get("X-AlterShield-Sign")).To(Equal("M81XNLPHC4TQXWWLP31Z5HJB7PVKGAHNJHTDA4Y_0GY="))
}

func TestSwitchedOffByTheServer(t *testing.T) {
	for _, row := range []struct {
		name, answer string
		off          bool
	}{
		{"the master switch is on", switches("true", ""), false},
		{"the master switch is off", switches("false", ""), true},
		{"the master switch is off, in another case", switches(" FALSE ", ""), true},
		{"the master switch is off, as a boolean", `{"success":true,"domain":{"OPSCLOUD_CLIENT_SWITCH_CHG_SRV_CHECK":false}}`, true},
		{"the scene is off", switches("true", "com.example.rolling"), true},
		{"the scene is off among others", switches("true", "com.example.other, com.example.rolling ,"), true},
		{"other scenes are off", switches("true", "com.example.other,com.example.rolling.update"), false},
		{"no switches at all", `{"success":true,"domain":null}`, false},
		{"not a success", `{"success":false,"resultCode":"102","domain":{"OPSCLOUD_CLIENT_SWITCH_CHG_SRV_CHECK":"false"}}`, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := NewWithT(t)
				operator, _ := wired(t, row.answer)
				g.Expect(operator.SwitchedOff()).To(BeFalse())
				defer beating(t, operator)()
				g.Expect(operator.SwitchedOff()).To(Equal(row.off))
				g.Expect(operator.counted("altershield_server_checks_switched_off")).To(BeEquivalentTo(map[bool]int{true: 1}[row.off]))
			})
		})
	}
}

func TestSwitchedOffHoldsWhileTheServerDoesNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		operator, wire := wired(t, switches("false", ""))
		end := beating(t, operator)
		next := func(answer string) {
			wire.says(answer)
			time.Sleep(10 * time.Second)
			synctest.Wait()
		}
		next(switches("false", ""))
		next("")
		next("")
		g.Expect(operator.SwitchedOff()).To(BeTrue())
		g.Expect(operator.counted("altershield_server_checks_switched_off")).To(BeEquivalentTo(1))
		g.Expect(operator.counted("altershield_server_up")).To(BeZero())
		next("<html>")
		next(switches("true", ""))
		g.Expect(operator.SwitchedOff()).To(BeFalse())
		g.Expect(operator.counted("altershield_server_checks_switched_off")).To(BeZero())
		g.Expect(operator.counted("altershield_server_up")).To(BeEquivalentTo(1))
		g.Expect(end()).To(HaveExactElements(
			ContainSubstring(`"msg":"AlterShield Server answers heartbeats"`),
			And(ContainSubstring(`"msg":"Checks were switched at AlterShield Server"`), ContainSubstring(`"off":true`)),
			And(ContainSubstring(`"msg":"AlterShield Server doesn't answer heartbeats"`), ContainSubstring("no route to host")),
			ContainSubstring(`"msg":"AlterShield Server answers heartbeats"`),
			And(ContainSubstring(`"msg":"Checks were switched at AlterShield Server"`), ContainSubstring(`"off":false`)),
		), "only what changes")
	})
}

func TestHeartbeatGoesPastTheCircuitBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		operator, wire := wired(t, "")
		end := beating(t, operator)
		time.Sleep(40 * time.Second)
		synctest.Wait()
		g.Expect(operator.calls("heartbeat", "unavailable")).To(BeEquivalentTo(5))
		for range 3 {
			g.Expect(open(t, operator.Client)).To(MatchError(outage), "heartbeats don't open it")
		}
		g.Expect(end()).To(HaveLen(1))

		wire.says(switches("false", ""))
		end = beating(t, operator)
		g.Expect(operator.SwitchedOff()).To(BeTrue())
		g.Expect(open(t, operator.Client)).To(MatchError(skipped), "heartbeats don't close it")
		end()
	})
}

func TestHeartbeatEndsWithItsContextWhileTheServerHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		operator, wire := wired(t, switches("false", ""))
		wire.hold(make(chan struct{}))
		end := beating(t, operator)
		g.Expect(wire.count()).To(Equal(1))
		g.Expect(end()).To(BeEmpty(), "stopping is no outage")
		g.Expect(operator.SwitchedOff()).To(BeFalse())
	})
}

func TestHeartbeatGoesOnWithoutAToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		config := configFor(t, "http://altershield.example.com")
		operator, wire := newOperator(t, config), &wire{answer: switches("false", "")}
		operator.Through(wire)
		g.Expect(os.Rename(config.TokenFile, config.TokenFile+".away")).To(Succeed())
		end := beating(t, operator)
		g.Expect(operator.SwitchedOff()).To(BeFalse())
		g.Expect(os.Rename(config.TokenFile+".away", config.TokenFile)).To(Succeed())
		time.Sleep(10 * time.Second)
		synctest.Wait()
		g.Expect(operator.SwitchedOff()).To(BeTrue())
		g.Expect(end()).To(HaveExactElements(ContainSubstring("no such file"), ContainSubstring("answers"), ContainSubstring("switched")))
	})
}

func TestNeedLeaderElectionIsFalse(t *testing.T) {
	client := &altershield.Client{}
	var runnable manager.LeaderElectionRunnable = client
	NewWithT(t).Expect(runnable.NeedLeaderElection()).To(BeFalse())
	var _ manager.Runnable = client
}
