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

package command_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// page is a page that the plugin serves.
type page struct {
	t            *testing.T
	address, key string
	// said is what was printed, ended what the run left.
	said  string
	ended chan answer
	stop  context.CancelFunc
}

// announced takes what is printed.
type announced chan string

func (a announced) Write(text []byte) (int, error) {
	a <- string(text)
	return len(text), nil
}

// page serves the page until the test ends.
func (b *bench) page(args ...string) *page {
	b.t.Helper()
	if b.browse == nil {
		b.browse = func(string) error { return nil }
	}
	said := make(announced, 10)
	b.out = said
	ctx, stop := context.WithCancel(b.t.Context())
	p := &page{t: b.t, ended: make(chan answer, 1), stop: stop}
	go func() { p.ended <- b.runIn(ctx, append([]string{"dashboard"}, args...)...) }()
	select {
	case p.said = <-said:
	case answer := <-p.ended:
		b.t.Fatalf("it ended: %v", answer)
	case <-time.After(10 * time.Second):
		b.t.Fatal("it doesn't begin")
	}
	b.out = nil
	url, _, _ := strings.Cut(p.said, "\n")
	p.address, p.key, _ = strings.Cut(strings.TrimPrefix(url, "http://"), "/#")
	b.t.Cleanup(func() {
		stop()
		select {
		case <-p.ended:
		case <-time.After(10 * time.Second):
			b.t.Error("it doesn't end")
		}
	})
	return p
}

// send makes a call, and returns its answer before the body is read.
func (p *page) send(method, target, body string) *http.Response {
	p.t.Helper()
	request, err := http.NewRequestWithContext(p.t.Context(), method, "http://"+p.address+target, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	request.Header.Set("X-Altershield-Key", p.key)
	answered, err := http.DefaultClient.Do(request)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = answered.Body.Close() })
	return answered
}

// call makes a call, and returns the status and the body.
func (p *page) call(method, target, body string) (int, string) {
	p.t.Helper()
	answered := p.send(method, target, body) //nolint:bodyclose // closed after the test
	text, err := io.ReadAll(answered.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return answered.StatusCode, string(text)
}

// get reads a call that must succeed.
func (p *page) get(g Gomega, target string) string {
	p.t.Helper()
	code, body := p.call(http.MethodGet, target, "")
	g.Expect(code).To(Equal(200), target+": "+body)
	return body
}

// stream opens the stream, and returns what reads the next line that is no beat.
func (p *page) stream(target string) func() string {
	p.t.Helper()
	answered := p.send(http.MethodGet, target, "") //nolint:bodyclose // closed after the test
	if answered.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(answered.Body)
		p.t.Fatalf("%d %s", answered.StatusCode, text)
	}
	lines := bufio.NewReader(answered.Body)
	return func() string {
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return err.Error()
			}
			if !strings.HasPrefix(line, `{"type":"beat"`) {
				return line
			}
		}
	}
}

// compact returns JSON without white space, its fields in order.
func compact(t *testing.T, text string) string {
	t.Helper()
	var fields any
	if err := json.Unmarshal([]byte(text), &fields); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	encoded, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return string(encoded)
}
