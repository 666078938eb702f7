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

package prometheus

import (
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Metrics serves the metrics of the pods that a client lists with some options.
func Metrics(kube client.Reader, options ...client.ListOption) http.Handler {
	return http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		var pods corev1.PodList
		if err := kube.List(request.Context(), &pods, options...); err != nil {
			http.Error(writer, err.Error(), http.StatusInternalServerError)
			return
		}
		for i := range pods.Items {
			fmt.Fprint(writer, metricsOf(&pods.Items[i]))
		}
	})
}

// metricsOf returns the metrics of a pod: of a thousand requests a second two fail and ten are slow, and twelve are queued. The label test
// has it do worse, or count otherwise.
func metricsOf(pod *corev1.Pod) string {
	failed, slow, queued, metric, namespace, value := 2, 10, 12, "http_requests_total", pod.Namespace, ""
	switch pod.Labels["test"] {
	case "failing":
		failed = 50
	case "slow":
		slow = 120
	case "queueing":
		queued = 41
	case "renamed":
		failed, metric = 50, "http_server_requests_total"
	case "elsewhere":
		failed, namespace = 50, "elsewhere"
	case "undefined":
		value = "NaN"
	case "many":
		return manyOf(pod, 500)
	}
	text, seconds, of := "", int(time.Since(pod.CreationTimestamp.Time).Seconds()), fmt.Sprintf("namespace=%q,pod=%q", namespace, pod.Name)
	add := func(metric, label string, number int) {
		if value == "" {
			text += fmt.Sprintf("%s{%s%s} %d\n", metric, of, label, number)
		} else {
			text += fmt.Sprintf("%s{%s%s} %s\n", metric, of, label, value)
		}
	}
	add(metric, `,code="200"`, (1000-failed)*seconds)
	add(metric, `,code="500"`, failed*seconds)
	add("http_request_duration_seconds_bucket", `,le="0.5"`, (1000-slow)*seconds)
	add("http_request_duration_seconds_bucket", `,le="+Inf"`, 1000*seconds)
	add("idle_requests_total", `,code="500"`, 0)
	add("work_queue_depth", "", queued)
	return text
}

// manyOf returns so many series of requests of a pod that fail.
func manyOf(pod *corev1.Pod, series int) (text string) {
	for path := range series {
		text += fmt.Sprintf("http_requests_total{namespace=%q,pod=%q,code=\"500\",path=\"/%d\"} 1\n", pod.Namespace, pod.Name, path)
	}
	return text
}
