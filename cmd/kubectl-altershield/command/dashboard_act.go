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

package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/dashboard"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

// errOther means that a workload isn't at the release that the page showed, or another object not as it was shown.
var errOther = errors.New("not what was shown") //nolint:gochecknoglobals // compared by identity

// prepare returns what a user of the page asks for, ready to be done.
type prepare func(ctx context.Context, ask dashboard.Ask) (*action, error)

// acts returns the verbs that write, each as its command does it.
func (s *site) acts() map[string]dashboard.Act {
	return map[string]dashboard.Act{
		"rollback": s.act(s.about(func(ctx context.Context, facts view.Facts, ask dashboard.Ask) (*action, error) {
			return s.cluster.rollsBack(ctx, facts, ask.To, ask.Reason, s.tool.Clock.Now())
		})),
		"go-on": s.act(s.about(func(_ context.Context, facts view.Facts, ask dashboard.Ask) (*action, error) {
			return s.cluster.goesOn(facts, ask.Step, ask.Reason)
		})),
		"approve": s.act(s.about(func(_ context.Context, facts view.Facts, ask dashboard.Ask) (*action, error) {
			return decides(facts, appv1alpha1.DecisionApprove, ask.Reason)
		})),
		"deny": s.act(s.about(func(_ context.Context, facts view.Facts, ask dashboard.Ask) (*action, error) {
			return decides(facts, appv1alpha1.DecisionDeny, ask.Reason)
		})),
		"hold": s.act(s.about(func(ctx context.Context, facts view.Facts, ask dashboard.Ask) (*action, error) {
			return s.cluster.holds(ctx, facts, ask.Reason)
		})),
		"resume": s.act(s.about(func(ctx context.Context, facts view.Facts, ask dashboard.Ask) (*action, error) {
			return s.cluster.resumes(ctx, facts, false, ask.Reason)
		})),
		"verdict":       s.act(asShown(reasoned(s.verdict))),
		"freeze-lock":   s.act(reasoned(s.freezeLock)),
		"freeze-unlock": s.act(asShown(s.freezeUnlock)),
		"break-glass":   s.act(reasoned(s.breakGlass)),
	}
}

// act has the API server check what is asked for by a dry run, and then do it, unless only the dry run is asked for.
func (s *site) act(ready prepare) dashboard.Act {
	return func(ctx context.Context, ask dashboard.Ask) (any, error) {
		action, err := ready(ctx, ask)
		if err != nil {
			return nil, err
		}
		request := &action.request
		said := slices.Clone(request.Warnings)
		if err := s.cluster.perform(ctx, action, true); err != nil {
			return nil, err
		}
		if request.DryRun = *ask.DryRun; request.DryRun {
			return request, nil
		}
		request.Warnings = said
		return request, s.cluster.perform(ctx, action, false)
	}
}

// about prepares what is asked for about a workload.
func (s *site) about(ready func(context.Context, view.Facts, dashboard.Ask) (*action, error)) prepare {
	return func(ctx context.Context, ask dashboard.Ask) (*action, error) {
		if ask.Name == "" {
			return nil, usageError(errors.New("a workload must be named"))
		}
		facts, err := s.cluster.find(ctx, argumentOf(ask))
		if err != nil {
			return nil, err
		}
		if facts.Workload != nil {
			present := decide.ReleaseOf(facts.Workload)
			if err := isAt(facts, view.Side{Release: present.Number, Version: present.Version}, ask.From); err != nil {
				return nil, err
			}
		}
		prepared, err := ready(ctx, facts, ask)
		if err != nil {
			return nil, err
		}
		// Without the workload, an approval is of the release of its record.
		return prepared, isAt(facts, prepared.request.From, ask.From)
	}
}

// isAt returns an error if a workload isn't at the release that the user was shown.
func isAt(facts view.Facts, present view.Side, shown *view.Side) error {
	if shown == nil || *shown == present {
		return nil
	}
	return fmt.Errorf("%s is at release %d by now, so nothing was changed: look at it again (%w)", view.Argument(facts.Reference), present.Release, errOther)
}

// asShown returns an error if a batch or a lock isn't as the user was shown it.
func asShown(ready prepare) prepare {
	return func(ctx context.Context, ask dashboard.Ask) (*action, error) {
		prepared, err := ready(ctx, ask)
		if err != nil || ask.At == "" || ask.At == prepared.request.At {
			return prepared, err
		}
		return nil, fmt.Errorf("%s has changed since it was shown, so nothing was changed: look at it again (%w)", prepared.request.Object, errOther)
	}
}

func argumentOf(ask dashboard.Ask) string { return pageArgument(ask.Namespace, ask.Kind, ask.Name) }

// reasoned asks for a reason.
func reasoned(ready prepare) prepare {
	return func(ctx context.Context, ask dashboard.Ask) (*action, error) {
		if strings.TrimSpace(ask.Reason) == "" {
			return nil, usageError(errors.New("a reason is needed: it is kept"))
		}
		return ready(ctx, ask)
	}
}

func (s *site) verdict(ctx context.Context, ask dashboard.Ask) (*action, error) {
	verdict, err := verdictOf(ask.Verdict)
	if err != nil {
		return nil, err
	}
	return s.cluster.in(ask.Namespace).judges(ctx, ask.ChangePod, verdict, ask.Pod, ask.Reason)
}

func (s *site) freezeLock(ctx context.Context, ask dashboard.Ask) (*action, error) {
	if ask.Lock == "" {
		return nil, usageError(errors.New("the lock must be named"))
	}
	expires, err := durationOf(ask.For)
	if err != nil {
		return nil, err
	}
	_, workloads, err := s.named(ctx, ask)
	if err != nil {
		return nil, err
	}
	return locks(view.Lock{
		Namespace: ask.Namespace, Name: ask.Lock, Workloads: workloads, Expires: expires, Reason: ask.Reason,
		Action:  cmp.Or(appv1alpha1.FreezeAction(ask.Action), appv1alpha1.FreezePark),
		Running: cmp.Or(appv1alpha1.FreezeRunning(ask.Running), appv1alpha1.FreezeFinish),
	})
}

func (s *site) freezeUnlock(ctx context.Context, ask dashboard.Ask) (*action, error) {
	if ask.Lock == "" {
		return nil, usageError(errors.New("the lock must be named"))
	}
	return s.cluster.in(ask.Namespace).unlocks(ctx, ask.Lock)
}

func (s *site) breakGlass(ctx context.Context, ask dashboard.Ask) (*action, error) {
	lasts, err := durationOf(ask.For)
	if err != nil {
		return nil, err
	}
	if ask.Name == "" {
		return nil, usageError(errors.New("a workload must be named"))
	}
	namespace, workloads, err := s.named(ctx, ask)
	if err != nil {
		return nil, err
	}
	return breaksGlass(view.Glass{
		Namespace: namespace, Workloads: workloads, Overrides: strings.Split(ask.Override, ","), For: lasts, Uses: max(ask.Uses, 1), Reason: ask.Reason,
	})
}

// named returns the workload that is asked about, or none.
func (s *site) named(ctx context.Context, ask dashboard.Ask) (string, []appv1alpha1.WorkloadReference, error) {
	if ask.Name == "" {
		return ask.Namespace, nil, nil
	}
	return s.cluster.in(ask.Namespace).named(ctx, []string{argumentOf(ask)})
}

// durationOf returns how long something lasts, an hour by default as with the flag of the verbs.
func durationOf(text string) (time.Duration, error) {
	lasts, err := time.ParseDuration(cmp.Or(text, "1h"))
	if err != nil {
		return 0, usageError(fmt.Errorf("%q is no time such as 2h or 30m", text))
	}
	return lasts, nil
}
