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

package dashboard

import (
	"context"
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

func TestACallToAnotherHostIsRefused(t *testing.T) {
	for _, host := range []string{"evil.example:4711", "evil.example", "localhost:4711", "127.0.0.1", "127.0.0.1:4712", "[::1]:4711", "127.0.0.1:4711.evil.example", ""} {
		for _, target := range []string{"/api/session", "/api/stream", "/", "/index.html"} {
			b := newBench(t)
			answered := b.serve(call("GET", target, "", func(request *http.Request) { request.Host = host }))
			NewWithT(t).Expect(answered.Code).To(Equal(403), host+target)
			NewWithT(t).Expect(answered.Body.String()).To(Equal(`{"reason":"ForeignHost","error":"this server answers to http://127.0.0.1:4711 alone"}`+"\n"), host+target)
			NewWithT(t).Expect(b.asked).To(BeEmpty(), host+target)
		}
	}
}

func TestACallWithoutTheKeyIsRefused(t *testing.T) {
	without := func(request *http.Request) { request.Header.Del("X-Altershield-Key") }
	for name, change := range map[string]func(*http.Request){
		"no key":       without,
		"empty":        header("X-Altershield-Key", ""),
		"wrong":        header("X-Altershield-Key", strings.Repeat("x", len(secret))),
		"a beginning":  header("X-Altershield-Key", secret[:10]),
		"one too long": header("X-Altershield-Key", secret+"x"),
		"in a cookie": func(request *http.Request) {
			without(request)
			request.AddCookie(&http.Cookie{Name: "X-Altershield-Key", Value: secret})
		},
		"in the query": func(request *http.Request) {
			without(request)
			request.URL.RawQuery = "key=" + secret + "&X-Altershield-Key=" + secret
		},
		"as a login": func(request *http.Request) { without(request); request.Header.Set("Authorization", "Bearer "+secret) },
	} {
		for _, target := range []string{"/api/session", "/api/stream", "/api/act/rollback", "/api/none"} {
			b := newBench(t, acting)
			answered := b.serve(call("GET", target, "", change))
			NewWithT(t).Expect(answered.Code).To(Equal(401), name)
			NewWithT(t).Expect(answered.Body.String()).To(ContainSubstring(`{"reason":"Unauthorized","error":"the key is missing or wrong`), name)
			NewWithT(t).Expect(answered.Body.String()).NotTo(ContainSubstring(secret), name)
			NewWithT(t).Expect(b.asked).To(BeEmpty(), name)
		}
	}
}

func TestACallOfAnotherPageIsRefused(t *testing.T) {
	for name, change := range map[string]func(*http.Request){
		"another origin":       header("Origin", "https://evil.example"),
		"an origin of a file":  header("Origin", "null"),
		"another port":         header("Origin", "http://127.0.0.1:8080"),
		"another scheme":       header("Origin", "https://127.0.0.1:4711"),
		"a beginning":          header("Origin", "http://127.0.0.1:4711.evil.example"),
		"a cross-site call":    header("Sec-Fetch-Site", "cross-site"),
		"a call of this host":  header("Sec-Fetch-Site", "same-site"),
		"what isn't known yet": header("Sec-Fetch-Site", "other"),
	} {
		for _, method := range []string{"GET", "POST", "OPTIONS"} {
			for _, target := range []string{"/api/session", "/api/act/rollback", "/"} {
				b := newBench(t, acting)
				answered := b.serve(call(method, target, `{"namespace":"shop","dryRun":true}`, change))
				NewWithT(t).Expect(answered.Code).To(Equal(403), name)
				NewWithT(t).Expect(answered.Body.String()).To(ContainSubstring(`{"reason":"ForeignOrigin","error":"another page may not`), name)
				NewWithT(t).Expect(b.asked).To(BeEmpty(), name)
			}
		}
	}
}

func TestNoAnswerAllowsAnotherOrigin(t *testing.T) {
	b := newBench(t)
	for _, request := range []*http.Request{
		call("OPTIONS", "/api/session", "", header("Access-Control-Request-Method", "GET"), header("Access-Control-Request-Headers", "x-altershield-key")),
		call("GET", "/api/session", "", header("Origin", "http://127.0.0.1:4711")), call("GET", "/", ""), call("GET", "/", "", header("Origin", "null")),
	} {
		for name := range b.serve(request).Header() {
			NewWithT(t).Expect(strings.HasPrefix(name, "Access-Control")).To(BeFalse(), name)
			NewWithT(t).Expect(name).NotTo(Equal("Set-Cookie"))
		}
	}
}

func TestACallOfTheOwnPageIsAnswered(t *testing.T) {
	for _, site := range []string{"same-origin", "none", ""} {
		g := NewWithT(t)
		b := newBench(t)
		answered := b.serve(call("GET", "/api/session?namespace=shop", "", header("Origin", "http://127.0.0.1:4711"), header("Sec-Fetch-Site", site)))
		g.Expect(answered.Code).To(Equal(200))
		g.Expect(answered.Body.String()).To(Equal(`{"kind":"Answer"}` + "\n"))
		g.Expect(answered.Header().Get("Content-Type")).To(Equal("application/json"))
		g.Expect(b.asked).To(Equal([]any{Query{Namespace: "shop"}}))
		g.Expect(b.deadline).To(BeTrue())
	}
}

func TestEachAnswerHasTheHeadersThatProtectThePage(t *testing.T) {
	b := newBench(t)
	for _, request := range []*http.Request{
		call("GET", "/", ""), call("GET", "/none", ""), call("GET", "/api/session", ""), call("GET", "/api/broken", ""), call("GET", "/api/none", ""),
		call("POST", "/api/act/rollback", ""), call("PUT", "/", ""), call("GET", "/", "", header("Origin", "null")),
		call("GET", "/api/session", "", header("X-Altershield-Key", "")), call("GET", "/", "", func(request *http.Request) { request.Host = "evil.example" }),
	} {
		headers := b.serve(request).Header()
		for name, value := range map[string]string{
			"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; " +
				"form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
			"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cross-Origin-Opener-Policy": "same-origin",
			"Cross-Origin-Resource-Policy": "same-origin",
		} {
			NewWithT(t).Expect(headers.Get(name)).To(Equal(value), "%s %s: %s", request.Method, request.URL, name)
		}
		if request.URL.Path != "/" {
			NewWithT(t).Expect(headers.Get("Cache-Control")).To(Equal("no-store"), request.URL.String())
		}
	}
}

func TestAKeyHas256RandomBits(t *testing.T) {
	seen := map[string]bool{}
	for range 100 {
		key := newKey()
		random, err := base64.RawURLEncoding.DecodeString(key)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		NewWithT(t).Expect(random).To(HaveLen(32))
		NewWithT(t).Expect(url.QueryEscape(key)).To(Equal(key))
		NewWithT(t).Expect(seen[key]).To(BeFalse())
		seen[key] = true
	}
}

func TestWhatCanNotBeEncodedIsAnError(t *testing.T) {
	b := newBench(t)
	b.backend.Reads["session"] = Read{Answer: func(context.Context, Query) (any, error) { return make(chan int), nil }}
	answered := b.serve(call("GET", "/api/session", ""))
	NewWithT(t).Expect(answered.Code).To(Equal(500))
	NewWithT(t).Expect(answered.Body.String()).To(Equal(`{"reason":"Error","error":"encoding the answer: json: unsupported type: chan int"}` + "\n"))
}
