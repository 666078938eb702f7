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
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/clock"
	testingclock "k8s.io/utils/clock/testing"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

var now = time.Date(2026, 11, 22, 16, 41, 52, 0, time.UTC)

const (
	address = "127.0.0.1:4711"
	secret  = "c2VjcmV0LXNlY3JldC1zZWNyZXQ"
)

// bench is a server with a backend that notes what it is asked.
type bench struct {
	t *testing.T
	*server
	fake *testingclock.FakeClock
	// asked are the calls that reached the backend.
	asked []any
	// follows takes each feed that is followed.
	follows func(ctx context.Context, namespace string, feed Feed) error
	// deadline reports whether the last call had one.
	deadline bool
	// within is how long a call over a connection may take.
	within time.Duration
}

func newBench(t *testing.T, change ...func(*Options)) *bench {
	t.Helper()
	b := &bench{t: t, fake: testingclock.NewFakeClock(now)}
	note := func(ctx context.Context, what any) (any, error) {
		_, b.deadline = ctx.Deadline()
		b.asked = append(b.asked, what)
		return map[string]string{"kind": "Answer"}, nil
	}
	options := Options{ReadOnly: true, Clock: b.fake, Timeout: time.Minute, Backend: Backend{
		Reads: map[string]Read{
			"session": {Answer: func(ctx context.Context, query Query) (any, error) { return note(ctx, query) }},
			"status":  {OfWorkload: true, Answer: func(ctx context.Context, query Query) (any, error) { return note(ctx, query) }},
			"broken":  {Answer: func(context.Context, Query) (any, error) { return nil, errors.New("disk full") }},
		},
		Acts: map[string]Act{"rollback": func(ctx context.Context, ask Ask) (any, error) { return note(ctx, ask) }},
		Follow: func(ctx context.Context, namespace string, feed Feed) error {
			b.asked = append(b.asked, namespace)
			return b.follows(ctx, namespace, feed)
		},
		Explain: func(err error) Failure { return Failure{503, Unavailable, err.Error()} },
	}}
	for _, changed := range change {
		changed(&options)
	}
	created, err := newServer(options, address, secret)
	if err != nil {
		t.Fatal(err)
	}
	b.server = created
	return b
}

func acting(options *Options) { options.ReadOnly = false }

func realClock(options *Options) { options.Clock = clock.RealClock{} }

// call returns a call as the page makes it.
func call(method, target, body string, changes ...func(*http.Request)) *http.Request {
	request := httptest.NewRequest(method, target, strings.NewReader(body))
	request.Host = address
	request.Header.Set("X-Altershield-Key", secret)
	for _, change := range changes {
		change(request)
	}
	return request
}

func header(name, value string) func(*http.Request) {
	return func(request *http.Request) { request.Header.Set(name, value) }
}

// serve returns the answer to a call.
func (b *bench) serve(request *http.Request) *httptest.ResponseRecorder {
	b.t.Helper()
	recorder := httptest.NewRecorder()
	b.ServeHTTP(recorder, request)
	return recorder
}

// record returns the record of a release of a Deployment.
func record(name string, number int64, phase string) appv1alpha1.ChangeWorkload {
	created := appv1alpha1.ChangeWorkload{}
	created.Namespace, created.Name = "shop", name+"--x--"+phase
	created.Spec.AppName, created.Spec.Release, created.Spec.Reversion, created.Spec.CreateTimeUnix = name, number, "a1", now.Unix()
	created.Spec.WorkloadRef = &appv1alpha1.WorkloadReference{APIVersion: "apps/v1", Kind: "Deployment", Name: name}
	return created
}
