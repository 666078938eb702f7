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
	"github.com/traas-stack/altershield-operator/hack/local/operator"
)

// group plays a group of scenarios on a control plane of its own: a kill or a disturbed view affects all scenarios on the same one, and they wait for
// each other then.
type group struct {
	name string
	opts options
	out  io.Writer
	// viewsFirst is set for every second group: views mostly wait, while the writes of others keep the processors busy.
	viewsFirst bool
	// scenarios are those to play.
	scenarios map[string]scenario
	*lab.Lab
	// ports are those of the manager.
	ports operator.Ports
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

// choose returns the groups that have scenarios to play.
func choose(opts options, out io.Writer) (chosen []*group, err error) {
	groups := map[string]*group{}
	for _, known := range scenarios() {
		if !selects(opts.scenarios, known.name) {
			continue
		}
		switch {
		case known.declared:
			if known.kind, err = webapp.Kind(); err != nil {
				return nil, err
			}
		case known.kind == nil:
			known.kind = deployment.Kind{}
		}
		if groups[known.group] == nil {
			groups[known.group] = &group{name: known.group, viewsFirst: len(chosen)%2 == 1, opts: opts, out: out, scenarios: map[string]scenario{}, references: map[string]state.Reference{}}
			chosen = append(chosen, groups[known.group])
		}
		groups[known.group].scenarios[known.name] = known
	}
	return chosen, nil
}

// close stops what the group has started.
func (g *group) close(ctx context.Context) error {
	if g.stopScraping != nil {
		g.stopScraping()
	}
	if g.Lab == nil {
		return nil
	}
	return g.Close(ctx)
}

// run tries the plans.
func (g *group) run(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	g.keeper = &keeper{ctx: ctx, fail: stop}
	if err := g.start(ctx); err != nil {
		return err
	}
	log := g.Operator.LogPath()
	err := g.tryAll(ctx)
	if err == nil && ctx.Err() == nil {
		err = g.StopOperator(ctx)
	}
	return errors.Join(err, context.Cause(ctx), g.checkLog(log))
}

func (g *group) tryAll(ctx context.Context) error {
	written, err := g.undisturbed(ctx)
	if err != nil {
		return err
	}
	var errs, kills, alone []plan
	for _, name := range slices.Sorted(maps.Keys(written)) {
		fmt.Fprintf(g.out, "%s: %d positions, %d values vary between undisturbed runs\n", name, len(written[name]), len(g.references[name].Varies))
		for _, varies := range g.references[name].Varies {
			fmt.Fprintf(g.out, "    varies: %s\n", varies)
		}
		if g.scenarios[name].apart {
			continue
		}
		for _, plan := range writePlans(name, written[name]) {
			if g.scenarios[name].isAlone() {
				alone = append(alone, plan)
			} else if plan.fault.Mode.Kills() {
				kills = append(kills, plan)
			} else {
				errs = append(errs, plan)
			}
		}
	}
	if len(g.opts.only) > 0 {
		g.tryOnly(ctx)
		return nil
	}
	if g.viewsFirst {
		g.tryViews(ctx)
	}
	g.tryWrites(ctx, "errors", errs, g.opts.parallel)
	g.tryWrites(ctx, "kills", kills, g.opts.parallel)
	if !g.viewsFirst {
		g.tryViews(ctx)
	}
	g.tryWrites(ctx, "errors and kills alone", alone, 1)
	g.tryTroubles(ctx)
	return nil
}

// wanted returns the plans whose faults are wanted, or a share of them.
func (g *group) wanted(plans []plan) []plan {
	return sample(slices.DeleteFunc(plans, func(plan plan) bool { return !selects(g.opts.faults, plan.class()) }), g.opts.share)
}

// under returns the scenarios that are played beside each other while the view of a resource is disturbed. Those with looks take a minute, and
// see what others do but for the resources of checks.
func (g *group) under(disturbance proxy.Disturbance) (names []string) {
	ofChecks := slices.ContainsFunc([]string{"verification", "changeverdict"}, func(kind string) bool {
		return strings.HasPrefix(disturbance.Resources[0], kind)
	})
	for name, scenario := range g.scenarios {
		if !scenario.apart && !scenario.isAlone() && (ofChecks || !scenario.looks) {
			names = append(names, name)
		}
	}
	return names
}

func (g *group) tryWrites(ctx context.Context, what string, plans []plan, parallel int) {
	g.results = append(g.results, g.all(ctx, spread(g.wanted(plans)), parallel)...)
	g.tellTime(what)
}

func (g *group) tryViews(ctx context.Context) {
	for _, plan := range g.wanted(viewPlans("")) {
		if names := g.under(plan.disturbance); len(names) > 0 {
			g.results = append(g.results, g.disturb(ctx, names, plan.disturbance)...)
		}
	}
	g.tellTime("views")
}

// tryTroubles tries troubles one after the other: each affects the whole control plane.
func (g *group) tryTroubles(ctx context.Context) {
	if !selects(g.opts.faults, classTrouble) {
		return
	}
	ordered := slices.SortedFunc(maps.Values(g.scenarios), func(one, other scenario) int { return strings.Compare(one.name, other.name) })
	g.results = append(g.results, g.all(ctx, troublePlans(ordered, g.opts.share), 1)...)
	g.tellTime("troubles")
}

// tryOnly tries plans one after the other.
func (g *group) tryOnly(ctx context.Context) {
	for i, plan := range g.opts.only {
		switch _, ours := g.scenarios[plan.scenario]; {
		case ours && plan.fault == nil && plan.trouble == nil:
			g.results = append(g.results, g.disturb(ctx, []string{plan.scenario}, plan.disturbance)...)
		case ours:
			g.results = append(g.results, g.all(ctx, g.opts.only[i:i+1], 1)...)
		}
	}
}

func (g *group) tellTime(what string) {
	fmt.Fprintf(g.out, "%s %s, %s: %d plans of this group done\n", time.Now().Format(time.TimeOnly), g.name, what, len(g.results))
}
