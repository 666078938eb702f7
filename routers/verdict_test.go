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
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
)

// shows makes the cache return altered ChangePods.
func shows(alter func(*appv1alpha1.ChangePod)) interceptor.Funcs {
	return interceptor.Funcs{List: func(ctx context.Context, kube client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
		err := kube.List(ctx, list, options...)
		if changePods, ok := list.(*appv1alpha1.ChangePodList); ok {
			for i := range changePods.Items {
				alter(&changePods.Items[i])
			}
		}
		return err
	}}
}

// beforeWrite calls a function before the first write of a status, which fails with its error.
func beforeWrite(do func(client.Client) error) interceptor.Funcs {
	first := true
	return interceptor.Funcs{SubResourcePatch: func(ctx context.Context, kube client.Client, sub string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
		if first {
			first = false
			if err := do(kube); err != nil {
				return err
			}
		}
		return kube.SubResource(sub).Patch(ctx, object, patch, options...)
	}}
}

// overwrite makes a concurrent change.
func overwrite(ctx context.Context, kube client.Client, object client.Object) error {
	current := object.DeepCopyObject().(client.Object)
	if err := kube.Get(ctx, client.ObjectKeyFromObject(object), current); err != nil {
		return err
	}
	object.SetResourceVersion(current.GetResourceVersion())
	return kube.Status().Update(ctx, object)
}

func conflict() error {
	return apierrors.NewConflict(appsv1.Resource("changepods"), "sleep--x--1", errors.New("it has changed"))
}

func TestDecidedMeasuresTheWaitOfEachPod(t *testing.T) {
	for _, row := range []struct {
		phase, stage, verdict string
		count                 uint64
		seconds               float64
	}{
		{"PreSubmitted", "PRE", "pass", 0, 0},
		{"PreSubmitted", "PRE", "fail", 1, 30},
		{"PostSubmitted", "POST", "pass", 1, 30},
		{"PostSubmitted", "POST", "fail", 1, 30},
	} {
		t.Run(row.stage+" "+row.verdict, func(t *testing.T) {
			g := NewWithT(t)
			waiting := changePod(row.phase, "")
			waiting.Spec.PodInfos[0].FinishTimeUnix = now.Unix() - 30 // the other pod's label is unreadable
			b := newBench(t, interceptor.Funcs{}, waiting)
			for range 2 {
				b.callBack(t, bodyOf(row.stage, row.verdict))
			}
			count, seconds := b.waited(t)
			g.Expect(count).To(Equal(row.count))
			g.Expect(seconds).To(Equal(row.seconds))
		})
	}
}

func TestApplyTakesAVerdictWhereTheCacheLagsBehindThePhase(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, shows(func(changePod *appv1alpha1.ChangePod) { changePod.Status.Status = "PreWait" }), changePod("PreSubmitted", ""))
	g.Expect(b.callBack(t, bodyOf("PRE", "pass")).Body.String()).To(beSuccess("the verdict is saved"))
	g.Expect(b.changePod(t).Status.Status).To(BeEquivalentTo("PostWait"))
	g.Expect(b.counted(t)).To(ContainElement("altershield_callbacks_total{applied} 1"))
}

func TestApplyTakesNoVerdictTwiceWhereTheCacheLagsBehind(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, shows(func(changePod *appv1alpha1.ChangePod) {
		changePod.Status.Status, changePod.ResourceVersion = "PostSubmitted", "1"
	}), changePod("ExecuteDone", "PostFinish"))
	g.Expect(b.callBack(t, bodyOf("POST", "fail")).Body.String()).To(beSuccess("the verdict changes nothing: it is already known, or came too late"))
	g.Expect(b.changePod(t).Status.PodResults).To(BeEmpty())
}

func TestApplyDecidesAnewAfterAConflict(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, beforeWrite(func(kube client.Client) error {
		failedByHand := changePod("PostSubmitted", "")
		failedByHand.Status.PodResults = []appv1alpha1.PodSummary{{Pod: "sleep-a", Verdict: "unpass", Message: "slow"}}
		return overwrite(t.Context(), kube, failedByHand)
	}), changePod("PostSubmitted", ""))
	g.Expect(b.callBack(t, bodyOf("POST", "pass")).Body.String()).To(beSuccess("the verdict is saved"))
	g.Expect(b.changePod(t).Status.PodResults).To(HaveExactElements(
		appv1alpha1.PodSummary{Pod: "sleep-a", Verdict: "unpass", Message: "slow"}, appv1alpha1.PodSummary{Pod: "sleep-b", Verdict: "pass"}))
	g.Expect(b.counted(t)).To(ConsistOf("altershield_callbacks_total{applied} 1", "altershield_verdicts_total{POST,pass} 1"))
}

func TestApplyFindsAVerdictStaleAfterAConflict(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, beforeWrite(func(kube client.Client) error {
		return overwrite(t.Context(), kube, changePod("ExecuteDone", "PostFinish"))
	}), changePod("PostSubmitted", ""))
	g.Expect(b.callBack(t, bodyOf("POST", "pass")).Body.String()).To(beSuccess("the verdict changes nothing: it is already known, or came too late"))
}

func TestApplyChangesNothingWhereTheBatchIsDeletedMeanwhile(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, beforeWrite(func(kube client.Client) error {
		return kube.Delete(t.Context(), changePod("", ""))
	}), changePod("PostSubmitted", ""))
	answer := b.callBack(t, bodyOf("POST", "pass"))
	g.Expect(answer.Code).To(Equal(200))
	g.Expect(answer.Body.String()).To(beSuccess("the verdict changes nothing: it is already known, or came too late"))
}

func TestApplyAcknowledgesNoVerdictThatItCanNotSave(t *testing.T) {
	down := errors.New("the API server is down")
	for name, funcs := range map[string]interceptor.Funcs{
		"as others write all the time": {SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
			return conflict()
		}},
		"as a webhook denies it with the code of what is gone": {
			SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
				return testkit.Denied(404)
			},
		},
		"as the cache can't be read": {List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return down }},
		"as the API server can't be read": {
			SubResourcePatch: beforeWrite(func(client.Client) error { return conflict() }).SubResourcePatch,
			Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
				return down
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := NewWithT(t)
				b := newBench(t, funcs, changePod("PostSubmitted", ""))
				start := time.Now()
				answer := b.callBack(t, bodyOf("POST", "fail"))
				g.Expect(time.Since(start)).To(BeNumerically("<=", 5*time.Second), "the server waits for six")
				g.Expect(answer.Code).To(Equal(500))
				g.Expect(answer.Body.String()).To(beFailure("the verdict could not be saved"))
				g.Expect(string(b.log.Contents())).To(ContainSubstring(`"level":"error"`))
				time.Sleep(3 * time.Minute) // of the bubble's clock: until it gives up
				g.Expect(b.counted(t)).To(ConsistOf("altershield_callbacks_total{failed} 1"))
				g.Expect(b.changePod(t).Status.Status).To(BeEquivalentTo("PostSubmitted"))
			})
		})
	}
}

func TestPersistOutlastsARestartOfTheAPIServer(t *testing.T) {
	for _, row := range []struct {
		name    string
		outage  time.Duration
		code    int
		counted []string
	}{
		{"one failed write", time.Millisecond, 200,
			[]string{"altershield_callbacks_total{applied} 1", "altershield_verdicts_total{POST,fail} 1"}},
		{"three seconds", 3 * time.Second, 200,
			[]string{"altershield_callbacks_total{applied} 1", "altershield_verdicts_total{POST,fail} 1"}},
		{"a minute, after the caller stopped waiting", time.Minute, 500,
			[]string{"altershield_callbacks_total{applied} 1", "altershield_callbacks_total{failed} 1", "altershield_verdicts_total{POST,fail} 1"}},
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
				g.Expect(b.callBack(t, bodyOf("POST", "fail")).Code).To(Equal(row.code))
				time.Sleep(3 * time.Minute)
				g.Expect(b.changePod(t).Status.Status).To(BeEquivalentTo("ExecuteDone"))
				g.Expect(b.counted(t)).To(ConsistOf(row.counted))
			})
		})
	}
}

func TestTakeSavesAVerdictThoughTheServerDoesNotWait(t *testing.T) {
	g := NewWithT(t)
	gone, leave := context.WithCancel(t.Context())
	leave()
	var writing context.Context
	b := newBench(t, interceptor.Funcs{SubResourcePatch: func(ctx context.Context, kube client.Client, sub string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
		if writing = ctx; ctx.Err() != nil {
			return ctx.Err()
		}
		return kube.SubResource(sub).Patch(ctx, object, patch, options...)
	}}, changePod("PostSubmitted", ""))
	b.serveHTTP(signed(t, bodyOf("POST", "fail")).WithContext(gone))
	g.Expect(b.changePod(t).Status.Status).To(BeEquivalentTo("ExecuteDone"))
	_, limited := writing.Deadline()
	g.Expect(limited).To(BeTrue(), "but not for ever")
}
