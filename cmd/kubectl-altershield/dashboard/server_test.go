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
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// running is a server on a port.
type running struct {
	t            *testing.T
	address, key string
	ended        chan error
}

// run runs a server until the context ends.
func (b *bench) run(ctx context.Context) *running {
	b.t.Helper()
	started := make(chan string, 1)
	r := &running{t: b.t, ended: make(chan error, 1)}
	go func() {
		r.ended <- Serve(ctx, Options{Backend: b.backend, Clock: b.fake, Timeout: time.Minute, Started: func(url, _ string) error { started <- url; return nil }})
	}()
	select {
	case url := <-started:
		r.address, r.key, _ = strings.Cut(strings.TrimPrefix(url, "http://"), "/#")
	case err := <-r.ended:
		b.t.Fatal(err)
	}
	return r
}

// get makes a call with a key.
func (r *running) get(target, key string) *http.Response {
	r.t.Helper()
	request, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, "http://"+r.address+target, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	request.Header.Set("X-Altershield-Key", key)
	answer, err := new(http.Transport).RoundTrip(request)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = answer.Body.Close() })
	return answer
}

// status returns the status of a call with a key.
func (r *running) status(target, key string) int {
	r.t.Helper()
	return r.get(target, key).StatusCode //nolint:bodyclose // closed after the test
}

// raw sends bytes and returns the first line of the answer.
func (r *running) raw(text string) string {
	r.t.Helper()
	connection, err := net.Dial("tcp", r.address)
	if err != nil {
		r.t.Fatal(err)
	}
	defer connection.Close()
	if _, err := io.WriteString(connection, text); err != nil {
		r.t.Fatal(err)
	}
	line, _ := bufio.NewReader(connection).ReadString('\n')
	return strings.TrimSpace(line)
}

func TestAServerIsOnTheLoopbackAddressAloneWithAKeyInTheFragment(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t)
	ctx, cancel := context.WithCancel(t.Context())
	first, second := b.run(ctx), newBench(t).run(ctx)
	g.Expect(first.address).To(MatchRegexp(`^127\.0\.0\.1:\d+$`))
	g.Expect(first.key).To(HaveLen(43))
	g.Expect(first.key).NotTo(Equal(second.key))
	g.Expect(first.address).NotTo(Equal(second.address))
	g.Expect(first.status("/", "")).To(Equal(200))
	g.Expect(first.status("/api/session", first.key)).To(Equal(200))
	g.Expect(first.status("/api/session", second.key)).To(Equal(401))
	_, port, err := net.SplitHostPort(first.address)
	g.Expect(err).NotTo(HaveOccurred())
	addresses, err := net.InterfaceAddrs()
	g.Expect(err).NotTo(HaveOccurred())
	for _, other := range addresses {
		if ip := other.(*net.IPNet).IP; !ip.IsLoopback() && ip.To4() != nil {
			_, err := net.DialTimeout("tcp", net.JoinHostPort(ip.String(), port), time.Second)
			g.Expect(err).To(HaveOccurred(), ip.String())
		}
	}
	cancel()
	g.Eventually(first.ended, "10s").Should(Receive(MatchError(context.Canceled)))
	g.Eventually(second.ended, "10s").Should(Receive(MatchError(context.Canceled)))
}

func TestAttacksByRawHTTPAreRefused(t *testing.T) {
	g := NewWithT(t)
	r := newBench(t).run(t.Context())
	for request, status := range map[string]string{
		"GET /api/session HTTP/1.1\r\nHost: evil.example\r\nX-Altershield-Key: KEY\r\n\r\n":                        "HTTP/1.1 403 Forbidden",
		"GET http://evil.example/api/session HTTP/1.1\r\nHost: HOST\r\nX-Altershield-Key: KEY\r\n\r\n":             "HTTP/1.1 403 Forbidden",
		"GET /api/session HTTP/1.0\r\nX-Altershield-Key: KEY\r\n\r\n":                                              "HTTP/1.0 403 Forbidden",
		"GET /api/session HTTP/1.1\r\nHost: HOST\r\nHost: HOST\r\nX-Altershield-Key: KEY\r\n\r\n":                  "HTTP/1.1 400 Bad Request",
		"GET /api/session HTTP/1.1\r\nHost: HOST\r\nOrigin: http://evil.example\r\nX-Altershield-Key: KEY\r\n\r\n": "HTTP/1.1 403 Forbidden",
		"GET /../../../../etc/passwd HTTP/1.1\r\nHost: HOST\r\n\r\n":                                               "HTTP/1.1 404 Not Found",
		"GET /api/session HTTP/1.1\r\nHost: HOST\r\n\r\n":                                                          "HTTP/1.1 401 Unauthorized",
		"GET /api/session HTTP/1.1\r\nHost: HOST\r\nX-Altershield-Key: KEY\r\n\r\n":                                "HTTP/1.1 200 OK",
		"CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n":                                      "HTTP/1.1 403 Forbidden",
		"GET / HTTP/1.1\r\nHost: HOST\r\nX: " + strings.Repeat("a", 64<<10) + "\r\n\r\n":                           "HTTP/1.1 431 Request Header Fields Too Large",
	} {
		g.Expect(r.raw(strings.NewReplacer("HOST", r.address, "KEY", r.key).Replace(request))).To(HavePrefix(status), request[:min(80, len(request))])
	}
}

func TestAServerEndsAfterAnHourWithoutACall(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t)
	r := b.run(t.Context())
	g.Eventually(b.fake.HasWaiters).Should(BeTrue())
	b.fake.Step(59 * time.Minute)
	g.Expect(r.status("/api/session", r.key)).To(Equal(200))
	b.fake.Step(time.Minute)
	g.Consistently(r.ended, "100ms").ShouldNot(Receive(), "there was a call a minute ago")
	g.Eventually(b.fake.HasWaiters).Should(BeTrue())
	b.fake.Step(58 * time.Minute)
	g.Consistently(r.ended, "100ms").ShouldNot(Receive())
	g.Expect(r.status("/api/session", "wrong")).To(Equal(401), "no call of the page")
	g.Expect(r.status("/", "")).To(Equal(200), "nor this")
	b.fake.Step(time.Minute)
	g.Eventually(r.ended, "10s").Should(Receive(BeNil()))
	_, err := net.Dial("tcp", r.address)
	g.Expect(err).To(HaveOccurred())
}

func TestAnOpenStreamKeepsAServerAlive(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t)
	feeds, _, left := handed(b)
	r := b.run(t.Context())
	go func() { (<-feeds).Replace(nil) }()
	stream := r.get("/api/stream", r.key) //nolint:bodyclose // closed after the test
	line, err := bufio.NewReader(stream.Body).ReadString('\n')
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(line).To(HavePrefix(`{"type":"snapshot"`))
	for range 5 {
		b.fake.Step(time.Hour)
		g.Consistently(r.ended, "50ms").ShouldNot(Receive())
	}
	g.Expect(stream.Body.Close()).To(Succeed())
	g.Eventually(left).Should(BeClosed())
	g.Eventually(func() error {
		b.fake.Step(time.Hour)
		select {
		case err := <-r.ended:
			return err
		default:
			return errors.New("goes on")
		}
	}, "10s").Should(Succeed())
}

func TestAServerThatEndsEndsItsStreams(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t)
	feeds, _, left := handed(b)
	ctx, cancel := context.WithCancel(t.Context())
	r := b.run(ctx)
	go func() { (<-feeds).Replace(nil) }()
	stream := r.get("/api/stream", r.key) //nolint:bodyclose // closed after the test
	_, err := bufio.NewReader(stream.Body).ReadString('\n')
	g.Expect(err).NotTo(HaveOccurred())
	cancel()
	g.Eventually(r.ended, "4s").Should(Receive(MatchError(context.Canceled)))
	g.Expect(left).To(BeClosed())
}

// Browsers open connections before they need them. net/http takes one without a call for busy for more than five seconds.
func TestAServerEndsInSpiteOfAConnectionWithoutACall(t *testing.T) {
	g := NewWithT(t)
	ctx, cancel := context.WithCancel(t.Context())
	r := newBench(t).run(ctx)
	connection, err := net.Dial("tcp", r.address)
	g.Expect(err).NotTo(HaveOccurred())
	defer connection.Close()
	r.status("/", "") // by then the server has accepted the connection before
	cancel()
	g.Eventually(r.ended, "30s").Should(Receive(Equal(context.Canceled)))
	_, err = connection.Read(make([]byte, 1))
	g.Expect(err).To(MatchError(io.EOF))
}

func TestAServerThatCanNotBeginIsAnError(t *testing.T) {
	g := NewWithT(t)
	r := newBench(t).run(t.Context())
	_, text, _ := strings.Cut(r.address, ":")
	port, err := strconv.Atoi(text)
	g.Expect(err).NotTo(HaveOccurred())
	b := newBench(t)
	options := Options{Port: port, Backend: b.backend, Clock: b.fake, Started: func(string, string) error { return errors.New("broken pipe") }}
	g.Expect(Serve(t.Context(), options)).To(MatchError(ContainSubstring("listening for the browser: ")))
	options.Port = 0
	g.Expect(Serve(t.Context(), options)).To(MatchError("broken pipe"))
}

func TestTheKeyIsInNoAnswerAndInNoLog(t *testing.T) {
	g := NewWithT(t)
	var logged bytes.Buffer
	b := newBench(t)
	r := b.run(t.Context())
	for _, target := range []string{"/", "/api/session", "/api/none", "/api/broken", "/none?key=" + url.QueryEscape(r.key)} {
		answer := r.get(target, r.key) //nolint:bodyclose // closed after the test
		body, err := io.ReadAll(answer.Body)
		g.Expect(err).NotTo(HaveOccurred())
		fmt.Fprint(&logged, answer.Header, string(body))
	}
	g.Expect(logged.String()).NotTo(ContainSubstring(r.key))
}
