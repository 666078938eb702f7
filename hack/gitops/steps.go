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
	"reflect"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/hack/altershield"
	"github.com/traas-stack/altershield-operator/hack/lab"
	"github.com/traas-stack/altershield-operator/hack/manifests"
)

func commit(note, patch string) step {
	return func(a *app, ctx context.Context) error { return a.commit(ctx, note, patch) }
}

func revert(commits int) step {
	return func(a *app, ctx context.Context) error { return a.revert(ctx, commits) }
}

// applied waits until the tool shows that it has applied the newest version.
func applied(a *app, ctx context.Context) error {
	if err := a.shows(ctx, true, ""); err != nil {
		return err
	}
	return a.configured(ctx, true)
}

// denied waits until the tool shows that the newest version is denied, with this sentence.
func denied(sentence string) step { return fails("denied the request: " + sentence) }

// refused waits for the same, and looks at what else the version has: Flux applies nothing of it, Argo CD and Helm do.
func refused(sentence string) step {
	return func(a *app, ctx context.Context) error {
		if err := denied(sentence)(a, ctx); err != nil {
			return err
		}
		return a.configured(ctx, a.scene.tool != "flux")
	}
}

// fails waits until the tool shows that the newest version failed, with these words.
func fails(words string) step {
	return func(a *app, ctx context.Context) error { return a.shows(ctx, false, a.named(words)) }
}

// again has the newest version applied once more, as by a pipeline that runs again.
func again(a *app, ctx context.Context) error {
	a.tell("user", "the same again")
	_, err := a.tool.again(ctx)
	return err
}

// bad makes the check of the next pod fail, failed an object without pods.
func bad(a *app, _ context.Context) error {
	if a.Kind.Kind == "KubernetesCluster" {
		return nil
	}
	a.lab.Server.AddRule(altershield.Rule{
		Name: "error rate", Message: "5xx above 1%", Deployment: namespace + "/" + a.name,
		Stage: altershield.StagePost, Verdict: altershield.VerdictFail, Remaining: 1,
	})
	return nil
}

// judged fails a pod by hand. A check that fails may hold the rollout before the tool has seen its end.
func judged(a *app, ctx context.Context) error {
	a.tell("user", "fails the first batch")
	return a.Judge(ctx, appv1alpha1.VerdictUnpass)
}

func failed(a *app, ctx context.Context) error { return a.phase(ctx, "Failed") }

// passes makes an object without pods pass its check, which pods do by themselves.
func passes(a *app, ctx context.Context) error { return a.phase(ctx, "Running") }

// phase sets the phase of a KubernetesCluster. It has to be newer than the release, whose time has whole seconds.
func (a *app) phase(ctx context.Context, phase string) error {
	if a.Kind.Kind != "KubernetesCluster" {
		return nil
	}
	cluster, err := a.Present(ctx)
	if err != nil {
		return err
	}
	began := time.Now().Add(time.Second).UTC().Format(time.RFC3339)
	patch := fmt.Sprintf(`{"status":{"phase":%q,"lastTransitionTime":%q}}`, phase, began)
	return a.lab.Kube.Status().Patch(ctx, cluster, client.RawPatch(types.MergePatchType, []byte(patch)))
}

// release waits until the newest release has this number, status and, unless it is empty, reason.
func release(number int64, status appv1alpha1.ChangeWorkloadPhase, reason string) step {
	return func(a *app, ctx context.Context) error {
		return a.Awaits(ctx, fmt.Sprintf("release %d with the status %s %s", number, status, reason), func(ctx context.Context, now lab.Seen) (err error) {
			record := now.Record
			verified := verdict(record, appv1alpha1.ConditionVerified)
			said := fmt.Sprintf("release %d: %s %s: %s", record.Spec.Release, record.Status.Status, verified.Reason, verified.Message)
			if record.Spec.Release != number || record.Status.Status != status || reason != "" && verified.Reason != reason {
				return errors.New(said)
			}
			if of, assesses := a.tool.(assessor); assesses {
				err = of.agrees(ctx, record)
			}
			if err == nil {
				a.tell("operator", "%s", said)
			}
			return err
		})
	}
}

func verdict(record *appv1alpha1.ChangeWorkload, name string) metav1.Condition {
	return ptr.Deref(meta.FindStatusCondition(record.Status.Conditions, name), metav1.Condition{})
}

// awaiting waits until a release in steps waits for an approval.
func awaiting(a *app, ctx context.Context) error {
	return a.Awaits(ctx, "a step that waits for an approval", func(_ context.Context, now lab.Seen) error {
		pace := verdict(now.Record, "Paced")
		if pace.Reason != "AwaitingApproval" {
			return fmt.Errorf("it is %s: %s", pace.Reason, pace.Message)
		}
		a.tell("operator", "Paced %s: %s", pace.Reason, pace.Message)
		return nil
	})
}

func approve(a *app, ctx context.Context) error {
	now, err := a.Now(ctx)
	if err != nil {
		return err
	}
	a.tell("user", "approves")
	return a.lab.Kube.Create(ctx, lab.Approval(now.Record, a.Kind.GroupKind(), appv1alpha1.DecisionApprove))
}

// still waits until nothing changes while the newest version is applied several times, neither the workload nor what the tool shows. Where the
// operator fights with it about a field, that never comes.
func still(a *app, ctx context.Context) error {
	shown, err := a.tool.shows(ctx)
	if err != nil {
		return err
	}
	version, base := "", int64(0)
	return lab.Until(ctx, patience, fmt.Sprintf("%d times the same that change nothing", rounds), func(ctx context.Context) error {
		count, err := a.tool.again(ctx)
		if err != nil {
			return err
		}
		workload, err := a.Present(ctx)
		if err != nil {
			return err
		}
		now, err := a.tool.shows(ctx)
		if err == nil && now.ok != shown.ok {
			err = fmt.Errorf("it shows the success %t now, and was %t: %s", now.ok, shown.ok, now.says)
		}
		if err != nil {
			return err
		}
		if workload.GetResourceVersion() != version || count < base {
			version, base = workload.GetResourceVersion(), count
		}
		if count-base < rounds {
			return fmt.Errorf("resource version %s, generation %d, since it was applied %d times", version, workload.GetGeneration(), count-base)
		}
		a.tell("", "applied %d times more, it changes nothing", count-base)
		return nil
	})
}

// young waits until so many pods are of the newest release, without those behind a gate.
func young(least, most int) step {
	return func(a *app, ctx context.Context) error {
		return a.Awaits(ctx, fmt.Sprintf("%d to %d new pods", least, most), func(ctx context.Context, now lab.Seen) error {
			release := now.Record.Spec
			pods, ofRelease := &corev1.PodList{}, client.MatchingLabels{"app": a.name, appv1alpha1.LabelVersion: release.Reversion}
			if err := a.lab.Kube.List(ctx, pods, client.InNamespace(namespace), ofRelease); err != nil {
				return err
			}
			started := slices.DeleteFunc(pods.Items, func(pod corev1.Pod) bool { return len(pod.Spec.SchedulingGates) > 0 })
			if count := len(started); count < least || count > most {
				return fmt.Errorf("%d pods are of release %d", count, release.Release)
			}
			a.tell("", "%d of 3 pods are of release %d", len(started), release.Release)
			return nil
		})
	}
}

// like checks that the workload has what is wanted, also where the operator had changed it in between.
func like(a *app, ctx context.Context) error {
	wanted := map[string]any{}
	if err := json.Unmarshal(a.newest().workload, &wanted); err != nil {
		return err
	}
	return a.Awaits(ctx, "a workload as wanted", func(_ context.Context, now lab.Seen) error {
		err := unlike(wanted, now.Object)
		if err == nil {
			a.tell("", "all fields are as wanted")
		}
		return err
	})
}

// unlike names a field that isn't as wanted. A field with its default is like a missing one.
func unlike(wanted, got map[string]any) error {
	for _, path := range []string{"spec.paused", "spec.strategy.rollingUpdate.maxUnavailable", "spec.updateStrategy.rollingUpdate.partition"} {
		if want, got := nested(wanted, path), nested(got, path); want != got {
			return fmt.Errorf("%s is %s, and wanted is %s", path, got, want)
		}
	}
	if want, got := environment(wanted), environment(got); !reflect.DeepEqual(want, got) {
		return fmt.Errorf("env is %v, and wanted is %v", got, want)
	}
	return nil
}

// kept checks that the workload still has what only the version before the rollback had.
func kept(a *app, ctx context.Context) error {
	workload, err := a.Present(ctx)
	if err != nil {
		return err
	}
	found := environment(workload.Object)
	if found == nil {
		return errors.New("env is gone")
	}
	a.tell("", "no longer wanted, and still there: env %v", found)
	return nil
}

// nested returns a field as text, "empty" if it is missing or has the value that it has by default.
func nested(object map[string]any, path string) string {
	value, _, _ := unstructured.NestedFieldNoCopy(object, strings.Split(path, ".")...)
	if text := fmt.Sprint(value); value != nil && text != "false" && text != "0" {
		return text
	}
	return "empty"
}

func environment(object map[string]any) any {
	containers, _, _ := unstructured.NestedSlice(object, "spec", "template", "spec", "containers")
	if len(containers) == 0 {
		return nil
	}
	first, _ := containers[0].(map[string]any)
	return first["env"]
}

// beside does something with an object beside the workload.
func beside(template string, act func(*app, context.Context, *unstructured.Unstructured) error) step {
	return func(a *app, ctx context.Context) error {
		objects, err := manifests.Decode(strings.NewReader(a.named(template)))
		if err != nil {
			return err
		}
		return act(a, ctx, objects[0])
	}
}

// create creates such an object, remove deletes it.
func create(template string) step {
	return beside(template, func(a *app, ctx context.Context, object *unstructured.Unstructured) error {
		a.tell("user", "creates a %s", object.GetKind())
		return a.lab.Kube.Create(ctx, object)
	})
}

func remove(template string) step {
	return beside(template, func(a *app, ctx context.Context, object *unstructured.Unstructured) error {
		a.tell("user", "deletes the %s", object.GetKind())
		return a.lab.Kube.Delete(ctx, object)
	})
}

// ready waits until a condition of such an object is True.
func ready(template, condition string) step {
	return beside(template, func(a *app, ctx context.Context, object *unstructured.Unstructured) error {
		return lab.Until(ctx, patience, condition, func(ctx context.Context) error {
			if err := a.lab.Kube.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
				return err
			}
			if found := lab.ConditionOf(object, condition); found["status"] != "True" {
				return fmt.Errorf("it is %v", found)
			}
			return nil
		})
	})
}
