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
package browser

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// key is the key of the fake plugin.
const key = "c2VjcmV0LWtleQ"

// policy is the content security policy of the plugin.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"

const assets = "../../../cmd/kubectl-altershield/dashboard/assets"

// object is an object of JSON.
type object = map[string]any

// fake answers the calls of the page in place of the plugin.
type fake struct {
	url string

	mutex   sync.Mutex
	answers map[string]any
	// failures are the answers with which calls fail, by path.
	failures map[string]failure
	// delays are how long calls take, by path.
	delays  map[string]time.Duration
	acted   []object
	streams []chan string
	// refusing refuses streams, as a plugin that isn't there.
	refusing bool
	first    string
}

type failure struct {
	status int
	body   object
}

// serve starts a fake with answers by the path below /api/. The stream begins with the releases.
func serve(t testing.TB, releases []object, answers map[string]any) *fake {
	t.Helper()
	of := &fake{answers: answers, failures: map[string]failure{}, delays: map[string]time.Duration{}, first: line(t, object{"type": "snapshot", "now": now, "list": object{"kind": "ReleaseList", "items": releases}})}
	server := httptest.NewServer(of)
	of.url = server.URL
	t.Cleanup(func() {
		of.cut()
		server.CloseClientConnections()
		server.Close()
	})
	return of
}

func line(t testing.TB, of object) string {
	t.Helper()
	encoded, err := json.Marshal(of)
	if err != nil {
		t.Fatal(err)
	}
	return string(encoded) + "\n"
}

func (f *fake) ServeHTTP(writer http.ResponseWriter, request *http.Request) {
	header := writer.Header()
	header.Set("Content-Security-Policy", policy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	call, isCall := strings.CutPrefix(request.URL.Path, "/api/")
	switch {
	case !isCall:
		f.asset(writer, request)
	case request.Header.Get("X-Altershield-Key") != key:
		tell(writer, http.StatusUnauthorized, object{"error": "the key is missing or wrong", "reason": "Unauthorized"})
	case call == "stream":
		f.stream(writer, request)
	case strings.HasPrefix(call, "act/"):
		f.act(writer, request, strings.TrimPrefix(call, "act/"))
	default:
		f.answer(writer, request, call)
	}
}

func (f *fake) asset(writer http.ResponseWriter, request *http.Request) {
	name := path.Base(request.URL.Path)
	if request.URL.Path == "/" {
		name = "index.html"
	}
	content, err := os.ReadFile(filepath.Join(assets, name))
	if err != nil {
		http.NotFound(writer, request)
		return
	}
	kinds := map[string]string{".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".txt": "text/plain"}
	writer.Header().Set("Content-Type", kinds[path.Ext(name)])
	_, _ = writer.Write(content) // the browser is gone otherwise
}

func (f *fake) answer(writer http.ResponseWriter, request *http.Request, call string) {
	f.mutex.Lock()
	delay := f.delays[call]
	f.mutex.Unlock()
	select {
	case <-time.After(delay):
	case <-request.Context().Done():
		return
	}
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if failed, has := f.failures[call]; has {
		tell(writer, failed.status, failed.body)
		return
	}
	answer, has := f.answers[call]
	if !has {
		tell(writer, http.StatusNotFound, object{"error": "there is no " + call, "reason": "NotFound"})
		return
	}
	if call == "releases" {
		answer = during(answer.(object), request.URL.Query())
	}
	tell(writer, http.StatusOK, answer)
}

// during returns the records of a period, as the plugin does.
func during(export object, query url.Values) object {
	var items []object
	for _, item := range export["items"].([]object) {
		if started := item["startedAt"].(string); started >= query.Get("from") && started < query.Get("to") {
			items = append(items, item)
		}
	}
	return with(export, object{"items": items})
}

func (f *fake) act(writer http.ResponseWriter, request *http.Request, verb string) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	var asked object
	body, err := io.ReadAll(request.Body)
	if err != nil || json.Unmarshal(body, &asked) != nil {
		tell(writer, http.StatusBadRequest, object{"error": "the body is no object", "reason": "Invalid"})
		return
	}
	asked["verb"] = verb
	f.acted = append(f.acted, asked)
	if failed, has := f.failures["act/"+verb]; has {
		tell(writer, failed.status, failed.body)
		return
	}
	tell(writer, http.StatusOK, f.answers["act/"+verb])
}

// acts returns the bodies of the calls that act, with their verb.
func (f *fake) acts() []object {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return append([]object(nil), f.acted...)
}

func (f *fake) stream(writer http.ResponseWriter, request *http.Request) {
	f.mutex.Lock()
	if f.refusing {
		f.mutex.Unlock()
		tell(writer, http.StatusServiceUnavailable, object{"error": "the API server can't be reached", "reason": "Unavailable"})
		return
	}
	lines := make(chan string, 16)
	f.streams = append(f.streams, lines)
	first, delay := f.first, f.delays["stream"]
	f.mutex.Unlock()
	select {
	case <-time.After(delay):
	case <-request.Context().Done():
		return
	}
	writer.Header().Set("Content-Type", "application/x-ndjson")
	for text := first; ; {
		if _, err := io.WriteString(writer, text); err != nil {
			return
		}
		writer.(http.Flusher).Flush()
		select {
		case <-request.Context().Done():
			return
		case more, isOpen := <-lines:
			if !isOpen {
				panic(http.ErrAbortHandler) // a connection that breaks, not a stream that ends well
			}
			text = more
		}
	}
}

// send sends a line to each page.
func (f *fake) send(t testing.TB, of object) {
	t.Helper()
	f.mutex.Lock()
	defer f.mutex.Unlock()
	for _, lines := range f.streams {
		lines <- line(t, of)
	}
}

// cut breaks the streams.
func (f *fake) cut() {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	for _, lines := range f.streams {
		close(lines)
	}
	f.streams = nil
}

func (f *fake) refuse(refusing bool) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.refusing = refusing
}

func (f *fake) fail(call string, status int, body object) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.failures[call] = failure{status, body}
}

// mend ends the failures of a call.
func (f *fake) mend(call string) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	delete(f.failures, call)
}

// delay has a call take its time.
func (f *fake) delay(call string, by time.Duration) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.delays[call] = by
}

// change changes fields of an answer.
func (f *fake) change(call string, more object) { f.set(call, with(f.answers[call].(object), more)) }

func (f *fake) set(call string, answer any) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.answers[call] = answer
}

func tell(writer http.ResponseWriter, status int, body any) {
	writer.Header().Set("Content-Type", "application/json")
	writer.Header().Set("Cache-Control", "no-store")
	writer.WriteHeader(status)
	_ = json.NewEncoder(writer).Encode(body) // the browser is gone otherwise
}

// sendText sends a text to each page as it is.
func (f *fake) sendText(text string) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	for _, lines := range f.streams {
		lines <- text
	}
}

func containsKey(address string) bool { return strings.Contains(address, key) }
