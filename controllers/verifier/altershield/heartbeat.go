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

package altershield

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
)

// switches is the answer to a heartbeat: the client switches of AlterShield, as texts.
type switches struct {
	// Check is the master switch.
	Check text `json:"OPSCLOUD_CLIENT_SWITCH_CHG_SRV_CHECK"`
	// ScenesOff lists the scenes with checks switched off, separated by commas.
	ScenesOff text `json:"OPSCLOUD_CLIENT_SWITCH_OFF_CHANGE_SCENE_KEYS"`
}

func (switches) validate() error { return nil }

func (s switches) off(scene string) bool {
	return strings.EqualFold(strings.TrimSpace(string(s.Check)), "false") ||
		slices.ContainsFunc(strings.Split(string(s.ScenesOff), ","), func(off string) bool { return strings.TrimSpace(off) == scene })
}

// heartbeatState is the result of a heartbeat.
type heartbeatState int

const (
	unknown heartbeatState = iota
	answered
	unanswered
)

// SwitchedOff reports whether checks are switched off at the server, by its last answer to a heartbeat. It is false before the first
// one.
func (c *Client) SwitchedOff() bool { return c.switchedOff.Load() }

// Start sends heartbeats until ctx ends. It never fails.
func (c *Client) Start(ctx context.Context) error {
	last := unknown
	wait.UntilWithContext(ctx, func(ctx context.Context) { last = c.heartbeat(ctx, last) }, heartbeatPeriod)
	return nil
}

// NeedLeaderElection returns false, so that a replica knows the switches before it leads.
func (c *Client) NeedLeaderElection() bool { return false }

// heartbeat bypasses the circuit breaker, to notice by itself that the server is back.
func (c *Client) heartbeat(ctx context.Context, last heartbeatState) heartbeatState {
	logger, said := ctrl.LoggerFrom(ctx), switches{}
	query := map[string]string{"platform": c.config.Platform}
	outcome, err := c.exchange(ctx, heartbeatCall, "?platform="+url.QueryEscape(c.config.Platform), query, &said)
	c.metrics.count(heartbeatCall, outcome, err)
	switch {
	case ctx.Err() != nil:
		return last
	case err != nil && last != unanswered:
		logger.Error(err, "AlterShield Server doesn't answer heartbeats")
		return unanswered
	case err != nil:
		return unanswered
	case last != answered:
		logger.Info("AlterShield Server answers heartbeats")
	}
	off := said.off(c.config.Scene)
	if c.switchedOff.Swap(off) != off {
		logger.Info("Checks were switched at AlterShield Server", "off", off)
	}
	c.metrics.switchedOff.Set(asGauge(off))
	return answered
}
