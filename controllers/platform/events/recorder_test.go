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

package events_test

import (
	"bytes"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientevents "k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/platform/events"
)

func TestRecordLogsNoChangesOfAPodTemplate(t *testing.T) {
	g := NewWithT(t)
	log := &bytes.Buffer{}
	recorder := events.Recorder{Events: clientevents.NewFakeRecorder(1), Log: zap.New(zap.WriteTo(log))}
	recorder.Record(events.Event{
		Regarding: &appsv1.Deployment{}, Type: "Normal", Reason: "ReleaseRecorded", Action: "Record",
		Note: "release 2, by alice: spec.containers[sleep].image: a -> b",
	})
	g.Expect(log.String()).To(And(ContainSubstring("Release recorded"), Not(ContainSubstring("image"))))
}

func TestRecordShortensTheNote(t *testing.T) {
	g := NewWithT(t)
	log, recorded := &bytes.Buffer{}, clientevents.NewFakeRecorder(1)
	recorder := events.Recorder{Events: recorded, Log: zap.New(zap.WriteTo(log))}
	recorder.Record(events.Event{Regarding: &corev1.Pod{}, Type: "Normal", Reason: "Why", Note: strings.Repeat("发", 400) + "%d"})
	note := strings.Repeat("发", 340) + "..."
	g.Expect(recorded.Events).To(Receive(Equal("Normal Why " + note)))
	g.Expect(log.String()).To(ContainSubstring(`"msg":"` + note + `"`))
}

func TestRecordWritesAnEventAndALogLine(t *testing.T) {
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "sleep",
		Labels:      map[string]string{"admission-webhook-altershield.antgroup.com/version": "0123"},
		Annotations: map[string]string{"altershield.defense.antgroup.com/release": "4"},
	}}
	workload := &appv1alpha1.ChangeWorkload{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "sleep--x--4567"},
		Spec:       appv1alpha1.ChangeWorkloadSpec{AppName: "sleep", Reversion: "4567", Release: 3},
	}
	setting := &appv1alpha1.OpsConfigInfo{ObjectMeta: metav1.ObjectMeta{Namespace: "altershieldoperator-system", Name: "blocking"}}
	for _, row := range []struct {
		name               string
		regarding, related runtime.Object
		keys               string
	}{
		{"about the release that a Deployment is at", deployment, nil,
			`"namespace":"default","deployment":"sleep","version":"0123","release":4,"reason":"Why"`},
		{"about the release of a ChangeWorkload", deployment, workload,
			`"namespace":"default","deployment":"sleep","version":"4567","release":3,"reason":"Why"`},
		{"about a ChangeWorkload itself", workload, nil,
			`"namespace":"default","deployment":"sleep","version":"4567","release":3,"reason":"Why"`},
		{"about a setting", setting, nil, `"namespace":"altershieldoperator-system","setting":"blocking","reason":"Why"`},
		{"about anything else", &corev1.Pod{}, nil, `"reason":"Why"`},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			log, recorded := &bytes.Buffer{}, clientevents.NewFakeRecorder(1)
			recorder := events.Recorder{Events: recorded, Log: zap.New(zap.WriteTo(log))}
			recorder.Record(events.Event{
				Regarding: row.regarding, Related: row.related, Type: "Normal", Reason: "Why", Action: "Verify", Note: "3 of 5 pods passed",
			})
			g.Expect(recorded.Events).To(Receive(Equal("Normal Why 3 of 5 pods passed")))
			g.Expect(log.String()).To(MatchRegexp(`^{"level":"info","ts":"[^"]+","msg":"3 of 5 pods passed",` + row.keys + "}\n$"))
		})
	}
}
