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

package source

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

const (
	queryPath = "/webapi/prometheus/api/v1/query_range"
	tokenPath = "/webapi/token/apply"
	// testimony is the series that every storage has.
	testimony = `{"metric":{"__name__":"altershield_unnamed","altershield_witness":"1"},"values":[[1767225600,"1"]]}`
)

// hub is a HoloInsight that behaves as its code does: MonitorAccessService and Step2IdentityFilter for tokens, PromController and
// DefaultQueryServiceImpl for queries.
type hub struct {
	// storage returns the status of its Prometheus, and the list of series in JSON.
	storage func(of url.Values) (status int, series string)
	// faults are answers by path in place of its own.
	faults map[string]http.HandlerFunc

	mutex sync.Mutex
	// tokens counts those that it gave. Those up to expired are refused.
	tokens, expired int
	asked           []*http.Request
	keys            []string
}

func (h *hub) ServeHTTP(writer http.ResponseWriter, request *http.Request) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	path := strings.TrimPrefix(request.URL.Path, "/monitor")
	h.asked = append(h.asked, request)
	fault := h.faults[path]
	switch {
	case fault != nil:
		fault(writer, request)
	case path == tokenPath && request.Method == http.MethodPost:
		body, _ := io.ReadAll(request.Body)
		h.keys = append(h.keys, string(body))
		h.tokens++
		says(200, fmt.Sprintf(`{"success":true,"message":null,"resultCode":null,"data":"token-%d","requestId":"a"}`, h.tokens))(writer, request)
	case path != queryPath:
		says(404, "")(writer, request)
	case request.Method != http.MethodGet:
		says(405, "")(writer, request)
	default:
		h.answer(writer, request)
	}
}

func (h *hub) answer(writer http.ResponseWriter, request *http.Request) {
	token := request.Header.Get("apiToken")
	number, err := strconv.Atoi(strings.TrimPrefix(token, "token-"))
	if err != nil || number > h.tokens || number <= h.expired {
		says(401, `{"success":false,"message":"`+queryPath+`, token expired, `+token+`","resultCode":"TOKEN_INVALID"}`)(writer, request)
		return
	}
	asked := request.URL.Query()
	step, hasUnit := strings.CutSuffix(asked.Get("step"), "s")
	if !hasUnit {
		step = "60"
	}
	for _, whole := range []string{asked.Get("start"), asked.Get("end"), step, strings.TrimRight(asked.Get("timeout"), "s")} {
		if _, err := strconv.ParseInt(whole, 10, 64); err != nil {
			says(400, "")(writer, request)
			return
		}
	}
	status, series := h.storage(url.Values{"query": asked["query"], "start": asked["start"], "end": asked["end"], "step": {step}})
	var results []map[string]any
	failed := status != 200 || json.Unmarshal([]byte(series), &results) != nil
	if failed || slices.ContainsFunc(results, func(of map[string]any) bool { // a name that is null is an exception there
		labels, _ := of["metric"].(map[string]any)
		return labels["__name__"] == nil
	}) {
		says(400, `{"success":false,"message":"INTERNAL: key-of-shop","resultCode":"MONITOR_SYSTEM_ERROR"}`)(writer, request)
		return
	}
	for _, result := range results {
		result["value"] = nil
	}
	_ = json.NewEncoder(writer).Encode(map[string]any{
		"status": "success", "data": map[string]any{"resultType": "matrix", "result": results}, "errorType": nil, "error": nil, "warnings": nil,
	})
}

// has is a storage with always the same series.
func has(series ...string) func(url.Values) (int, string) {
	return func(url.Values) (int, string) { return 200, "[" + strings.Join(series, ",") + "]" }
}

// hubbed returns sources, and one of them that is a hub.
func hubbed(t *testing.T, h *hub, edits ...func(*appv1alpha1.VerificationSourceSpec)) (*Sources, *appv1alpha1.VerificationSource) {
	t.Helper()
	object := define(serve(t, h.ServeHTTP)+"/monitor", append(edits, func(s *appv1alpha1.VerificationSourceSpec) {
		s.Type, s.Auth = "HoloInsight", appv1alpha1.SourceAuth{Type: "AccessKey", SecretRef: &appv1alpha1.SourceSecret{Name: "holoinsight"}}
	})...)
	return newSources(t, secret("holoinsight", map[string]string{"accessId": "shop", "accessKey": "key-of-shop"})), object
}

func TestHoloInsightIsAskedAsItsAPIWantsIt(t *testing.T) {
	g := NewWithT(t)
	h := &hub{storage: has(testimony,
		`{"metric":{"__name__":"altershield_unnamed","pod":"a"},"values":[[1767225600,"1"],[1767225615,"2.5"]]}`,
		`{"metric":{"__name__":"up","pod":"b"},"values":[[1767225600,"NaN"]]}`)}
	sources, object := hubbed(t, h)
	asks := reader(t, sources, object)
	g.Expect(fmt.Sprint(asks.Range(t.Context(), "a # b", Align(at("2026-01-01T00:00:07Z"), at("2026-01-01T00:00:15Z"), 15*time.Second, 0)))).To(Equal(
		"{[{map[pod:a] [1 2.5]} {map[__name__:up pod:b] [NaN NaN]}] 1 } <nil>"))
	h.storage = has(testimony, `{"metric":{"__name__":"altershield_unnamed","pod":"a"},"values":[[1767225600,"1"]]}`,
		`{"metric":{"__name__":"altershield_unnamed","pod":"b"},"values":[[1767225600,"2"]]}`)
	g.Expect(fmt.Sprint(asks.Instant(t.Context(), "c", at("2026-01-01T00:00:00Z").Add(time.Second/2)))).To(Equal("{[{map[pod:a] [1]} {map[pod:b] [2]}] 0 } <nil>"),
		"an instant query of its own would make one series of them")
	var lines []string
	for _, request := range h.asked {
		lines = append(lines, request.Method+" "+request.URL.Path+" "+request.Header.Get("apiToken"))
	}
	asked := "GET /monitor/webapi/prometheus/api/v1/query_range token-1"
	g.Expect(lines).To(Equal([]string{"POST /monitor/webapi/token/apply ", asked, asked, asked}), "the token is kept")
	g.Expect(h.asked[0].Header.Get("Content-Type")).To(Equal("application/json"))
	g.Expect(h.keys).To(Equal([]string{`{"accessId":"shop","accessKey":"key-of-shop"}`}))
	g.Expect(h.asked[2].URL.Query()).To(Equal(url.Values{"start": {"1767225600"}, "end": {"1767225615"}, "step": {"15s"}, "timeout": {"5s"}, "query": {
		"label_replace((a # b\n) or label_replace(vector(1), \"altershield_witness\", \"1\", \"\", \"\"), \"__name__\", \"altershield_unnamed\", \"__name__\", \"\")",
	}}))
	g.Expect(h.asked[3].URL.Query()).To(And(HaveKeyWithValue("start", []string{"1767225600"}), HaveKeyWithValue("end", []string{"1767225600"}), HaveKeyWithValue("step", []string{"1s"})))
}

func TestHoloInsightHasGapsWhereValuesAreNull(t *testing.T) {
	h := &hub{storage: has(testimony, `{"metric":{"__name__":"up"},"values":[[1767225600,"1"],[1767225615,null],null]}`, `{"metric":{"__name__":"down"},"values":null}`)}
	sources, object := hubbed(t, h)
	asks := reader(t, sources, object)
	NewWithT(t).Expect(fmt.Sprint(asks.Range(t.Context(), "a", Align(at("2026-01-01T00:00:00Z"), at("2026-01-01T00:00:15Z"), 15*time.Second, 0)))).To(Equal(
		"{[{map[__name__:up] [1 NaN]} {map[__name__:down] [NaN NaN]}] 2 } <nil>"))
}

func TestHoloInsightTakesNoSilenceForAnAnswer(t *testing.T) {
	g := NewWithT(t)
	h := &hub{storage: has(testimony)}
	sources, object := hubbed(t, h)
	asks := reader(t, sources, object)
	now := at("2026-01-01T00:00:00Z")
	g.Expect(asks.Instant(t.Context(), "errors", now)).To(Equal(Answer{}), "the witness shows that there are none")
	h.storage = has() // of an unknown tenant, or one that fails
	silence := "VerificationSource prometheus: HoloInsight answers without a series that every storage has: its storage failed, or it has none for the tenant"
	_, err := asks.Instant(t.Context(), "other_errors", now)
	g.Expect(err).To(MatchError(silence))
	g.Expect(kindOf(err)).To(BeEquivalentTo("SourceUnavailable"))
	_, err = asks.Range(t.Context(), "errors", Align(now, now, 15*time.Second, 0))
	g.Expect(err).To(MatchError(silence))
	g.Expect(look(t, sources, object)).To(MatchError(silence))
	g.Expect(isUp(sources.Metrics)).To(BeZero())
	h.storage = has(testimony)
	g.Expect(look(t, sources, object)).To(Succeed())
}

func TestHoloInsightReplacesARefusedTokenOnce(t *testing.T) {
	g := NewWithT(t)
	h := &hub{storage: has(testimony)}
	sources, object := hubbed(t, h)
	asks := reader(t, sources, object)
	now := at("2026-01-01T00:00:00Z")
	h.expired = 1
	var group sync.WaitGroup
	for i := range 4 {
		group.Go(func() {
			_, err := asks.Instant(t.Context(), "a", now.Add(time.Duration(i)*time.Second))
			g.Expect(err).NotTo(HaveOccurred())
		})
	}
	group.Wait()
	g.Expect(h.tokens).To(Equal(2), "all use the token that the first one gets")
	h.expired, h.asked = 1000, nil // such as for a path that isn't open for tokens
	_, err := asks.Instant(t.Context(), "b", now)
	g.Expect(err).To(MatchError("VerificationSource prometheus: HoloInsight refuses the access key, or a token for /webapi/prometheus (HTTP 401): " +
		"see spec.auth, and its token_url_white_prefix_list"))
	g.Expect(kindOf(err)).To(BeEquivalentTo("Unauthorized"))
	g.Expect(h.asked).To(HaveLen(3), "a query, a token, a query")
	h.expired = 3
	_, err = asks.Instant(t.Context(), "b", now)
	g.Expect(err).NotTo(HaveOccurred())
}

func TestHoloInsightHasFaults(t *testing.T) {
	const unknown = "HoloInsight gives no token: see spec.url and its log"
	for name, row := range map[string]struct {
		path     string
		fault    http.HandlerFunc
		expected string
	}{
		"an unknown key":       {tokenPath, says(200, `{"success":false,"message":"accessId is illegal, shop key-of-shop","resultCode":"PARAMETER_ILLEGAL"}`), "Unauthorized HoloInsight doesn't know the access key: see spec.auth"},
		"no key of its own":    {tokenPath, says(200, `{"success":false,"message":"apply token fail key-of-shop","resultCode":"SYSTEM_ERROR"}`), "SourceUnavailable " + unknown},
		"no token":             {tokenPath, says(200, `{"success":true,"data":null}`), "SourceUnavailable " + unknown},
		"a token in vain":      {tokenPath, says(200, `{"success":false,"data":"token-1"}`), "SourceUnavailable " + unknown},
		"a page":               {tokenPath, says(200, "<html>key-of-shop</html>"), "SourceUnavailable " + unknown},
		"a token of two lines": {tokenPath, says(200, `{"success":true,"data":"key-of-shop\n"}`), `SourceUnavailable net/http: invalid header field value for "Apitoken"`},
		"a closed door":        {tokenPath, says(403, "key-of-shop"), "Unauthorized HoloInsight refuses the access key, or a token for /webapi/prometheus (HTTP 403): see spec.auth, and its token_url_white_prefix_list"},
		"no HoloInsight":       {tokenPath, says(404, "key-of-shop"), "SourceUnavailable the source failed (HTTP 404)"},
		"a redirect":           {tokenPath, http.RedirectHandler("http://169.254.169.254/", http.StatusFound).ServeHTTP, "SourceUnavailable the source redirects (HTTP 302), which the operator doesn't follow: correct spec.url"},
		"an exception":         {queryPath, says(400, `{"success":false,"message":"INTERNAL: token-1 key-of-shop"}`), "SourceUnavailable HoloInsight refuses the query, or its storage failed (HTTP 400): its log tells which"},
		"too many queries":     {queryPath, says(429, "key-of-shop"), "SourceThrottled the source refuses further queries for now (HTTP 429)"},
		"another page":         {queryPath, says(200, "<html>key-of-shop</html>"), "SourceUnavailable the answer is not one of the Prometheus API: see spec.url"},
		"another API":          {queryPath, says(200, `{"success":true,"data":"key-of-shop"}`), "SourceUnavailable the answer is not one of the Prometheus API: see spec.url"},
		"no success":           {queryPath, says(200, `{"status":"error","data":{"resultType":"matrix","result":[`+testimony+`]}}`), "SourceUnavailable the answer is not one of the Prometheus API: see spec.url"},
		"a vector":             {queryPath, says(200, `{"status":"success","data":{"resultType":"vector","result":[`+testimony+`]}}`), "SourceUnavailable the answer is not one of the Prometheus API: see spec.url"},
		"no end":               {queryPath, bomb, "TooLarge the answer has more than limits.maxBytes, 65536 bytes"},
		"nobody":               {queryPath, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "SourceUnavailable EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			h := &hub{storage: has(testimony), faults: map[string]http.HandlerFunc{row.path: row.fault}}
			sources, object := hubbed(t, h, func(s *appv1alpha1.VerificationSourceSpec) { s.Limits.MaxBytes = 65536 })
			failure := look(t, sources, object)
			g.Expect(string(failure.Kind) + " " + failure.Message).To(Equal(row.expected))
			g.Expect(h.tokens).To(BeNumerically("<=", 1), "only a refused token is replaced")
			g.Expect(fmt.Sprintf("%+v", *failure)).NotTo(Or(ContainSubstring("key-of-shop"), ContainSubstring("token-1")), "in a log")
		})
	}
}

func TestHoloInsightWaitsForATokenInItsTime(t *testing.T) {
	g := NewWithT(t)
	asks := newHoloInsight(newExchange(connection{address: &url.URL{}, accessKey: &accessKey{}, timeout: time.Millisecond}, Guard{}, nil))
	g.Expect(asks.tokens.turn.TryAcquire(1)).To(BeTrue(), "another query waits for a token")
	_, _, err := asks.Query(t.Context(), "a", at("2026-01-01T00:00:00Z"))
	g.Expect(err).To(MatchError(HaveSuffix("no answer within limits.timeoutSeconds, 1ms")))
}
