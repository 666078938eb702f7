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
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/traas-stack/altershield-operator/controllers/workload/deployment"
	"github.com/traas-stack/altershield-operator/hack/faults/proxy"
	"github.com/traas-stack/altershield-operator/hack/faults/state"
	"github.com/traas-stack/altershield-operator/hack/lab"
	"github.com/traas-stack/altershield-operator/hack/lab/webapp"
)

// half is one half of the matrix: the scenarios with or without AlterShield Server.
type half struct {
	opts    options
	checked bool
	out     io.Writer
	// scenarios are those to play.
	scenarios map[string]scenario
	*lab.Lab
	// watched caches objects that are read many times a second, which would keep the API server busy.
	watched client.Reader
	// api and calls are the proxies before the API server, and before AlterShield Server or Prometheus.
	api, calls *proxy.Proxy
	keeper     *keeper
	// dir is the folder with the certificate of servers on this machine, authority the one that signed it.
	dir       string
	authority []byte
	// stopScraping stops Prometheus, nil if there is none.
	stopScraping func()
	// namespaces counts the created ones.
	namespaces atomic.Int64
	references map[string]state.Reference
	results    []result
}

// run tries the plans.
func (h *half) run(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	h.keeper = &keeper{ctx: ctx, fail: stop}
	if err := h.start(ctx); err != nil {
		return err
	}
	log := h.Operator.LogPath()
	err := h.tryAll(ctx)
	if err == nil && ctx.Err() == nil {
		err = h.StopOperator(ctx)
	}
	return errors.Join(err, context.Cause(ctx), h.checkLog(log))
}

// choose selects the scenarios to play.
func (h *half) choose() (err error) {
	h.scenarios, h.references = map[string]scenario{}, map[string]state.Reference{}
	for _, scenario := range scenarios() {
		if scenario.checked != h.checked || !selects(h.opts.scenarios, scenario.name) {
			continue
		}
		switch {
		case scenario.declared:
			if scenario.kind, err = webapp.Kind(); err != nil {
				return err
			}
		case scenario.kind == nil:
			scenario.kind = deployment.Kind{}
		}
		h.scenarios[scenario.name] = scenario
	}
	return nil
}

// tryAll begins with writes in one half and with views in the other: writes keep the processors busy, views mostly wait.
func (h *half) tryAll(ctx context.Context) error {
	written, err := h.undisturbed(ctx)
	if err != nil {
		return err
	}
	var errs, kills, alone []plan
	for _, name := range slices.Sorted(maps.Keys(written)) {
		fmt.Fprintf(h.out, "%s: %d positions, %d values vary between undisturbed runs\n", name, len(written[name]), len(h.references[name].Varies))
		for _, varies := range h.references[name].Varies {
			fmt.Fprintf(h.out, "    varies: %s\n", varies)
		}
		if h.scenarios[name].apart {
			continue
		}
		for _, plan := range writePlans(name, written[name]) {
			if h.scenarios[name].isAlone() {
				alone = append(alone, plan)
			} else if plan.fault.Mode.Kills() {
				kills = append(kills, plan)
			} else {
				errs = append(errs, plan)
			}
		}
	}
	switch {
	case len(h.opts.only) > 0:
		h.tryOnly(ctx)
	case h.checked:
		h.tryViews(ctx)
		h.tryWrites(ctx, "errors", errs, h.opts.parallel)
		h.tryWrites(ctx, "kills", kills, h.opts.parallel)
	default:
		h.tryWrites(ctx, "errors", errs, h.opts.parallel)
		h.tryWrites(ctx, "kills", kills, h.opts.parallel)
		h.tryViews(ctx)
		h.tryWrites(ctx, "errors and kills alone", alone, 1)
		h.tryTroubles(ctx)
	}
	return nil
}

// wanted returns the plans whose faults are wanted, or a share of them.
func (h *half) wanted(plans []plan) []plan {
	return sample(slices.DeleteFunc(plans, func(plan plan) bool { return !selects(h.opts.faults, plan.class()) }), h.opts.share)
}

// under returns the scenarios that are played beside each other while the view of a resource is disturbed. Those with looks take a minute, and
// see what others do but for policies and sources.
func (h *half) under(disturbance proxy.Disturbance) (names []string) {
	ofChecks := strings.HasPrefix(disturbance.Resources[0], "verification")
	for name, scenario := range h.scenarios {
		if !scenario.apart && !scenario.isAlone() && (ofChecks || !scenario.measured) {
			names = append(names, name)
		}
	}
	return names
}

func (h *half) tryWrites(ctx context.Context, what string, plans []plan, parallel int) {
	h.results = append(h.results, h.all(ctx, h.wanted(plans), parallel)...)
	h.tellTime(what)
}

func (h *half) tryViews(ctx context.Context) {
	for _, plan := range h.wanted(viewPlans("")) {
		h.results = append(h.results, h.disturb(ctx, h.under(plan.disturbance), plan.disturbance)...)
	}
	h.tellTime("views")
}

// tryTroubles tries troubles one after the other: each affects the whole control plane.
func (h *half) tryTroubles(ctx context.Context) {
	if !selects(h.opts.faults, classTrouble) {
		return
	}
	ordered := slices.SortedFunc(maps.Values(h.scenarios), func(one, other scenario) int { return strings.Compare(one.name, other.name) })
	h.results = append(h.results, h.all(ctx, troublePlans(ordered, h.opts.share), 1)...)
	h.tellTime("troubles")
}

// tryOnly tries plans one after the other.
func (h *half) tryOnly(ctx context.Context) {
	for i, plan := range h.opts.only {
		switch _, ours := h.scenarios[plan.scenario]; {
		case ours && plan.fault == nil && plan.trouble == nil:
			h.results = append(h.results, h.disturb(ctx, []string{plan.scenario}, plan.disturbance)...)
		case ours:
			h.results = append(h.results, h.all(ctx, h.opts.only[i:i+1], 1)...)
		}
	}
}

func (h *half) tellTime(what string) {
	name := "without AlterShield Server"
	if h.checked {
		name = "with AlterShield Server"
	}
	fmt.Fprintf(h.out, "%s %s %s: %d plans of this half done\n", time.Now().Format(time.TimeOnly), name, what, len(h.results))
}
