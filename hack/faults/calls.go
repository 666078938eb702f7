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

package main

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"net/http"
	"time"

	"github.com/traas-stack/altershield-operator/hack/lab"
)

const (
	// tellFor is how long a callback is sent again, tellTimeout how long an answer may take.
	tellFor, tellTimeout = 30 * time.Second, 6 * time.Second
)

// relay receives callbacks of the server and delivers them until the manager accepts them. AlterShield Server v1.0 sends a verdict
// only once. The effect of a lost one is known (the batch waits for two minutes, and then only a pass is found), and is not tested
// here.
type relay struct {
	// ctx is the context of the whole run: a callback outlives its request.
	ctx    context.Context
	target string
}

// ServeHTTP receives a callback.
func (r relay) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	header := request.Header.Clone()
	go func() {
		_ = lab.Until(r.ctx, tellFor, "the answer to a callback", func(ctx context.Context) error { return r.tell(ctx, header, body) })
	}()
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"success":true}`) // the server ignores the answer
}

// tell delivers a callback once.
func (r relay) tell(ctx context.Context, header http.Header, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, tellTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, r.target, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header = header.Clone()
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	return cmp.Or(err, expect(response.StatusCode == http.StatusOK, "the manager answers %s", response.Status))
}
