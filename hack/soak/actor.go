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
	"net/http"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/hack/altershield"
	"github.com/traas-stack/altershield-operator/hack/lab"
	"github.com/traas-stack/altershield-operator/hack/lab/webapp"
	"github.com/traas-stack/altershield-operator/hack/local/operator"
	"github.com/traas-stack/altershield-operator/hack/soak/plan"
)

// Keys of pod templates for the fake nodes.
const (
	readyAfterAnnotation = "local.altershield.io/ready-after"
	noteAnnotation       = "note"
	crashLabel           = "local.altershield.io/crash"
)

// actionTimeout bounds an action, and bootTimeout one that starts something.
const (
	actionTimeout = 30 * time.Second
	bootTimeout   = 5 * time.Minute
)

var errNothing = errors.New("there is no object for the action")

// actor runs the actions of a plan, and logs a line for each.
type actor struct {
	lab      *lab.Lab
	managers *managers
	// intruder is the client of a user who may release but not override, approver of one who isn't the author of releases.
	intruder, approver client.Client
	kinds              map[plan.Of]workload.Kind
	plugin             *plugin
	log                io.Writer
	seed               uint64
	watch              *watch
	// done counts actions by kind and outcome.
	done map[plan.Kind]map[string]int
}

// play runs the actions of a plan until the context ends. It returns an error only if the soak can't continue.
func (a *actor) play(ctx context.Context, actions []plan.Action) error {
	for _, action := range actions {
		if err := lab.Pause(ctx, action.Pause); err != nil {
			return nil //nolint:nilerr // the time is over
		}
		limit := actionTimeout
		if action.Kind == plan.Restart || action.Kind == plan.Outage {
			limit = bootTimeout
		}
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
		err := a.act(bounded, action)
		cancel()
		came := outcome(err)
		fmt.Fprintf(a.log, "%s seed=%d %s -> %s\n", time.Now().UTC().Format("2006-01-02T15:04:05.000Z"), a.seed, action, came)
		kind, _, _ := strings.Cut(came, ":")
		if a.done[action.Kind] == nil {
			a.done[action.Kind] = map[string]int{}
		}
		a.done[action.Kind][kind]++
		if err != nil && limit == bootTimeout && !errors.Is(err, errNothing) {
			return fmt.Errorf("%s: %w", action, err)
		}
	}
	return nil
}

// outcome describes the result of an action: a word, followed by details after a colon.
func outcome(err error) string {
	switch message := fmt.Sprint(err); {
	case err == nil:
		return "done"
	case errors.Is(err, errNothing), apierrors.IsNotFound(err):
		return "no object"
	case strings.Contains(message, "is suspended"), strings.Contains(message, "is frozen"), strings.Contains(message, "refuses this version"), strings.Contains(message, "only the operator writes"),
		strings.Contains(message, "refuses version"), strings.Contains(message, "names who set"):
		return "denied"
	case strings.Contains(message, "failed calling webhook"):
		return "no webhook"
	case apierrors.IsAlreadyExists(err), apierrors.IsConflict(err):
		return "conflict"
	default:
		return "failed: " + message
	}
}

func (a *actor) act(ctx context.Context, action plan.Action) error {
	switch action.Kind {
	case plan.Restart, plan.Outage:
		return a.disturb(ctx, action)
	case plan.Rule, plan.Fault, plan.Clear, plan.Answer:
		a.misbehave(action)
		return nil
	case plan.DeletePod, plan.Evict, plan.Crash, plan.DeleteBatch, plan.DeleteRecord, plan.Fail, plan.Withdraw:
		return a.meddle(ctx, action)
	case plan.Freeze, plan.Thaw, plan.BreakGlass, plan.Pace, plan.Check, plan.Decide, plan.GoOn:
		return a.govern(ctx, action)
	case plan.Create:
		return a.create(ctx, action)
	case plan.Intrude:
		return a.intrude(ctx, action)
	case plan.Delete:
		return a.lab.Kube.Delete(ctx, a.named(action), client.PropagationPolicy(action.Text))
	case plan.Setting:
		content := ""
		if action.Count != 0 {
			content = fmt.Sprintf(`,"content":"%d"`, action.Count)
		}
		setting := &appv1alpha1.OpsConfigInfo{ObjectMeta: metav1.ObjectMeta{Namespace: operator.Namespace, Name: action.Name}}
		return patch(ctx, a.lab.Kube, setting, fmt.Sprintf(`{"spec":{"enable":%t%s}}`, action.Text == "on", content))
	}
	change := changeOf(action)
	if change == "" {
		return fmt.Errorf("unknown action %s", action.Kind)
	}
	return patch(ctx, a.lab.Kube, a.named(action), change)
}

// changeOf returns the merge patch of an action on a workload, "" if it has none.
func changeOf(action plan.Action) string {
	switch action.Kind {
	case plan.Release:
		return fmt.Sprintf(`{"spec":{"template":%s}}`, template(action.Template))
	case plan.Repair:
		return fmt.Sprintf(`{"metadata":{"labels":{%q:%q}},"spec":{"template":%s}}`,
			appv1alpha1.LabelIgnoredSuspend, appv1alpha1.IgnoredSuspendTrue, template(action.Template))
	case plan.Rollback:
		return fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, appv1alpha1.AnnotationRollback, action.Text)
	case plan.Scale:
		return fmt.Sprintf(`{"spec":{"replicas":%d}}`, action.Count)
	case plan.Pause, plan.Resume:
		return fmt.Sprintf(`{"spec":{"paused":%t}}`, action.Kind == plan.Pause)
	case plan.Edit:
		return fmt.Sprintf(`{"metadata":{"labels":{"edited":%[1]q},"annotations":{"edited":%[1]q}}}`, action.Text)
	}
	return ""
}

// template returns a merge patch of a pod template.
func template(wanted plan.Template) string {
	orNull := func(text string) string {
		if text == "" {
			return "null"
		}
		return strconv.Quote(text)
	}
	return fmt.Sprintf(`{"metadata":{"annotations":{%q:%q,%q:%s},"labels":{%q:%s}}}`,
		noteAnnotation, wanted.Note, readyAfterAnnotation, orNull(wanted.ReadyAfter), lab.StartLabel, orNull(wanted.Start))
}

// named returns the workload of an action, with its name alone.
func (a *actor) named(action plan.Action) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(a.kinds[action.Of].GroupVersionKind())
	object.SetNamespace(action.Namespace)
	object.SetName(action.Name)
	return object
}

func patch(ctx context.Context, writer client.Client, object client.Object, change string) error {
	return writer.Patch(ctx, object, client.RawPatch(types.MergePatchType, []byte(change)))
}

// create creates a workload.
func (a *actor) create(ctx context.Context, action plan.Action) error {
	replicas := int32(action.Count)
	var made client.Object = lab.Deployment(action.Namespace, action.Name, replicas)
	switch action.Of {
	case plan.StatefulSet:
		made = lab.StatefulSet(action.Namespace, action.Name, replicas)
	case plan.DaemonSet:
		made = lab.DaemonSet(action.Namespace, action.Name)
	case plan.WebApp:
		made = webapp.New(action.Namespace, action.Name, replicas)
	}
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(made)
	if err != nil {
		return err
	}
	created := a.named(action)
	created.Object = object
	created.SetGroupVersionKind(a.kinds[action.Of].GroupVersionKind())
	notes := map[string]any{noteAnnotation: action.Template.Note}
	if action.Template.ReadyAfter != "" {
		notes[readyAfterAnnotation] = action.Template.ReadyAfter
	}
	if err := unstructured.SetNestedMap(created.Object, notes, "spec", "template", "metadata", "annotations"); err != nil {
		return err
	}
	return a.lab.Kube.Create(ctx, created)
}

// misbehave adds a rule or a fault to the server, or an answer to the plug-in.
func (a *actor) misbehave(action plan.Action) {
	switch action.Kind {
	case plan.Answer:
		a.plugin.will(action)
	case plan.Clear:
		a.lab.Server.ClearFaults()
	case plan.Rule:
		stage, verdict, _ := strings.Cut(action.Text, " ")
		a.lab.Server.AddRule(altershield.Rule{
			Name: "soak", Message: fmt.Sprintf("finding %d", action.Number), Stage: altershield.Stage(stage),
			Deployment: action.Namespace + "/" + action.Name, Verdict: altershield.Verdict(verdict), Remaining: 1,
		})
	case plan.Fault:
		fault := altershield.Fault{Kind: altershield.FaultKind(action.Text), Remaining: action.Count}
		switch fault.Kind {
		case altershield.FaultHang, altershield.FaultCallbackLate:
			fault.Delay = 2 * time.Second
		case altershield.FaultStatus:
			fault.HTTPStatus = http.StatusInternalServerError
		case altershield.FaultCallbackLost, altershield.FaultCallbackWrongSign:
			fault.Remaining = action.Count%2 + 1
		}
		a.lab.Server.SetFault(fault)
	}
}

// disturb restarts a component of the cluster, or one of the managers.
func (a *actor) disturb(ctx context.Context, action plan.Action) error {
	if action.Kind == plan.Restart {
		return a.managers.restart(ctx, action.Name == plan.Leader, action.Text == "SIGKILL")
	}
	gone := a.watch.outage()
	if err := a.lab.StopAPIServer(ctx); err != nil {
		return err
	}
	gone()
	return errors.Join(lab.Pause(ctx, action.Delay), a.lab.StartAPIServer(ctx))
}
