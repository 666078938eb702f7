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
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

const (
	// answers is what a source says of itself that can be asked.
	answers = "True Ready: the source answers"
	// fewErrors fails pods of which more than 1% of the requests fail. moreErrors compares them with the old ones.
	fewErrors = `"type": "Ratio", "ratio": {"sourceRef": {"name": "SOURCE"}, "total": {"metric": "http_requests_total"},
		"bad": {"matchers": ["code=\"500\""]}, "threshold": {"max": "1%", "consecutive": 1}}`
	moreErrors = `"type": "Ratio", "ratio": {"sourceRef": {"name": "SOURCE"}, "total": {"metric": "http_requests_total"},
		"bad": {"matchers": ["code=\"500\""]}, "comparison": {}}`
)

// noErrors fails a release if a query returns more than 0.
func noErrors(query string) string {
	return fmt.Sprintf(`"type": "Query", "query": {"sourceRef": {"name": "SOURCE"}, "max": "0", "consecutive": 1, "query": %q}`, query)
}

// prometheusAt returns the spec of a source at an address, with further fields in JSON.
func prometheusAt(address, fields string) string {
	return fmt.Sprintf(`"type": "Prometheus", "url": %q%s`, address, fields)
}

var _ = Describe("A release that its source can't judge", func() {
	BeforeEach(patient)
	BeforeEach(withoutBuiltIn)

	// What is in the table of docs/sources.md, section "Without an answer".
	It("is verified, whatever is wrong with Prometheus and its series", slow, func(ctx context.Context) {
		address := scraped(ctx)
		away, stuck := frontOf(address, nil), frontOf(address, late)
		broken, busy := frontOf(address, answering(http.StatusInternalServerError, "")), frontOf(address, answering(http.StatusTooManyRequests, ""))
		const confined = `, "prometheus": {"enforceNamespace": true}`
		errors := noErrors(`sum(http_requests_total{code="500",pod=~"$newPods"})`)
		rows := []judged{
			{"answers", prometheusAt(address, ""), fewErrors, "failing",
				"Suspend PodsFailed, Fail CheckFailed: 5% on 2 new pods (N events), at most 1% is allowed", answers},
			{"away", prometheusAt(away.URL, ""), fewErrors, "failing",
				"Success AllPodsPassed, Inconclusive SourceUnavailable: VerificationSource away: dial: connect: connection refused",
				"False SourceUnavailable: dial: connect: connection refused"},
			{"slow", prometheusAt(stuck.URL, `, "limits": {"timeoutSeconds": 1}`), fewErrors, "failing",
				"Success AllPodsPassed, Inconclusive SourceUnavailable: VerificationSource slow: no answer within limits.timeoutSeconds, 1s",
				"False SourceUnavailable: no answer within limits.timeoutSeconds, 1s"},
			{"broken", prometheusAt(broken.URL, ""), fewErrors, "failing",
				"Success AllPodsPassed, Inconclusive SourceUnavailable: VerificationSource broken: the source failed (HTTP 500)",
				"False SourceUnavailable: the source failed (HTTP 500)"},
			{"busy", prometheusAt(busy.URL, ""), fewErrors, "failing",
				"Success AllPodsPassed, Inconclusive SourceThrottled: VerificationSource busy: the source refuses further queries for now (HTTP 429)",
				"False SourceThrottled: the source refuses further queries for now (HTTP 429)"},
			{"empty", prometheusAt(address, ""), strings.ReplaceAll(fewErrors, "http_requests_total", "absent_requests_total"), "failing",
				"Success AllPodsPassed, Inconclusive NoData: series in 0 of N looks at 2 new pods", answers},
			{"undefined", prometheusAt(address, ""), fewErrors, "undefined",
				"Success AllPodsPassed, Inconclusive NoData: series in 0 of N looks at 2 new pods", answers},
			{"idle", prometheusAt(address, confined), noErrors(`sum(idle_requests_total{code="500",pod=~"$newPods"}) / sum(idle_requests_total{pod=~"$newPods"})`), "failing",
				"Success AllPodsPassed, Inconclusive NoData: the query returns no value", answers},
			{"renamed", prometheusAt(address, ""), moreErrors, "renamed",
				"Success AllPodsPassed, Inconclusive MissingOnNewPods: series in 0 of N looks at 2 new pods, in N of N at 2 old pods", answers},
			{"many", prometheusAt(address, confined), noErrors(`http_requests_total{pod=~"$newPods"}`), "many",
				"Success AllPodsPassed, Inconclusive NotOneSeries: the query returns 1000 series instead of one: aggregate them, such as by sum()", answers},
			{"too-many", prometheusAt(address, confined+`, "limits": {"maxSeries": 999}`), noErrors(`http_requests_total{pod=~"$newPods"}`), "many",
				"Success AllPodsPassed, Inconclusive TooLarge: VerificationSource too-many: the answer has more than limits.maxSeries, 999 series", answers},
			{"tenant", prometheusAt(address, confined), errors, "elsewhere",
				"Success AllPodsPassed, Inconclusive NoData: the query returns no value", answers},
			{"intruder", prometheusAt(address, confined), noErrors(`sum(http_requests_total{code="500",namespace="elsewhere"})`), "elsewhere",
				`Success AllPodsPassed, Inconclusive BadQuery: VerificationSource intruder: the selector http_requests_total{code="500",namespace="elsewhere"} ` +
					`finds nothing: queries are confined to namespace="NAMESPACE"`, answers},
			{"open", prometheusAt(address, ""), errors, "elsewhere",
				"Success AllPodsPassed, Inconclusive QueryNotAllowed: VerificationSource open: a check of the type Query could read series of every namespace: " +
					"set spec.prometheus.enforceNamespace, or move the policy NAMESPACE/own to namespace altershieldoperator-system", answers},
			{"missing", prometheusAt(address, ""), strings.ReplaceAll(fewErrors, "SOURCE", "absent"), "failing",
				"Success AllPodsPassed, Inconclusive SourceMissing: VerificationSource absent: there is no such source in namespace altershieldoperator-system", answers},
			{"reserved", prometheusAt(address, `, "allowedNamespaces": {"matchLabels": {"metrics": "shared"}}`), fewErrors, "failing",
				"Success AllPodsPassed, Inconclusive NamespaceNotAllowed: VerificationSource reserved: spec.allowedNamespaces doesn't select namespace NAMESPACE", answers},
		}
		judgeAll(ctx, rows, 30, func() {
			scrapedLong(ctx, address, 2*len(rows))
			away.Close()
			for _, proxy := range []*front{stuck, broken, busy} {
				proxy.fails.Store(true)
			}
		})
	})
})

// pluginKey is the key with which the operator signs what it asks the plug-ins of the specs.
const pluginKey = "0123456789abcdef01234567"

// pluginAt returns the spec of a plug-in at an address, with further fields in JSON.
func pluginAt(address, fields string) string {
	return fmt.Sprintf(`"type": "HTTP", "url": %q, "signing": {"secretRef": {"name": "plugin-key"}}%s`, address, fields)
}

var _ = Describe("A release that its plug-in can't judge", func() {
	BeforeEach(patient)
	BeforeEach(withoutBuiltIn)

	It("is verified, whatever the plug-in answers", slow, func(ctx context.Context) {
		output, err := kubectl(ctx, "-n", system, "create", "secret", "generic", "plugin-key", "--from-literal=key="+pluginKey)
		Expect(err).NotTo(HaveOccurred(), output)
		DeferCleanup(func(ctx context.Context) {
			output, err := kubectl(ctx, "-n", system, "delete", "secret", "plugin-key")
			Expect(err).NotTo(HaveOccurred(), output)
		})
		plugins := http.NewServeMux() // whose answer to HEAD is 405
		plugins.HandleFunc("POST /fails", signedBy(pluginKey, answering(http.StatusOK, `{"verdict": "Fail", "reason": "Drifted", "message": "by 40%"}`)))
		plugins.HandleFunc("POST /foreign", signedBy("another", answering(http.StatusOK, `{"verdict": "Fail"}`)))
		plugins.HandleFunc("POST /away", answering(http.StatusServiceUnavailable, `{"verdict": "Fail"}`))
		plugins.HandleFunc("POST /slow", late)
		plugins.HandleFunc("POST /long", answering(http.StatusOK, `{"verdict": "Inconclusive", "message": "`+strings.Repeat("a", 1<<20)+`"}`))
		plugins.HandleFunc("POST /large", answering(http.StatusOK, `{"verdict": "Fail", "message": "`+strings.Repeat("a", 1<<20)+`"}`))
		plugins.HandleFunc("POST /page", answering(http.StatusOK, "<html>Fail</html>"))
		plugins.HandleFunc("POST /moved", http.RedirectHandler("http://169.254.169.254/latest/meta-data/", http.StatusTemporaryRedirect).ServeHTTP)
		server := httptest.NewServer(plugins)
		DeferCleanup(server.Close)
		const check = `"type": "HTTP", "http": {"sourceRef": {"name": "SOURCE"}}`
		judgeAll(ctx, []judged{
			{"fails", pluginAt(server.URL+"/fails", ""), check, "new", "Suspend PodsFailed, Fail CheckFailed: Drifted: by 40%", answers},
			{"foreign", pluginAt(server.URL+"/foreign", ""), check, "new", "Success AllPodsPassed, Inconclusive Unauthorized: VerificationSource foreign: " +
				"the plug-in accepts no request of the operator (HTTP 401): see spec.auth and spec.signing", answers},
			{"away", pluginAt(server.URL+"/away", ""), check, "new",
				"Success AllPodsPassed, Inconclusive SourceUnavailable: VerificationSource away: the source failed (HTTP 503)", answers},
			{"slow", pluginAt(server.URL+"/slow", `, "limits": {"timeoutSeconds": 1}`), check, "new",
				"Success AllPodsPassed, Inconclusive SourceUnavailable: VerificationSource slow: no answer within limits.timeoutSeconds, 1s", answers},
			{"long", pluginAt(server.URL+"/long", ""), check, "new",
				"Success AllPodsPassed, Inconclusive Undecided: " + strings.Repeat("a", 253) + "...", answers},
			{"large", pluginAt(server.URL+"/large", `, "limits": {"maxBytes": 65536}`), check, "new",
				"Success AllPodsPassed, Inconclusive TooLarge: VerificationSource large: the answer has more than limits.maxBytes, 65536 bytes", answers},
			{"page", pluginAt(server.URL+"/page", ""), check, "new",
				"Success AllPodsPassed, Inconclusive BadAnswer: the answer of the plug-in is not JSON with verdict, reason, message and pods", answers},
			{"moved", pluginAt(server.URL+"/moved", ""), check, "new", "Success AllPodsPassed, Inconclusive SourceUnavailable: VerificationSource moved: " +
				"the source redirects (HTTP 307), which the operator doesn't follow: correct spec.url", answers},
			{"metadata", pluginAt("http://169.254.169.254/latest/meta-data/", ""), check, "new", "Success AllPodsPassed, Inconclusive AddressRefused: VerificationSource metadata: " +
				"the host of spec.url has a link-local address, to which the operator doesn't connect: see --source-allow-cidr",
				"False AddressRefused: the host of spec.url has a link-local address, to which the operator doesn't connect: see --source-allow-cidr"},
		}, 0, func() {})
	})
})

// signedBy answers questions that are signed with a key, as Standard Webhooks 1.0.0 defines it.
func signedBy(key string, answer http.HandlerFunc) http.HandlerFunc {
	return func(writer http.ResponseWriter, request *http.Request) {
		mac := hmac.New(sha256.New, []byte(key))
		fmt.Fprintf(mac, "%s.%s.", request.Header.Get("webhook-id"), request.Header.Get("webhook-timestamp"))
		_, _ = io.Copy(mac, request.Body)
		if request.Header.Get("webhook-signature") != "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)) {
			writer.WriteHeader(http.StatusUnauthorized)
			return
		}
		answer(writer, request)
	}
}

// late doesn't answer.
func late(_ http.ResponseWriter, request *http.Request) {
	_, _ = io.Copy(io.Discard, request.Body) // else the server doesn't see the end of the connection
	<-request.Context().Done()
}

// answering answers with a status and a body.
func answering(status int, body string) http.HandlerFunc {
	return func(writer http.ResponseWriter, _ *http.Request) {
		if status == http.StatusTooManyRequests {
			writer.Header().Set("Retry-After", "1") // a longer pause makes the last look later
		}
		writer.WriteHeader(status)
		_, _ = io.WriteString(writer, body)
	}
}
