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

package altershield_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/traas-stack/altershield-operator/controllers/verifier"
	"github.com/traas-stack/altershield-operator/controllers/verifier/altershield"
)

// Only messages that are signed with the token, for this platform, within five minutes of now are accepted, and all of these are,
// unless a byte is added.
func FuzzTheSignatureOfACallback(f *testing.F) {
	body := []byte(callback(`{"verdict":"pass"}`))
	for _, timestamp := range []string{
		"1700000000000", "1700000000", "+01700000000000", "1699999699999", "-9223372036854775808", "9223372036854775807",
		"99999999999", "100000000000", "1.7e12", "", " 1700000000000", "0x18bcfe56800", "1_700_000_000_000", "٣",
	} {
		f.Add("kubernetes", timestamp, altershield.Sign(timestamp, body, secret), body)
		f.Add("Kubernetes", timestamp, altershield.Sign(timestamp, body, "null"), []byte{})
	}
	keyring := altershield.NewKeyring(altershield.Credentials{Platform: "kubernetes", TokenFile: tokenFile(f)})
	f.Fuzz(func(t *testing.T, platform, timestamp, sign string, body []byte) {
		verify := func(sign string, body []byte) error {
			return verdictOn(t, keyring, platform, timestamp, sign, body)
		}
		number, malformed := strconv.ParseInt(timestamp, 10, 64)
		genuine := altershield.Sign(strconv.FormatInt(number, 10), body, secret)
		allowed := platform == "kubernetes" && malformed == nil && isRecent(number)
		if accepted := verify(sign, body) == nil; accepted != (allowed && sign == genuine) {
			t.Errorf("%q at %q with the signature %q: accepted %t", platform, timestamp, sign, accepted)
		}
		if err := verify(genuine, body); allowed != (err == nil) || errors.Is(err, altershield.ErrExpired) && isRecent(number) {
			t.Errorf("%q at %q, signed with the token: %v", platform, timestamp, err)
		}
		if verify(genuine, append(bytes.Clone(body), ' ')) == nil || verify(strings.ToLower(genuine), body) == nil {
			t.Errorf("%q at %q was changed on its way and accepted", platform, timestamp)
		}
	})
}

// verdictOn returns the expected error of a message; nil if it is valid.
func verdictOn(t *testing.T, keyring *altershield.Keyring, platform, timestamp, sign string, body []byte) error {
	t.Helper()
	header := http.Header{}
	header.Set("X-AlterShield-Platform", platform)
	header.Set("X-AlterShield-Timestamp", timestamp)
	header.Set("X-AlterShield-Sign", sign)
	err := keyring.Verify(header, body, today())
	if err != nil && !errors.Is(err, altershield.ErrSignature) && !errors.Is(err, altershield.ErrExpired) {
		t.Fatalf("the error has nothing of the message: %v", err)
	}
	return err
}

// isRecent reports whether a timestamp, of seconds or of milliseconds, is within five minutes of today.
func isRecent(timestamp int64) bool {
	const now, window = 1_700_000_000, 5 * 60
	return timestamp >= now-window && timestamp <= now+window || timestamp >= (now-window)*1000 && timestamp <= (now+window)*1000
}

// reply is a server without a network that always gives the same answer.
type reply struct {
	status int
	body   []byte
}

func (r reply) RoundTrip(request *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: r.status, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(r.body)), Request: request}, nil
}

// Any answer of the server leads to a result, or to an error that names the call in one line that fits into a status.
func FuzzTheAnswersOfTheServer(f *testing.F) {
	for _, seed := range []string{
		opened, begun, `{"success":true,"domain":{"finished":true,"verdict":{"verdict":"PASS"}}}`, `{"success":true}`, `null`, `[]`, ``, `{`,
		`{"success":true,"domain":{"nodeId":17,"orderId":{}}}`, `{"success":true,"domain":[]}`, `{"success":true,"domain":"x"}`,
		`{"success":false,"resultCode":"106"}`, `{"success":false,"resultCode":103,"msg":"status is PRE_AOP"}`,
		`{"success":false,"resultCode":"103","msg":"POST_AOP_FINISH\n"}`, `{"success":false,"resultCode":"104","msg":["busy"]}`,
		`{"success":false,"resultCode":"1\u000099","msg":"` + strings.Repeat("发\\n", 600) + `"}`,
		`{"success":true,"domain":{"nodeId":"` + strings.Repeat("n", 257) + `"}}`,
	} {
		for _, status := range []int{200, 400, 413, 500, 302, 0} {
			f.Add(status, []byte(seed))
		}
	}
	metrics, err := altershield.NewMetrics(prometheus.NewRegistry())
	if err != nil {
		f.Fatal(err)
	}
	config := altershield.Config{
		Address: "http://altershield.example", Credentials: altershield.Credentials{Platform: "kubernetes", TokenFile: tokenFile(f)},
		Scene: "com.example.rolling", Timeout: time.Minute,
	}
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		client := func() *altershield.Client { // a new one each time: it remembers an outage
			client := altershield.NewClient(config, altershield.NewKeyring(config.Credentials), clocktesting.NewFakePassiveClock(today()), metrics)
			client.Through(reply{status, body})
			return client
		}
		ids := map[string]string{}
		asked := map[string]error{}
		ids["order"], asked["submitChangeExecOrder"] = client().Open(t.Context(), release())
		ids["check"], asked["submitChangeExecBatchStartNotify"] = client().Begin(t.Context(), batch())
		ids["check of the order"], asked["submitChangeExecOrderStartNotify"] = client().BeginOrder(t.Context(), release())
		asked["submitChangeFinishNotify"] = client().Finish(t.Context(), batch(), "node-1")
		asked["finishChangeExecOrderAction"] = client().Close(t.Context(), release(), "SUCCESS")
		verdict, fault := client().Ask(t.Context(), batch(), "node-1", "POST")
		asked["retrieveChangeCheck"] = fault
		for call, err := range asked {
			if err != nil {
				checkError(t, call, err)
			}
			if status != http.StatusOK && err == nil {
				t.Errorf("%s took HTTP %d for an answer", call, status)
			}
		}
		for what, id := range ids {
			if len(id) > 256 {
				t.Errorf("the id of the %s has %d bytes", what, len(id))
			}
		}
		if asked["submitChangeExecBatchStartNotify"] == nil && ids["check"] == "" {
			t.Errorf("%q began a check without an id", body)
		}
		if verdict.Outcome == verifier.Pass && (fault != nil || !bytes.Contains(bytes.ToLower(body), []byte("pass"))) {
			t.Errorf("%q passed a check, with the error %v", body, fault)
		}
	})
}

// checkError fails if an error can't be shown in a condition.
func checkError(t *testing.T, call string, err error) {
	t.Helper()
	failure, known := errors.AsType[*altershield.Error](err)
	switch {
	case !known || failure.Call != call:
		t.Errorf("the error of %s is %#v", call, err)
	case errors.Is(err, context.Canceled), failure.Kind == altershield.KindUnreachable, failure.Kind == altershield.KindUnsent:
		t.Errorf("%s was answered: %v", call, err)
	case utf8.RuneCountInString(failure.Message) > 512 || utf8.RuneCountInString(failure.Code) > 512:
		t.Errorf("the error of %s has %d bytes", call, len(err.Error()))
	case strings.ContainsFunc(err.Error(), unicode.IsControl) || !strings.Contains(err.Error(), call):
		t.Errorf("the error of %s can't be read: %q", call, err.Error())
	case failure.Kind == altershield.KindRefused != errors.Is(err, verifier.ErrRefused):
		t.Errorf("the error of %s is %s and wraps %v", call, failure.Kind, failure.Unwrap())
	}
}

// Values that a server passes on in a signed body are returned unchanged, even as JSON inside a string.
func FuzzTheBodyOfARequest(f *testing.F) {
	for _, seed := range []string{"sleep-1", "", "a\nb", "<&>", "\u2028", "发布", "\xff", `"\`} {
		f.Add(seed)
	}
	metrics, err := altershield.NewMetrics(prometheus.NewRegistry())
	if err != nil {
		f.Fatal(err)
	}
	config := altershield.Config{
		Address: "http://altershield.example", Credentials: altershield.Credentials{Platform: "kubernetes", TokenFile: tokenFile(f)},
		Scene: "com.example.rolling", Timeout: time.Minute,
	}
	f.Fuzz(func(t *testing.T, pod string) {
		client := altershield.NewClient(config, altershield.NewKeyring(config.Credentials), clocktesting.NewFakePassiveClock(today()), metrics)
		client.Through(inspected(func(header http.Header, body []byte) {
			if bytes.ContainsAny(body, "\r\n") {
				t.Errorf("the body has more than one line: %q", body)
			}
			if err := altershield.NewKeyring(config.Credentials).Verify(header, body, today()); err != nil {
				t.Errorf("the body of a request is not signed: %v", err)
			}
			if told := podIn(t, body); utf8.ValidString(pod) && told != pod {
				t.Errorf("the pod %q arrives as %q", pod, told)
			}
		}))
		of := batch()
		of.Pods[0].Pod = pod
		if _, err := client.Begin(t.Context(), of); err != nil {
			t.Errorf("the pod %q keeps a check from beginning: %v", pod, err)
		}
	})
}

// inspected is a server that begins every check and inspects the requests.
type inspected func(header http.Header, body []byte)

func (look inspected) RoundTrip(request *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	look(request.Header, body)
	return reply{http.StatusOK, []byte(begun)}.RoundTrip(request)
}

// transport is a function that stands for a network.
type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(request *http.Request) (*http.Response, error) { return t(request) }

// podIn returns the name of the only pod in a request for a check.
func podIn(t *testing.T, body []byte) string {
	t.Helper()
	var told struct {
		Locations []string `json:"effectiveTargetLocations"`
	}
	var pod struct {
		Name string `json:"pod"`
	}
	if err := json.Unmarshal(body, &told); err != nil || len(told.Locations) != 1 {
		t.Fatalf("the body has %d pods: %v", len(told.Locations), err)
	}
	if err := json.Unmarshal([]byte(told.Locations[0]), &pod); err != nil {
		t.Fatalf("the pod can't be read: %v", err)
	}
	return pod.Name
}
