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

// Requests serves the metrics of pods that a client lists: a thousand requests a second each, of which two fail, or fifty where the label
// test is failing.
func Requests(kube client.Reader) http.Handler {
	return http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		var pods corev1.PodList
		if err := kube.List(request.Context(), &pods); err != nil {
			http.Error(writer, err.Error(), http.StatusInternalServerError)
			return
		}
		for i := range pods.Items {
			pod, failed := &pods.Items[i], 2.0
			if pod.Labels["test"] == "failing" {
				failed = 50
			}
			age := time.Since(pod.CreationTimestamp.Time).Seconds()
			for code, rate := range map[string]float64{"200": 1000 - failed, "500": failed} {
				fmt.Fprintf(writer, "http_requests_total{namespace=%q,pod=%q,code=%q} %.0f\n", pod.Namespace, pod.Name, code, rate*age)
			}
		}
	})
}
