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
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
)

func TestParkBesideOtherVerdicts(t *testing.T) {
	full := make([]appv1alpha1.EarlyVerdict, 100)
	var allButTheOldest []string
	for i := range full {
		full[i] = early(fmt.Sprintf("check-%d", 1000+i), "POST", time.Minute)
		if i > 0 {
			allButTheOldest = append(allButTheOldest, fmt.Sprintf("check-%d POST pass", 1000+i))
		}
	}
	const arrived = "check-1 POST unpass error rate: find error"
	for _, row := range []struct {
		name   string
		kept   []appv1alpha1.EarlyVerdict
		parked []string
	}{
		{"nothing", nil, []string{arrived}},
		{"those of other checks", []appv1alpha1.EarlyVerdict{early("check-2", "POST", time.Minute)}, []string{"check-2 POST pass", arrived}},
		{"that of the other stage", []appv1alpha1.EarlyVerdict{early("check-1", "PRE", time.Minute)}, []string{"check-1 PRE pass", arrived}},
		{"none of the same check and stage", []appv1alpha1.EarlyVerdict{early("check-1", "POST", time.Minute)}, []string{"check-1 POST pass"}},
		{"none that is older than ten minutes", []appv1alpha1.EarlyVerdict{early("check-1", "POST", 10*time.Minute+1000), early("check-2", "POST", 10*time.Minute)},
			[]string{"check-2 POST pass", arrived}},
		{"ninety-nine others at most", full, append(allButTheOldest, arrived)},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := NewWithT(t)
				b := newBench(t, interceptor.Funcs{}, changeWorkload(row.kept...))
				g.Expect(b.callBack(t, bodyOf("POST", "fail")).Body.String()).To(beSuccess("the verdict is kept until its ChangePod is known"))
				g.Expect(b.parked(t)).To(HaveExactElements(row.parked))
			})
		})
	}
}

func TestParkNotesTheTimeOfArrival(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		b := newBench(t, interceptor.Funcs{}, changeWorkload())
		b.callBack(t, bodyOf("PRE", "pass"))
		g.Expect(b.parked(t)).To(HaveExactElements("check-1 PRE pass"))
		workload := changeWorkload()
		g.Expect(b.kube.Get(t.Context(), client.ObjectKeyFromObject(workload), workload)).To(Succeed())
		g.Expect(workload.Status.EarlyVerdicts[0].Time.Time).To(BeTemporally("==", now))
	})
}

func TestParkKeepsWhatOthersWriteMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		b := newBench(t, beforeWrite(func(kube client.Client) error {
			return overwrite(t.Context(), kube, changeWorkload(early("check-2", "POST", 0)))
		}), changeWorkload())
		b.callBack(t, bodyOf("POST", "fail"))
		g.Expect(b.parked(t)).To(HaveExactElements("check-2 POST pass", "check-1 POST unpass error rate: find error"))
	})
}

func TestParkAppliesAVerdictWhoseChangePodAppearsMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		b := newBench(t, beforeWrite(func(kube client.Client) error { return kube.Create(t.Context(), changePod("PostSubmitted", "")) }), changeWorkload())
		g.Expect(b.callBack(t, bodyOf("POST", "fail")).Body.String()).To(beSuccess("the verdict is saved"))
		g.Expect(b.changePod(t).Status.Status).To(BeEquivalentTo("ExecuteDone"))
		g.Expect(b.counted(t)).To(ConsistOf("altershield_callbacks_total{applied} 1", "altershield_verdicts_total{POST,fail} 1"))
	})
}

func TestParkKeepsAVerdictWhoseChangePodCanNotBeWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		b := newBench(t, interceptor.Funcs{SubResourcePatch: func(ctx context.Context, kube client.Client, sub string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
			if _, isChangePod := object.(*appv1alpha1.ChangePod); isChangePod {
				return errors.New("the API server is down")
			}
			return errors.Join(kube.Create(ctx, changePod("PostSubmitted", "")), kube.SubResource(sub).Patch(ctx, object, patch, options...))
		}}, changeWorkload())
		g.Expect(b.callBack(t, bodyOf("POST", "fail")).Body.String()).To(beSuccess("the verdict is kept until its ChangePod is known"))
		g.Expect(b.parked(t)).To(HaveLen(1))
	})
}

func TestParkAcknowledgesNoVerdictThatItCanNotSave(t *testing.T) {
	for name, funcs := range map[string]interceptor.Funcs{
		"as others write all the time": {SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
			return conflict()
		}},
		"as a webhook denies it with the code of what is gone": {
			SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
				return testkit.Denied(404)
			},
		},
		"as the API server can't be read": {Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return errors.New("the API server is down")
		}},
		"as the cache can't be read": {List: func(ctx context.Context, kube client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if _, isWorkloads := list.(*appv1alpha1.ChangeWorkloadList); isWorkloads {
				return errors.New("not synced")
			}
			return kube.List(ctx, list, options...)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := NewWithT(t)
				b := newBench(t, funcs, changeWorkload())
				start := time.Now()
				answer := b.callBack(t, bodyOf("POST", "fail"))
				g.Expect(time.Since(start)).To(BeNumerically("<=", 5*time.Second), "the server waits for six")
				g.Expect(answer.Code).To(Equal(500))
				g.Expect(answer.Body.String()).To(beFailure("the verdict could not be saved"))
				g.Expect(b.counted(t)).To(ConsistOf("altershield_callbacks_total{failed} 1"))
				g.Expect(b.parked(t)).To(BeEmpty())
				time.Sleep(3 * time.Minute) // of the bubble's clock: until it gives up
				g.Expect(b.counted(t)).To(ConsistOf("altershield_callbacks_total{failed} 1"))
			})
		})
	}
}

func TestTakeGivesTheAPIServerUpAfterFiveSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		b := newBench(t, interceptor.Funcs{SubResourcePatch: func(ctx context.Context, _ client.Client, _ string, _ client.Object, _ client.Patch, _ ...client.SubResourcePatchOption) error {
			<-ctx.Done()
			return ctx.Err()
		}}, changeWorkload())
		start := time.Now()
		g.Expect(b.callBack(t, bodyOf("POST", "fail")).Code).To(Equal(500))
		g.Expect(time.Since(start)).To(Equal(5 * time.Second))
		time.Sleep(3 * time.Minute) // of the bubble's clock: until it gives up
	})
}

func TestParkReportsAReleaseThatIsGoneMeanwhileAsUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		b := newBench(t, beforeWrite(func(kube client.Client) error { return kube.Delete(t.Context(), changeWorkload()) }), changeWorkload())
		answer := b.callBack(t, bodyOf("POST", "fail"))
		g.Expect(answer.Code).To(Equal(200))
		time.Sleep(2 * time.Minute) // of the bubble's clock: the cache may be behind
		g.Expect(answer.Body.String()).To(beFailure("no ChangePod has the check check-1"))
	})
}

func TestParkTakesNoVerdictOfAnotherOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		b := newBench(t, interceptor.Funcs{}, changeWorkload())
		answer := b.callBack(t, strings.Replace(bodyOf("POST", "fail"), "/sleep/", "/awake/", 1))
		time.Sleep(2 * time.Minute) // of the bubble's clock: the cache may be behind
		g.Expect(answer.Body.String()).To(beFailure("no ChangePod has the check check-1"))
		g.Expect(b.parked(t)).To(BeEmpty())
	})
}
