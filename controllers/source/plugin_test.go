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
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// standardKey is the key of the example of Standard Webhooks.
const standardKey = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

func ofPlugin(spec *appv1alpha1.VerificationSourceSpec) { spec.Type = "HTTP" }

func signed(spec *appv1alpha1.VerificationSourceSpec) {
	spec.Signing = &appv1alpha1.SourceSigning{SecretRef: appv1alpha1.SourceSecret{Name: "drift"}}
}

// pluginOf returns a plug-in that answers.
func pluginOf(t *testing.T, sources *Sources, object *appv1alpha1.VerificationSource) *Plugin {
	t.Helper()
	NewWithT(t).Expect(look(t, sources, object)).To(Succeed())
	found, err := sources.Plugin(t.Context(), "prometheus", "shop")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return found
}

// posted is a handler of POST that leaves the rest to a server which knows nothing else.
func posted(handler http.HandlerFunc) http.HandlerFunc {
	return func(writer http.ResponseWriter, request *http.Request) {
		if request.Method != http.MethodPost {
			writer.WriteHeader(http.StatusNotImplemented)
			return
		}
		handler(writer, request)
	}
}

func TestPluginAsksOnceWithASignature(t *testing.T) {
	for name, row := range map[string]struct{ key, expected string }{
		"the example of Standard Webhooks": {standardKey, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="},
		"a key as it is":                   {"0123456789abcdef01234567\n", "v1,d5PJaLhU6hQf9TLleqdn97PBQffdITHtAOuMMHkRQ4U="},
		"two while they change": {
			"0123456789abcdef01234567\n" + standardKey, "v1,d5PJaLhU6hQf9TLleqdn97PBQffdITHtAOuMMHkRQ4U= v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var asked []*http.Request
			address := serve(t, posted(func(writer http.ResponseWriter, request *http.Request) {
				body, _ := io.ReadAll(request.Body)
				g.Expect(string(body)).To(Equal(`{"test": 2432232314}`))
				asked = append(asked, request)
				says(200, "yes")(writer, request)
			}))
			sources := newSources(t, secret("drift", map[string]string{"key": row.key}), secret("token", map[string]string{"token": "abc"}))
			sources.Clock = testclock.NewFakePassiveClock(time.Unix(1614265330, 0))
			plugin := pluginOf(t, sources, define(address+"/verify", ofPlugin, signed, func(s *appv1alpha1.VerificationSourceSpec) {
				s.Auth = appv1alpha1.SourceAuth{Type: "BearerToken", SecretRef: &appv1alpha1.SourceSecret{Name: "token"}}
			}))
			answer, err := plugin.Ask(t.Context(), "msg_p5jXN8AQM9LWM0D4loKWxJek", []byte(`{"test": 2432232314}`))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(string(answer)).To(Equal("yes"))
			g.Expect(asked).To(HaveLen(1))
			g.Expect(asked[0].URL.Path).To(Equal("/verify"))
			g.Expect(asked[0].Header).To(And(
				HaveKeyWithValue("Webhook-Id", []string{"msg_p5jXN8AQM9LWM0D4loKWxJek"}), HaveKeyWithValue("Webhook-Timestamp", []string{"1614265330"}),
				HaveKeyWithValue("Webhook-Signature", []string{row.expected}), HaveKeyWithValue("Content-Type", []string{"application/json"}),
				HaveKeyWithValue("Authorization", []string{"Bearer abc"}), HaveKeyWithValue("User-Agent", []string{"altershield-operator"})))
		})
	}
}

func TestPluginSignsNothingWithoutAKey(t *testing.T) {
	g := NewWithT(t)
	address := serve(t, posted(func(_ http.ResponseWriter, request *http.Request) {
		g.Expect(request.Header).NotTo(HaveKey("Webhook-Signature"))
	}))
	_, err := pluginOf(t, newSources(t), define(address, ofPlugin)).Ask(t.Context(), "1", nil)
	g.Expect(err).NotTo(HaveOccurred())
}

func TestPluginAskSaysWhyThereIsNoAnswer(t *testing.T) {
	slow := func(_ http.ResponseWriter, request *http.Request) {
		_, _ = io.Copy(io.Discard, request.Body) // else the server doesn't see the end of the connection
		<-request.Context().Done()
	}
	for name, row := range map[string]struct {
		handler  http.HandlerFunc
		expected string
	}{
		"a failure":               {says(500, `secret`), "SourceUnavailable the source failed (HTTP 500)"},
		"a gateway":               {says(503, ""), "SourceUnavailable the source failed (HTTP 503)"},
		"too many questions":      {says(429, ""), "SourceThrottled the source refuses further queries for now (HTTP 429)"},
		"another path":            {says(404, ""), "SourceUnavailable the source failed (HTTP 404)"},
		"a refusal":               {says(400, "secret"), "BadQuery the source refuses the query (HTTP 400)"},
		"a wrong signature":       {says(401, ""), "Unauthorized the plug-in accepts no request of the operator (HTTP 401): see spec.auth and spec.signing"},
		"an answer that is later": {says(202, ""), "SourceUnavailable the plug-in has no answer (HTTP 202): only 200 has one"},
		"an answer of 1 MiB":      {says(200, strings.Repeat(" ", 1<<20)), "TooLarge the answer has more than limits.maxBytes, 65536 bytes"},
		"a slow one":              {slow, "SourceUnavailable no answer within limits.timeoutSeconds, 1s"},
		"a redirect":              {http.RedirectHandler("http://169.254.169.254/latest/meta-data/", http.StatusTemporaryRedirect).ServeHTTP, "SourceUnavailable the source redirects (HTTP 307), which the operator doesn't follow: correct spec.url"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			sources := newSources(t)
			plugin := pluginOf(t, sources, define(serve(t, posted(row.handler)), ofPlugin, func(s *appv1alpha1.VerificationSourceSpec) {
				s.Limits.MaxBytes, s.Limits.TimeoutSeconds = 65536, 1
			}))
			answer, err := plugin.Ask(t.Context(), "1", []byte("{}"))
			g.Expect(answer).To(BeEmpty())
			failure, isFailure := errors.AsType[*Error](err)
			g.Expect(isFailure).To(BeTrue())
			g.Expect(string(failure.Kind) + " " + failure.Message).To(Equal(row.expected))
			g.Expect(failure.Source).To(Equal("prometheus"))
			g.Expect(counted(sources.Metrics, string(failure.Kind))).To(BeEquivalentTo(1))
		})
	}
}

func TestPluginTakesAQuestion(t *testing.T) {
	for name, row := range map[string]struct {
		handler  http.HandlerFunc
		expected string
	}{
		"with an answer that is later":    {says(202, ""), ""},
		"whatever it says":                {says(200, "<html>"), ""},
		"unless it says that it has none": {says(204, ""), "SourceUnavailable the plug-in takes no question (HTTP 204): 200 or 202 means that it does"},
		"unless it fails":                 {says(500, ""), "SourceUnavailable the source failed (HTTP 500)"},
		"unless the signature is wrong":   {says(403, ""), "Unauthorized the plug-in accepts no request of the operator (HTTP 403): see spec.auth and spec.signing"},
	} {
		t.Run(name, func(t *testing.T) {
			g, id := NewWithT(t), ""
			plugin := pluginOf(t, newSources(t), define(serve(t, posted(func(writer http.ResponseWriter, request *http.Request) {
				id = request.Header.Get("webhook-id")
				row.handler(writer, request)
			})), ofPlugin))
			err, told := plugin.Submit(t.Context(), "7/1", []byte("{}")), ""
			if failure, isFailure := errors.AsType[*Error](err); isFailure {
				told = string(failure.Kind) + " " + failure.Message
			}
			g.Expect(told).To(Equal(row.expected))
			g.Expect(err != nil).To(Equal(row.expected != ""))
			g.Expect(id).To(Equal("7/1"))
		})
	}
}

func TestPluginIsLeftAloneAfterFiveFailures(t *testing.T) {
	g := NewWithT(t)
	asked := 0
	plugin := pluginOf(t, newSources(t), define(serve(t, posted(func(writer http.ResponseWriter, request *http.Request) {
		asked++
		says(500, "")(writer, request)
	})), ofPlugin))
	for range 7 {
		_, err := plugin.Ask(t.Context(), "1", nil)
		g.Expect(err).To(MatchError("VerificationSource prometheus: the source failed (HTTP 500)"))
	}
	g.Expect(asked).To(Equal(5))
}

func TestPluginAskEndsWithTheManager(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	plugin := pluginOf(t, newSources(t), define(serve(t, posted(func(http.ResponseWriter, *http.Request) { cancel() })), ofPlugin))
	_, err := plugin.Ask(ctx, "1", nil)
	NewWithT(t).Expect(err).To(MatchError("asking VerificationSource prometheus: context canceled"))
}

func TestSourcesLookGreetsAPlugin(t *testing.T) {
	for name, row := range map[string]struct {
		handler  http.HandlerFunc
		expected string
	}{
		"one that knows HEAD":      {says(200, ""), ""},
		"one that knows POST only": {says(501, ""), ""},
		"one of other methods":     {says(405, ""), ""},
		"one of other paths":       {says(404, ""), ""},
		"one that wants to verify": {says(401, ""), ""},
		"one that is busy":         {says(429, ""), "the source refuses further queries for now (HTTP 429)"},
		"a gateway without one":    {says(502, ""), "the source failed (HTTP 502)"},
		"one that is elsewhere":    {http.RedirectHandler("/", http.StatusFound).ServeHTTP, "the source redirects (HTTP 302), which the operator doesn't follow: correct spec.url"},
		"one that hangs up":        {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			failure := look(t, newSources(t), define(serve(t, func(writer http.ResponseWriter, request *http.Request) {
				g.Expect(request.Method).To(Equal("HEAD"))
				row.handler(writer, request)
			}), ofPlugin))
			if row.expected == "" {
				g.Expect(failure).To(Succeed())
				return
			}
			g.Expect(failure).To(MatchError("VerificationSource prometheus: " + row.expected))
		})
	}
}

func TestSourcesPluginIsForPluginsAndAllowedNamespaces(t *testing.T) {
	g := NewWithT(t)
	sources := newSources(t, namespace("shop", nil))
	_, err := sources.Plugin(t.Context(), "prometheus", "shop")
	g.Expect(kindOf(err)).To(BeEquivalentTo("SourceMissing"))
	address := serve(t, says(200, one))
	g.Expect(look(t, sources, define(address))).To(Succeed())
	_, err = sources.Plugin(t.Context(), "prometheus", "shop")
	g.Expect(err).To(MatchError("VerificationSource prometheus: spec.type is Prometheus: only sources of the type HTTP are plug-ins"))
	object := define(address, ofPlugin, func(s *appv1alpha1.VerificationSourceSpec) {
		s.AllowedNamespaces = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}}
	})
	object.Generation = 2
	g.Expect(look(t, sources, object)).To(Succeed())
	_, err = sources.Plugin(t.Context(), "prometheus", "shop")
	g.Expect(err).To(MatchError("VerificationSource prometheus: spec.allowedNamespaces doesn't select namespace shop"))
	object.Spec.AllowedNamespaces, object.Generation = nil, 3
	g.Expect(look(t, sources, object)).To(Succeed())
	_, err = sources.Reader(t.Context(), "prometheus", "shop")
	g.Expect(err).To(MatchError("VerificationSource prometheus: spec.type is HTTP: a plug-in has no metrics"))
}

func TestSourcesLookNeedsAUsableKeyOfSignatures(t *testing.T) {
	for name, row := range map[string]struct {
		secret   client.Object
		expected string
	}{
		"no Secret":     {secret("other", nil), "there is no Secret drift in the namespace of the operator"},
		"no key":        {secret("drift", nil), "Secret drift needs the key " + "key"},
		"a short one":   {secret("drift", map[string]string{"key": "short"}), "key of Secret drift has less than 24 bytes"},
		"a short text":  {secret("drift", map[string]string{"key": "whsec_MfKQ9r8GKYqrTwjUPD8ILA=="}), "key of Secret drift has less than 24 bytes"},
		"one of two":    {secret("drift", map[string]string{"key": "0123456789abcdef01234567\nshort"}), "key of Secret drift has less than 24 bytes, in line 2"},
		"a broken text": {secret("drift", map[string]string{"key": "whsec_0123456789abcdef01234567!"}), "key of Secret drift is no base64 after whsec_"},
	} {
		t.Run(name, func(t *testing.T) {
			failure := look(t, newSources(t, row.secret), define(serve(t, says(200, "")), ofPlugin, signed))
			NewWithT(t).Expect(failure).To(MatchError("VerificationSource prometheus: spec.signing.secretRef: " + row.expected))
			NewWithT(t).Expect(failure.Kind).To(BeEquivalentTo("BadSecret"))
		})
	}
}
