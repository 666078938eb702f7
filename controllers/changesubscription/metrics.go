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

package changesubscription

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	ctrl "sigs.k8s.io/controller-runtime"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/changesubscription/notice"
)

// Results of the delivery of an event.
const (
	resultSent    = "Sent"
	resultFailed  = "Failed"
	resultDropped = "Dropped"
)

// Metrics are the metrics of notifications.
type Metrics struct {
	total   *prometheus.CounterVec
	seconds *prometheus.HistogramVec
	pending *prometheus.GaugeVec
}

// NewMetrics returns registered metrics.
func NewMetrics(registry prometheus.Registerer) (*Metrics, error) {
	metrics := &Metrics{
		total: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "altershield_notifications_total",
			Help: "Events by the type of the receiver and the result: Sent, Failed if the delivery will be tried again, or Dropped.",
		}, []string{"sink_type", "result"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "altershield_notification_seconds",
			Help:    "Time from an event to its delivery by the type of the receiver, with the time in a digest.",
			Buckets: []float64{1, 2, 5, 15, 60, 300, 900, 3600},
		}, []string{"sink_type"}),
		pending: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "altershield_notifications_pending",
			Help: "Events of a ChangeSubscription that wait.",
		}, []string{"subscription"}),
	}
	for _, collector := range []prometheus.Collector{metrics.total, metrics.seconds, metrics.pending} {
		if err := registry.Register(collector); err != nil {
			return nil, fmt.Errorf("registering the metrics of notifications: %w", err)
		}
	}
	for _, kind := range []appv1alpha1.SinkType{
		appv1alpha1.SinkCDEvents, appv1alpha1.SinkDingTalk, appv1alpha1.SinkFeishu, appv1alpha1.SinkWeCom, appv1alpha1.SinkSlack, appv1alpha1.SinkTeams,
		appv1alpha1.SinkPlain,
	} {
		for _, result := range []string{resultSent, resultFailed, resultDropped} {
			metrics.total.WithLabelValues(string(kind), result) // Prometheus sees no increase when a counter appears
		}
	}
	return metrics, nil
}

func (m *Metrics) count(kind appv1alpha1.SinkType, result string, events int) {
	m.total.WithLabelValues(string(kind), result).Add(float64(events))
}

// delivered counts events that a receiver took.
func (m *Metrics) delivered(kind appv1alpha1.SinkType, events []notice.Event, now time.Time) {
	m.count(kind, resultSent, len(events))
	for i := range events {
		m.seconds.WithLabelValues(string(kind)).Observe(now.Sub(events[i].At).Seconds())
	}
}

func (m *Metrics) waiting(object *appv1alpha1.ChangeSubscription, events int) {
	m.pending.WithLabelValues(object.Name).Set(float64(events))
}

// end removes the metrics of a subscription.
func (m *Metrics) end(request ctrl.Request) { m.pending.DeleteLabelValues(request.Name) }
