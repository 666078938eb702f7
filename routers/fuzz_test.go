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

package routers

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/traas-stack/altershield-operator/controllers/verifier"
	"github.com/traas-stack/altershield-operator/controllers/verifier/altershield"
)

// Only requests that are signed with the token, for this platform and just now, count as callbacks, whatever their content.
func FuzzACallback(f *testing.F) {
	const signedAt = "1795255200000"
	for _, body := range []string{
		bodyOf("POST", "pass"), bodyOf("POST", "fail"), bodyOf("PRE", "fail"), "", "null", "{", `{"callbackRequest":{}}`,
		`{"callbackRequest":{"nodeId":"check-1","defenseStageEnum":"POST","verdict":{"verdict":"fail"}},"changeCheckType":"CHANGE_BATCH"}`,
	} {
		f.Add("kubernetes", signedAt, altershield.Sign(signedAt, []byte(body), token), []byte(body), false)
		f.Add("kubernetes", signedAt, "", []byte(body), true)
		f.Add("kubernetes", "1", "", []byte(body), true)
	}
	tokenFile := filepath.Join(f.TempDir(), "token")
	if err := os.WriteFile(tokenFile, []byte(token), 0o600); err != nil {
		f.Fatal(err)
	}
	receiver := &callbacks{
		receiver: altershield.Callbacks{Keyring: altershield.NewKeyring(altershield.Credentials{Platform: "kubernetes", TokenFile: tokenFile})}, clock: clocktesting.NewFakePassiveClock(now),
	}
	f.Fuzz(func(t *testing.T, platform, timestamp, sign string, body []byte, genuine bool) {
		if genuine {
			sign = altershield.Sign(timestamp, body, token)
		}
		request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, callbackPath, bytes.NewReader(body))
		request.Header.Set("X-AlterShield-Platform", platform)
		request.Header.Set("X-AlterShield-Timestamp", timestamp)
		request.Header.Set("X-AlterShield-Sign", sign)
		received, outcome := receiver.receive(httptest.NewRecorder(), request)

		believed := platform == "kubernetes" && isSignedNow(timestamp, sign, body)
		if (outcome.code == http.StatusUnauthorized) == believed {
			t.Errorf("%q at %q with the signature %q is answered with %d", platform, timestamp, sign, outcome.code)
		}
		if believed {
			checkBelieved(t, body, received, outcome)
		}
		if outcome.status != "" && (!reflect.DeepEqual(received, verifier.Delivery{}) || outcome.message == "" || strings.Contains(outcome.message, token)) {
			t.Errorf("%+v came with the answer %q", received, outcome.message)
		}
	})
}

// checkBelieved checks the result of a body that the server has signed.
func checkBelieved(t *testing.T, body []byte, received verifier.Delivery, outcome outcome) {
	t.Helper()
	parsed, unreadable := altershield.ParseCallback(body)
	switch {
	case unreadable == nil && (outcome.status != "" || !reflect.DeepEqual(received, parsed)):
		t.Errorf("a callback is answered with %d %q", outcome.code, outcome.message)
	case unreadable != nil && outcome.code != http.StatusBadRequest:
		t.Errorf("%q is answered with %d", body, outcome.code)
	}
}

// isSignedNow reports whether a body is signed with the token at a recent timestamp.
func isSignedNow(timestamp, sign string, body []byte) bool {
	number, err := strconv.ParseInt(timestamp, 10, 64)
	return err == nil && isRecent(number) && sign == altershield.Sign(strconv.FormatInt(number, 10), body, token)
}

// isRecent reports whether a timestamp, of seconds or of milliseconds, is within five minutes of now.
func isRecent(timestamp int64) bool {
	seconds, window := now.Unix(), int64(5*60)
	return timestamp >= seconds-window && timestamp <= seconds+window ||
		timestamp >= (seconds-window)*1000 && timestamp <= (seconds+window)*1000
}

// A request of a caller is rejected with a reason, or has valid names of objects.
func FuzzParseRollbackRequest(f *testing.F) {
	for _, seed := range []string{
		`{"namespace":"default","name":"sleep"}`, `{"namespace":"default","name":"sleep","version":"` + version + `"}`, `{"namespace":"a.b","name":"sleep"}`,
		`{"namespace":"default","name":"sleep"}{}`, `{"Namespace":"default","NAME":"a.b"}`, `null`, `[]`, ``, "{\"namespace\":\"\xff\"}",
	} {
		f.Add([]byte(seed))
	}
	namespace, name, hex32 := regexp.MustCompile(`^[a-z0-9-]{1,63}$`), regexp.MustCompile(`^[a-z0-9.-]{1,253}$`), regexp.MustCompile(`^([0-9a-f]{32})?$`)
	f.Fuzz(func(t *testing.T, body []byte) {
		asked, err := parseRollbackRequest(body)
		if err != nil {
			if err.Error() == "" {
				t.Error("the request is refused without a reason")
			}
			return
		}
		if !namespace.MatchString(asked.Namespace) || !name.MatchString(asked.Name) || !hex32.MatchString(asked.Version) {
			t.Errorf("%q asks for %+v", body, asked)
		}
		written, err := json.Marshal(asked)
		again, malformed := parseRollbackRequest(written)
		if err != nil || malformed != nil || again != asked {
			t.Errorf("%+v comes back as %+v: %v, %v", asked, again, err, malformed)
		}
	})
}

func FuzzAQuestionForSuspendedDeployments(f *testing.F) {
	for _, seed := range []string{
		"namespace=default", "namespace=default&limit=500&continue=c2xlZXA", "namespace=default&limit=501", "namespace=a/b", "namespace=default&limit=+7",
		"namespace=default&continue=%", "namespace=default&namespace=other", "", ";",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, query string) {
		values, err := url.ParseQuery(query)
		if err != nil {
			return
		}
		asked, err := parseQuestion(values)
		if err != nil {
			if asked != (question{}) || err.Error() == "" {
				t.Errorf("%+v came with the error %v", asked, err)
			}
			return
		}
		if asked.limit < 1 || asked.limit > 500 || asked.namespace == "" || len(asked.namespace) > 63 {
			t.Errorf("%q asks for %+v", query, asked)
		}
		again, err := parseQuestion(url.Values{
			"namespace": {asked.namespace}, "limit": {strconv.Itoa(asked.limit)}, "continue": {base64.RawURLEncoding.EncodeToString([]byte(asked.after))},
		})
		if err != nil || again != asked {
			t.Errorf("%+v comes back as %+v: %v", asked, again, err)
		}
	})
}

// For any value of the label of a suspension the response holds a time in RFC 3339 or nothing.
func FuzzTheTimeOfASuspension(f *testing.F) {
	for _, seed := range []string{"1795255200", "", "0", "-1", "soon", "+7", "9223372036854775807", "-9223372036854775808", "253402300799", "253402300800"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, label string) {
		since := describe(&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
			Labels: map[string]string{"altershield.defense.antgroup.com/suspend": label},
		}}, nil).SuspendedSince
		if since == "" {
			return
		}
		read, err := time.Parse(time.RFC3339, since)
		number, malformed := strconv.ParseInt(label, 10, 64)
		if err != nil || malformed != nil || read.Unix() != number {
			t.Errorf("the label %q is shown as %q: %v", label, since, err)
		}
	})
}
