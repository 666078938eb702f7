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

package dynamic_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path"
	"strconv"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
)

// stub is an API server with pods and gadgets, of which it lists, watches, creates, reads and patches labels.
type stub struct {
	mutex    sync.Mutex
	version  int
	objects  map[string]map[string]any
	watchers map[chan []byte]string
	// watches counts the watches of gadgets.
	watches int
}

// newStub starts a stub and returns how to reach it.
func newStub(t *testing.T) (*stub, *rest.Config) {
	t.Helper()
	s := &stub{objects: map[string]map[string]any{}, watchers: map[chan []byte]string{}}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return s, &rest.Config{Host: server.URL, QPS: -1}
}

const discovered = `{"kind":"%[1]s","groupVersion":"%[2]s","resources":[{"name":"%[3]s","kind":"%[4]s","namespaced":true,"verbs":["get","list","watch","patch"]}]}`

func (s *stub) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	kind, apiVersion := "Pod", "v1"
	if strings.Contains(request.URL.Path, "gadgets") {
		kind, apiVersion = "Gadget", "example.com/v1"
	}
	isList := strings.HasSuffix(request.URL.Path, "/pods") || strings.HasSuffix(request.URL.Path, "/gadgets")
	switch {
	case request.URL.Path == "/api":
		fmt.Fprint(w, `{"kind":"APIVersions","versions":["v1"]}`)
	case request.URL.Path == "/apis":
		fmt.Fprint(w, `{"kind":"APIGroupList","groups":[{"name":"example.com","versions":[{"groupVersion":"example.com/v1","version":"v1"}],"preferredVersion":{"groupVersion":"example.com/v1","version":"v1"}}]}`)
	case request.URL.Path == "/api/v1":
		fmt.Fprintf(w, discovered, "APIResourceList", "v1", "pods", "Pod")
	case request.URL.Path == "/apis/example.com/v1":
		fmt.Fprintf(w, discovered, "APIResourceList", "example.com/v1", "gadgets", "Gadget")
	case request.URL.Query().Get("sendInitialEvents") != "":
		s.fail(w, http.StatusUnprocessableEntity, "Invalid")
	case request.URL.Query().Get("watch") != "":
		s.watch(w, request, kind)
	case isList && request.Method == http.MethodGet:
		s.list(w, kind, apiVersion)
	default:
		s.one(w, request)
	}
}

func (s *stub) fail(w http.ResponseWriter, code int, reason string) {
	w.WriteHeader(code)
	fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d}`, reason, code)
}

func (s *stub) list(w http.ResponseWriter, kind, apiVersion string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	items := []map[string]any{}
	for _, object := range s.objects {
		if object["kind"] == kind {
			items = append(items, object)
		}
	}
	_ = json.NewEncoder(w).Encode(map[string]any{
		"kind": kind + "List", "apiVersion": apiVersion, "metadata": map[string]any{"resourceVersion": strconv.Itoa(s.version + 1)}, "items": items,
	})
}

func (s *stub) watch(w http.ResponseWriter, request *http.Request, kind string) {
	events := make(chan []byte, 100)
	s.mutex.Lock()
	s.watchers[events] = kind
	if kind == "Gadget" {
		s.watches++
	}
	s.mutex.Unlock()
	defer func() {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		delete(s.watchers, events)
		if kind == "Gadget" {
			s.watches--
		}
	}()
	w.WriteHeader(http.StatusOK)
	w.(http.Flusher).Flush()
	for {
		select {
		case <-request.Context().Done():
			return
		case event := <-events:
			_, _ = w.Write(event)
			w.(http.Flusher).Flush()
		}
	}
}

// watched returns the number of open watches of gadgets.
func (s *stub) watched() int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.watches
}

// one creates, reads or patches an object.
func (s *stub) one(w http.ResponseWriter, request *http.Request) {
	var body map[string]any
	_ = json.NewDecoder(request.Body).Decode(&body)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	name, happened := path.Base(request.URL.Path), ""
	switch request.Method {
	case http.MethodPost:
		name, happened = body["metadata"].(map[string]any)["name"].(string), "ADDED"
		s.objects[name] = body
		body["metadata"].(map[string]any)["uid"] = name
	case http.MethodPatch:
		happened = "MODIFIED"
	}
	object, found := s.objects[name]
	if !found {
		s.fail(w, http.StatusNotFound, "NotFound")
		return
	}
	if happened == "MODIFIED" {
		object["metadata"].(map[string]any)["labels"].(map[string]any)["a"] = "b"
	}
	if happened != "" {
		s.version++
		object["metadata"].(map[string]any)["resourceVersion"] = strconv.Itoa(s.version)
		event, _ := json.Marshal(map[string]any{"type": happened, "object": object})
		for events, kind := range s.watchers {
			if kind == object["kind"] {
				events <- event
			}
		}
	}
	_ = json.NewEncoder(w).Encode(object)
}
