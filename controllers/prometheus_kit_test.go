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

package controllers_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/api"
	prometheusv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/traas-stack/altershield-operator/hack/prometheus"
)

// sourceOf has the VerificationSource prometheus lead to an address during a spec, and waits until the operator has asked it.
func sourceOf(ctx context.Context, address string) {
	GinkgoHelper()
	apply := strings.ReplaceAll(strings.Join(blocks("sources.md", "A first source"), ""), "http://prometheus.monitoring:9090", address)
	bash(ctx, apply)
	DeferCleanup(func(ctx context.Context) {
		bash(ctx, "kubectl delete -n "+system+" vsrc/prometheus --ignore-not-found")
	})
	known(ctx, "vsrc", system, "prometheus")
}

// scraped returns the address of a real Prometheus that scrapes all pods with the label test.
func scraped(ctx context.Context) string {
	GinkgoHelper()
	metrics := httptest.NewServer(prometheus.Metrics(kube, client.HasLabels{"test"}))
	DeferCleanup(metrics.Close)
	programs, err := prometheus.Ensure(ctx, GinkgoWriter)
	if errors.Is(err, prometheus.ErrUnavailable) {
		Skip(err.Error())
	}
	Expect(err).NotTo(HaveOccurred())
	address, stop, err := programs.StartScraping(context.WithoutCancel(ctx), GinkgoT().TempDir(), strings.TrimPrefix(metrics.URL, "http://"))
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(stop)
	return address
}

// scrapedLong waits until a Prometheus has scraped so many pods since more than two looks of ten seconds before the next one: old pods that
// are gone are known by their metrics from before a release.
func scrapedLong(ctx context.Context, address string, pods int) {
	GinkgoHelper()
	to, err := api.NewClient(api.Config{Address: address})
	Expect(err).NotTo(HaveOccurred())
	query := fmt.Sprintf("count(count_over_time(work_queue_depth[5m]) >= 35) >= bool %d", pods)
	Eventually(func() (string, error) {
		found, _, err := prometheusv1.NewAPI(to).Query(ctx, query, time.Now())
		return fmt.Sprint(found), err
	}).WithPolling(time.Second).Should(HavePrefix("{} => 1 "))
}
