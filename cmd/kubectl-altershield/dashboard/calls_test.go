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
	"net/http"
	"strings"
	"testing"
	"testing/fstest"

	. "github.com/onsi/gomega"

	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
)

func TestACallHasItsMethod(t *testing.T) {
	for target, allowed := range map[string]string{"/api/session": "GET", "/api/stream": "GET", "/api/none": "GET", "/api/act/rollback": "POST", "/api/act/none": "POST", "/": "GET, HEAD"} {
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"} {
			if strings.Contains(allowed, method) {
				continue
			}
			b := newBench(t, acting)
			answered := b.serve(call(method, target, ""))
			NewWithT(t).Expect(answered.Code).To(Equal(405), method+" "+target)
			NewWithT(t).Expect(answered.Header().Get("Allow")).To(Equal(allowed), method+" "+target)
			NewWithT(t).Expect(b.asked).To(BeEmpty(), method+" "+target)
		}
	}
}

func TestWhatIsNoCallIsNotFound(t *testing.T) {
	b := newBench(t, acting)
	for _, target := range []string{
		"/api/", "/api/none", "/api/secrets", "/api/configmaps", "/api/v1/namespaces/shop/secrets", "/api/session/", "/api/session/..", "/api//session", "/api/../api/session",
		"/api/%2e%2e/session", "/apis", "/Api/session",
	} {
		answered := b.serve(call("GET", target, ""))
		NewWithT(t).Expect(answered.Code).To(Equal(404), target)
		NewWithT(t).Expect(answered.Body.String()).To(ContainSubstring(`"reason":"NotFound"`), target)
	}
	NewWithT(t).Expect(b.serve(call("POST", "/api/act/none", `{"namespace":"shop","dryRun":true}`)).Code).To(Equal(404))
	NewWithT(t).Expect(b.serve(call("POST", "/api/act/rollback/", `{"namespace":"shop","dryRun":true}`)).Code).To(Equal(404))
	NewWithT(t).Expect(b.asked).To(BeEmpty())
}

func TestNoPathLeadsOutOfThePage(t *testing.T) {
	b := newBench(t)
	for _, target := range []string{
		"/../server.go", "/..%2fserver.go", "/assets/index.html", "/assets/../index.html", "/./index.html", "//index.html", "/%2e%2e/%2e%2e/etc/passwd", "/index.html/", "/etc/passwd",
		"/index.html%00.js", "/page/app.tsx", "/\\..\\server.go",
	} {
		request := call("GET", "/", "")
		request.URL.Path, request.URL.RawPath = strings.NewReplacer("%2f", "/", "%2e", ".", "%00", "\x00").Replace(target), target
		answered := b.serve(request)
		NewWithT(t).Expect(answered.Code).To(Equal(404), target)
		NewWithT(t).Expect(answered.Body.String()).To(Equal(`{"reason":"NotFound","error":"there is no such page"}`+"\n"), target)
	}
}

func TestTheFilesOfThePage(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t)
	for _, target := range []string{"/", "/index.html"} {
		answered := b.serve(call("GET", target, "", header("X-Altershield-Key", "")))
		g.Expect(answered.Code).To(Equal(200), "the page has no key yet")
		g.Expect(answered.Header().Get("Content-Type")).To(Equal("text/html; charset=utf-8"))
		g.Expect(answered.Header().Get("Cache-Control")).To(Equal("no-cache"))
		g.Expect(answered.Body.String()).To(ContainSubstring("<title>"))
	}
	g.Expect(b.serve(call("HEAD", "/", "")).Body.Len()).To(BeZero())

	files := fstest.MapFS{"assets/index.html": {Data: []byte("hi")}, "assets/app-1a2b3c4d.js": {Data: []byte("js")}, "assets/app-1a2b3c4d.js.map": {Data: []byte("no")}, "assets/app.css": {}}
	assets, err := assetsIn(files)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(assets).To(HaveLen(4))
	b.assets = assets
	answered := b.serve(call("GET", "/app-1a2b3c4d.js", ""))
	g.Expect(answered.Header().Get("Cache-Control")).To(Equal("public, max-age=31536000, immutable"))
	g.Expect(answered.Header().Get("Content-Type")).To(Equal("text/javascript; charset=utf-8"))
	g.Expect(b.serve(call("GET", "/app.css", "")).Header().Get("Cache-Control")).To(Equal("no-cache"))
	g.Expect(b.serve(call("GET", "/app-1a2b3c4d.js.map", "")).Code).To(Equal(404))
	_, err = assetsIn(fstest.MapFS{})
	g.Expect(err).To(MatchError(ContainSubstring("file does not exist")))
}

func TestACallAboutAWorkloadNamesOne(t *testing.T) {
	for _, query := range []string{
		"", "kind=Deployment&name=web", "namespace=shop&name=web", "namespace=shop&kind=Deployment", "namespace=shop&kind=../../secrets&name=web", "namespace=shop&kind=Deploy/ment&name=web",
		"namespace=shop&kind=Deployment&name=../secrets", "namespace=shop&kind=Deployment&name=a%2fb", "namespace=shop&kind=Deployment&name=..", "namespace=..&kind=Deployment&name=web",
		"namespace=a/b&kind=Deployment&name=web", "namespace=shop&kind=Deployment&name=" + strings.Repeat("a", 254), "namespace=shop&kind=Deployment&name=web%00",
	} {
		b := newBench(t)
		answered := b.serve(call("GET", "/api/status?"+query, ""))
		NewWithT(t).Expect(answered.Code).To(Equal(400), query)
		NewWithT(t).Expect(answered.Body.String()).To(ContainSubstring(`"reason":"Invalid"`), query)
		NewWithT(t).Expect(b.asked).To(BeEmpty(), query)
	}
	b := newBench(t)
	NewWithT(t).Expect(b.serve(call("GET", "/api/status?namespace=shop&kind=Deployment&name=web.v1&from=5&to=7", "")).Code).To(Equal(200))
	NewWithT(t).Expect(b.asked).To(Equal([]any{Query{"shop", "Deployment", "web.v1", "5", "7"}}))
	for _, target := range []string{"/api/session", "/api/stream"} {
		NewWithT(t).Expect(b.serve(call("GET", target+"?namespace=../x", "")).Code).To(Equal(400), target)
	}
}

func TestAnErrorOfTheClusterIsASentence(t *testing.T) {
	answered := newBench(t).serve(call("GET", "/api/broken", ""))
	NewWithT(t).Expect(answered.Code).To(Equal(503))
	NewWithT(t).Expect(answered.Body.String()).To(Equal(`{"reason":"Unavailable","error":"disk full"}` + "\n"))
}

func TestWithoutALimitACallHasNone(t *testing.T) {
	b := newBench(t, func(options *Options) { options.Timeout = 0 })
	NewWithT(t).Expect(b.serve(call("GET", "/api/session", "")).Code).To(Equal(200))
	NewWithT(t).Expect(b.deadline).To(BeFalse())
}

const rollback = `{"namespace":"shop","kind":"Deployment","name":"web","to":"5","from":{"release":7,"version":"49"},"dryRun":true}`

func TestAPageThatReadsDoesNotAct(t *testing.T) {
	b := newBench(t)
	for _, target := range []string{"/api/act/rollback", "/api/act/none"} {
		answered := b.serve(call("POST", target, rollback))
		NewWithT(t).Expect(answered.Code).To(Equal(403))
		NewWithT(t).Expect(answered.Body.String()).To(ContainSubstring(`{"reason":"ReadOnly","error":"this page only reads`))
	}
	NewWithT(t).Expect(b.asked).To(BeEmpty())
}

func TestAPageThatActsHandsOverWhatIsAskedFor(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, acting)
	answered := b.serve(call("POST", "/api/act/rollback", rollback))
	g.Expect(answered.Code).To(Equal(200), answered.Body.String())
	g.Expect(b.asked).To(HaveLen(1))
	ask := b.asked[0].(Ask)
	g.Expect(*ask.DryRun).To(BeTrue())
	ask.DryRun = nil
	g.Expect(ask).To(Equal(Ask{Namespace: "shop", Kind: "Deployment", Name: "web", To: "5", From: &view.Side{Release: 7, Version: "49"}}))
}

func TestABodyThatCanBeMistakenDoesNothing(t *testing.T) {
	for name, body := range map[string]string{
		"none":                  "",
		"no JSON":               "namespace=shop",
		"a list":                "[]",
		"no dryRun":             `{"namespace":"shop","kind":"Deployment","name":"web"}`,
		"dryRun misspelt":       `{"namespace":"shop","kind":"Deployment","name":"web","dryrunn":true}`,
		"dryRun null":           `{"namespace":"shop","dryRun":null}`,
		"an unknown field":      `{"namespace":"shop","dryRun":true,"force":true}`,
		"two bodies":            rollback + rollback,
		"no namespace":          `{"kind":"Deployment","name":"web","dryRun":true}`,
		"a path as namespace":   `{"namespace":"../x","dryRun":true}`,
		"a path as kind":        `{"namespace":"shop","kind":"../secrets","name":"web","dryRun":true}`,
		"a path as name":        `{"namespace":"shop","kind":"Deployment","name":"../x","dryRun":true}`,
		"a kind without a name": `{"namespace":"shop","kind":"Deployment","dryRun":true}`,
		"a path as batch":       `{"namespace":"shop","changePod":"../x","dryRun":true}`,
		"a path as pod":         `{"namespace":"shop","pod":"a/b","dryRun":true}`,
		"a path as lock":        `{"namespace":"shop","lock":"..","dryRun":true}`,
	} {
		b := newBench(t, acting)
		answered := b.serve(call("POST", "/api/act/rollback", body))
		NewWithT(t).Expect(answered.Code).To(Equal(400), name)
		NewWithT(t).Expect(answered.Body.String()).To(ContainSubstring(`"reason":"Invalid"`), name)
		NewWithT(t).Expect(b.asked).To(BeEmpty(), name)
	}
}

func TestALongBodyIsRefused(t *testing.T) {
	b := newBench(t, acting)
	answered := b.serve(call("POST", "/api/act/rollback", `{"namespace":"shop","dryRun":true,"reason":"`+strings.Repeat("a", 64<<10)+`"}`))
	NewWithT(t).Expect(answered.Code).To(Equal(http.StatusRequestEntityTooLarge))
	NewWithT(t).Expect(answered.Body.String()).To(Equal(`{"reason":"Invalid","error":"the call is longer than 65536 bytes"}` + "\n"))
	NewWithT(t).Expect(b.asked).To(BeEmpty())
}
