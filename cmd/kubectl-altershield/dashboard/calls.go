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
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

const (
	calls = "/api/"
	acts  = calls + "act/"
)

// ServeHTTP answers a call of the page, or with a file of it.
func (s *server) ServeHTTP(writer http.ResponseWriter, request *http.Request) {
	secure(writer.Header())
	if failure, ok := s.guard(request); !ok {
		refuse(writer, failure)
		return
	}
	if !strings.HasPrefix(request.URL.Path, calls) {
		s.page(writer, request)
		return
	}
	if request.URL.Path == calls+"key" {
		s.trade(writer, request)
		return
	}
	if !isKey(request.Header.Get(KeyHeader), s.key) {
		refuse(writer, keyless())
		return
	}
	done := s.idle.begin()
	defer done()
	switch verb, isAct := strings.CutPrefix(request.URL.Path, acts); {
	case isAct:
		s.act(writer, request, verb)
	case request.Method != http.MethodGet:
		writer.Header().Set("Allow", http.MethodGet)
		refuse(writer, Failure{http.StatusMethodNotAllowed, MethodNotAllowed, "this call is read with GET"})
	case request.URL.Path == calls+"stream":
		s.stream(writer, request)
	default:
		s.read(writer, request, strings.TrimPrefix(request.URL.Path, calls))
	}
}

func (s *server) read(writer http.ResponseWriter, request *http.Request, call string) {
	read, known := s.backend.Reads[call]
	if !known {
		refuse(writer, Failure{http.StatusNotFound, NotFound, "there is no such call"})
		return
	}
	query := queryOf(request.URL.Query())
	if err := query.validate(read.OfWorkload); err != nil {
		refuse(writer, Failure{http.StatusBadRequest, Invalid, err.Error()})
		return
	}
	s.tell(writer, request, func(ctx context.Context) (any, error) { return read.Answer(ctx, query) })
}

// tell answers with what the cluster answers in time.
func (s *server) tell(writer http.ResponseWriter, request *http.Request, ask func(context.Context) (any, error)) {
	ctx, cancel := request.Context(), context.CancelFunc(func() {})
	if s.timeout > 0 {
		ctx, cancel = context.WithTimeout(ctx, s.timeout)
	}
	defer cancel()
	model, err := ask(ctx)
	extend(http.NewResponseController(writer)) // the cluster has had its own time
	if err != nil {
		refuse(writer, s.backend.Explain(err))
		return
	}
	answer(writer, http.StatusOK, model)
}

func queryOf(values url.Values) Query {
	return Query{
		Namespace: values.Get("namespace"), Kind: values.Get("kind"), Name: values.Get("name"), From: values.Get("from"), To: values.Get("to"),
	}
}

func (q Query) validate(ofWorkload bool) error {
	if q.Namespace != "" && len(validation.IsDNS1123Label(q.Namespace)) > 0 {
		return fmt.Errorf("%q is no name of a namespace", q.Namespace)
	}
	if !ofWorkload {
		return nil
	}
	return validateWorkload(q.Namespace, q.Kind, q.Name)
}

// validateWorkload keeps names that are none from becoming parts of paths of the API server.
func validateWorkload(namespace, kind, name string) error {
	word, group, _ := strings.Cut(kind, ".") // kinds of the same name differ by their groups
	switch {
	case len(validation.IsDNS1123Label(namespace)) > 0:
		return fmt.Errorf("%q is no name of a namespace", namespace)
	case !regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]{0,62}$`).MatchString(word), group != "" && len(validation.IsDNS1123Subdomain(group)) > 0:
		return fmt.Errorf("%q is no kind", kind)
	case len(validation.IsDNS1123Subdomain(name)) > 0:
		return fmt.Errorf("%q is no name of a workload", name)
	}
	return nil
}

// act does what a user asks for, after the API server has checked it by a dry run.
func (s *server) act(writer http.ResponseWriter, request *http.Request, verb string) {
	act, known := s.backend.Acts[verb]
	switch {
	case request.Method != http.MethodPost:
		writer.Header().Set("Allow", http.MethodPost)
		refuse(writer, Failure{http.StatusMethodNotAllowed, MethodNotAllowed, "this call is made with POST"})
		return
	case s.readOnly:
		refuse(writer, Failure{http.StatusForbidden, ReadOnly, "this page only reads: start it with --read-only=false to act"})
		return
	case !known:
		refuse(writer, Failure{http.StatusNotFound, NotFound, "there is no such call"})
		return
	}
	var ask Ask
	if failure, ok := decode(http.MaxBytesReader(writer, request.Body, maxBody), &ask); !ok {
		refuse(writer, failure)
		return
	}
	if err := ask.validate(); err != nil {
		refuse(writer, Failure{http.StatusBadRequest, Invalid, err.Error()})
		return
	}
	s.tell(writer, request, func(ctx context.Context) (any, error) { return act(ctx, ask) })
}

// decode reads the body of a call.
func decode(body io.Reader, into any) (Failure, bool) {
	decoder := json.NewDecoder(body)
	decoder.DisallowUnknownFields()
	err := decoder.Decode(into)
	if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
		return Failure{http.StatusRequestEntityTooLarge, Invalid, fmt.Sprintf("the call is longer than %d bytes", maxBody)}, false
	}
	if err != nil {
		return Failure{http.StatusBadRequest, Invalid, "the call can't be read: " + err.Error()}, false
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return Failure{http.StatusBadRequest, Invalid, "the call has something after its body"}, false
	}
	return Failure{}, true
}

func (a Ask) validate() error {
	switch {
	case a.DryRun == nil:
		return errors.New("dryRun must be true or false")
	case len(validation.IsDNS1123Label(a.Namespace)) > 0:
		return fmt.Errorf("%q is no name of a namespace", a.Namespace)
	}
	for _, name := range []string{a.ChangePod, a.Pod, a.Lock} {
		if name != "" && len(validation.IsDNS1123Subdomain(name)) > 0 {
			return fmt.Errorf("%q is no name of an object", name)
		}
	}
	if a.Kind == "" && a.Name == "" {
		return nil
	}
	return validateWorkload(a.Namespace, a.Kind, a.Name)
}
