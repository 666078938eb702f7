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

package record

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/changerecord"
)

// The author and the changes of the earlier release are overwritten.
func TestReconcileRecordsTheEarlierReleaseOfAVersionFirst(t *testing.T) {
	away := errors.New("the API server is away")
	denied := apierrors.NewForbidden(appv1alpha1.GroupVersion.WithResource("changerecords").GroupResource(), "x", errors.New("exceeded quota"))
	for name, row := range map[string]struct {
		err      error
		admitted time.Duration
		release  int64
		records  int
		fails    bool
	}{
		"written":                        {nil, time.Second, 5, 1, false},
		"awaited for a minute":           {away, 59 * time.Second, 3, 0, true},
		"not awaited for longer":         {away, time.Minute, 5, 0, false},
		"not awaited where it is denied": {denied, time.Second, 5, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			r, kube := newOperator()
			r.Records = &changerecord.Writer{
				Client: interceptor.NewClient(kube, interceptor.Funcs{
					Create: func(ctx context.Context, kube client.WithWatch, object client.Object, options ...client.CreateOption) error {
						if row.err != nil {
							return row.err
						}
						return kube.Create(ctx, object, options...)
					},
				}),
				Live: kube, Settings: r.Settings, Clock: r.Clock,
			}
			fifth := sleepAt("5", nil)
			fifth.Annotations["altershield.defense.antgroup.com/released-by"] = `{"user":"bob","time":"` + r.Clock.Now().Add(-row.admitted).Format(time.RFC3339) +
				`","version":"` + version + `","release":5}`
			g.Expect(kube.Patch(t.Context(), fifth, client.MergeFrom(sleepAt("3", nil)))).To(Succeed())
			_, err := r.Reconcile(t.Context(), ofSleep)
			if row.fails {
				g.Expect(err).To(MatchError(away))
			} else {
				g.Expect(err).NotTo(HaveOccurred())
			}
			var workload appv1alpha1.ChangeWorkload
			g.Expect(kube.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "sleep--x--" + version}, &workload)).To(Succeed())
			g.Expect(workload.Spec.Release).To(Equal(row.release))
			var records appv1alpha1.ChangeRecordList
			g.Expect(kube.List(t.Context(), &records)).To(Succeed())
			g.Expect(records.Items).To(HaveLen(row.records))
			for _, record := range records.Items {
				g.Expect(record.Spec.Release).To(BeEquivalentTo(3))
				g.Expect(record.Spec.Outcome).To(Equal(appv1alpha1.OutcomeSuperseded))
			}
		})
	}
}
