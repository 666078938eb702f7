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

package altershield

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"

	"github.com/traas-stack/altershield-operator/controllers/verifier/altershield"
)

const denied = "authentication request fail"

// denial returns the reason why a request isn't authentic, "" if it is. The server signs the body without its line ends, and the
// timestamp as the number that it parses.
func (s *Server) denial(r *http.Request, content []byte) string {
	caller := r.Header.Get(altershield.HeaderPlatform)
	timestamp := r.Header.Get(altershield.HeaderTimestamp)
	sign := r.Header.Get(altershield.HeaderSign)
	if strings.TrimSpace(caller) == "" || strings.TrimSpace(timestamp) == "" || strings.TrimSpace(sign) == "" {
		return denied
	}
	number, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil {
		return denied + " For input string: " + strconv.Quote(timestamp)
	}
	if s.options.SkipAuth {
		return ""
	}
	content = bytes.ReplaceAll(bytes.ReplaceAll(content, []byte("\r"), nil), []byte("\n"), nil)
	if caller != platform || s.options.Token == "" || len(bytes.TrimSpace(content)) == 0 ||
		sign != altershield.Sign(strconv.FormatInt(number, 10), content, s.options.Token) {
		return denied
	}
	return ""
}

// signedQuery returns the text that a GET signs: its parameters as JSON with sorted names.
func signedQuery(r *http.Request) []byte {
	parameters := map[string]string{}
	for name, values := range r.URL.Query() {
		parameters[name] = values[0]
	}
	return encode(parameters)
}
