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

package settings

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
)

func readerOf(funcs interceptor.Funcs, objects ...client.Object) Reader {
	kube := fake.NewClientBuilder().WithScheme(testkit.Scheme()).WithObjects(objects...).WithInterceptorFuncs(funcs).Build()
	return Reader{Client: kube, Namespace: "altershieldoperator-system"}
}

func TestReaderReadsEachSettingInItsNamespace(t *testing.T) {
	g := NewWithT(t)
	objects := []client.Object{&appv1alpha1.OpsConfigInfo{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "branch"},
		Spec:       appv1alpha1.OpsConfigInfoSpec{Type: "isBranch", Enable: true, Content: "30"},
	}}
	for name, spec := range map[string]appv1alpha1.OpsConfigInfoSpec{
		"blocking":           {Type: "isBlockingUp"},
		"branch":             {Type: "isBranch", Enable: true, Content: "20"},
		"stuck-rollback":     {Type: "isStuckRollback", Enable: true, Content: "90s"},
		"suspended-rollback": {Type: "isSuspendedRollback", Enable: true},
		"park":               {Type: "isPark", Enable: true},
		"unstick":            {Type: "isUnstick", Enable: true},
		"refusal":            {Type: "isRefusal", Enable: true, Content: "2h"},
		"template-history":   {Type: "isTemplateHistory", Enable: true, Content: "3"},
		"release-history":    {Type: "isReleaseHistory", Enable: true, Content: "7"},
		"change-records":     {Type: "isChangeRecords", Enable: true, Content: "250"},
		"record-days":        {Type: "isRecordDays", Enable: true, Content: "30"},
		"finished-label":     {Type: "isFinishedLabel"},
	} {
		objects = append(objects, setting(name, spec.Type, spec.Enable, spec.Content))
	}
	ctx, reader := t.Context(), readerOf(interceptor.Funcs{}, objects...)
	g.Expect(reader.Blocking(ctx)).To(BeFalse())
	g.Expect(reader.BatchSize(ctx)).To(BeEquivalentTo(20))
	g.Expect(reader.StuckThreshold(ctx)).To(Equal(90 * time.Second))
	g.Expect(reader.RollsBackSuspended(ctx)).To(BeTrue())
	g.Expect(reader.ParksSuspended(ctx)).To(BeTrue())
	g.Expect(reader.Unsticks(ctx)).To(BeTrue())
	g.Expect(reader.Quarantine(ctx)).To(Equal(2 * time.Hour))
	g.Expect(reader.Templates(ctx)).To(Equal(3))
	g.Expect(reader.Records(ctx)).To(Equal(7))
	g.Expect(reader.ChangeRecords(ctx)).To(Equal(250))
	g.Expect(reader.RecordDays(ctx)).To(Equal(30))
	g.Expect(reader.LabelsFinished(ctx)).To(BeFalse())
}

func TestReaderFallsBackToTheDefaults(t *testing.T) {
	g, ctx, reader := NewWithT(t), t.Context(), readerOf(interceptor.Funcs{})
	g.Expect(reader.Blocking(ctx)).To(BeTrue())
	g.Expect(reader.BatchSize(ctx)).To(BeEquivalentTo(1))
	g.Expect(reader.StuckThreshold(ctx)).To(Equal(2 * time.Minute))
	g.Expect(reader.RollsBackSuspended(ctx)).To(BeFalse())
	g.Expect(reader.Quarantine(ctx)).To(Equal(24 * time.Hour))
	g.Expect(reader.Templates(ctx)).To(Equal(10))
	g.Expect(reader.Records(ctx)).To(Equal(0))
	g.Expect(reader.ChangeRecords(ctx)).To(Equal(100))
	g.Expect(reader.RecordDays(ctx)).To(Equal(90))
	g.Expect(reader.LabelsFinished(ctx)).To(BeTrue())
}

func TestReaderKeepsChangeRecordsFor400DaysAtMost(t *testing.T) {
	reader := readerOf(interceptor.Funcs{}, setting("record-days", "isRecordDays", false, "30"), setting("change-records", "isChangeRecords", false, "30"))
	NewWithT(t).Expect(reader.RecordDays(t.Context())).To(Equal(400))
	NewWithT(t).Expect(reader.ChangeRecords(t.Context())).To(BeZero())
}

func TestReaderNamesTheObjectThatItCannotRead(t *testing.T) {
	reader := readerOf(interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return errors.New("not synced")
		},
	})
	_, err := reader.BatchSize(t.Context())
	NewWithT(t).Expect(err).To(MatchError("reading OpsConfigInfo altershieldoperator-system/branch: not synced"))
}

func TestReaderChanged(t *testing.T) {
	changed := Reader{Namespace: "altershieldoperator-system"}.Changed("branch", "blocking")
	elsewhere := setting("branch", "isBranch", true, "10")
	elsewhere.Namespace = "default"
	for _, row := range []struct {
		name   string
		object client.Object
		passes bool
	}{
		{"a setting that is asked for", setting("blocking", "isBlockingUp", true, ""), true},
		{"another setting", setting("refusal", "isRefusal", true, "24h"), false},
		{"an object in another namespace", elsewhere, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			NewWithT(t).Expect(changed.Update(event.UpdateEvent{ObjectOld: row.object, ObjectNew: row.object})).To(Equal(row.passes))
		})
	}
}
