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

package changeworkload

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/plugin"
	metricsource "github.com/traas-stack/altershield-operator/controllers/source"
)

func TestReconcileTellsAPluginOfTheWorkload(t *testing.T) {
	g := NewWithT(t)
	var asked struct {
		Workload struct {
			Kind, Name, UID string
			Labels          map[string]string
		}
		NewPods []struct{ Name, IP string }
	}
	server := httptest.NewServer(http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		if request.Method == http.MethodPost {
			_ = json.NewDecoder(request.Body).Decode(&asked)
		}
		_, _ = writer.Write([]byte(`{"verdict":"Pass"}`))
	}))
	t.Cleanup(server.Close)
	check := appv1alpha1.VerificationCheck{Name: "drift", Type: "HTTP", HTTP: &appv1alpha1.HTTPCheck{SourceRef: appv1alpha1.SourceReference{Name: "drift"}}}
	pod := finishedPod(1)
	pod.Status.PodIP = "10.0.0.7"
	p := newPlane(t, append(append(sleepOf(1), watched(recordAt(2, version, "Success", "AllPodsPassed"), judged(), check)...), pod, passedBatch(1)), nil)
	metrics, err := metricsource.NewMetrics(prometheus.NewRegistry())
	g.Expect(err).NotTo(HaveOccurred())
	sources := &metricsource.Sources{
		Client: p.api, Secrets: p.api, Namespace: "altershieldoperator-system", Clock: p.Clock, Metrics: metrics,
		Guard: metricsource.Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}},
	}
	object := &appv1alpha1.VerificationSource{ObjectMeta: metav1.ObjectMeta{Namespace: "altershieldoperator-system", Name: "drift"}}
	object.Spec = appv1alpha1.VerificationSourceSpec{
		Type: "HTTP", URL: server.URL,
		Limits: appv1alpha1.SourceLimits{QueriesPerSecond: 10, Burst: 20, Concurrent: 4, TimeoutSeconds: 20, MaxBytes: 65536},
	}
	failure, err := sources.Look(t.Context(), object)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(failure).To(Succeed())
	p.Asker = &plugin.Asker{Sources: sources, Client: p.Client, Live: p.api, Looks: p.Looks}
	p.reconcile()
	<-p.woken
	g.Expect(asked.Workload.Kind + " " + asked.Workload.Name + " " + asked.Workload.UID).To(Equal("Deployment sleep d-1"))
	g.Expect(asked.Workload.Labels).To(Equal(map[string]string{"admission-webhook-altershield.antgroup.com/version": version}))
	g.Expect(asked.NewPods).To(HaveExactElements(struct{ Name, IP string }{"sleep-1-1", "10.0.0.7"}))
}
