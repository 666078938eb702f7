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
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"net/http"
)

// KeyHeader has the key of a call. A header, and no cookie: cookies are shared by all ports of a host, and sent by calls of other pages.
const KeyHeader = "X-Altershield-Key"

// newKey returns a key of 256 bits.
func newKey() string {
	random := make([]byte, 32)
	_, _ = rand.Read(random) // it never returns an error
	return base64.RawURLEncoding.EncodeToString(random)
}

// isKey reports whether a text is the key, in a time that tells nothing about it.
func isKey(text, key string) bool {
	given, wanted := sha256.Sum256([]byte(text)), sha256.Sum256([]byte(key))
	return subtle.ConstantTimeCompare(given[:], wanted[:]) == 1
}

// keyless is the failure of a call without the key.
func keyless() Failure {
	return Failure{http.StatusUnauthorized, Unauthorized, "the key is missing or wrong: open the address that kubectl altershield dashboard printed"}
}

// guard refuses what no page of this server can have sent.
func (s *server) guard(request *http.Request) (Failure, bool) {
	// A name of another page may be made to lead to this address (DNS rebinding). Its calls name that host.
	if request.Host != s.address {
		return Failure{http.StatusForbidden, ForeignHost, "this server answers to http://" + s.address + " alone"}, false
	}
	if origin := request.Header.Get("Origin"); origin != "" && origin != "http://"+s.address {
		return Failure{http.StatusForbidden, ForeignOrigin, "another page may not call this server"}, false
	}
	switch request.Header.Get("Sec-Fetch-Site") {
	case "", "none", "same-origin":
		return Failure{}, true
	}
	return Failure{http.StatusForbidden, ForeignOrigin, "another page may not call or open this server: type its address, or click it where it was printed"}, false
}

// policy lets the page load its own files and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; " +
	"frame-ancestors 'none'; require-trusted-types-for 'script'"

// secure sets the headers of every answer, that to an attack among them.
func secure(header http.Header) {
	header.Set("Content-Security-Policy", policy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Cache-Control", "no-store")
}

// refuse answers with a failure.
func refuse(writer http.ResponseWriter, failure Failure) { answer(writer, failure.Status, failure) }

// answer answers with a value as JSON.
func answer(writer http.ResponseWriter, status int, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		refuse(writer, Failure{http.StatusInternalServerError, Broken, "encoding the answer: " + err.Error()})
		return
	}
	writer.Header().Set("Content-Type", "application/json")
	writer.WriteHeader(status)
	_, _ = writer.Write(append(body, '\n')) // the browser is gone otherwise
}
