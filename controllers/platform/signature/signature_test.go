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
package signature_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/traas-stack/altershield-operator/controllers/platform/signature"
)

// The example is that of the libraries of Standard Webhooks.
func TestSignSignsAsStandardWebhooksDefinesIt(t *testing.T) {
	g := NewWithT(t)
	keys, err := signature.Keys("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	g.Expect(err).NotTo(HaveOccurred())
	header := http.Header{}
	signature.Sign(header, keys, "msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`))
	g.Expect(header).To(Equal(http.Header{
		"Webhook-Id": {"msg_p5jXN8AQM9LWM0D4loKWxJek"}, "Webhook-Timestamp": {"1614265330"},
		"Webhook-Signature": {"v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="},
	}))
}

// Standard Webhooks separates the signatures of the old and the new key by spaces while they change. A key as it is may have spaces.
func TestSignSignsByEachKey(t *testing.T) {
	g := NewWithT(t)
	keys, err := signature.Keys("0123456789abcdef01234567\r\n\nwhsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n")
	g.Expect(err).NotTo(HaveOccurred())
	header := http.Header{}
	signature.Sign(header, keys, "msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`))
	g.Expect(header.Values("Webhook-Signature")).To(Equal([]string{
		"v1,d5PJaLhU6hQf9TLleqdn97PBQffdITHtAOuMMHkRQ4U= v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
	}))
	g.Expect(signature.Keys("correct horse battery staple")).To(Equal([][]byte{[]byte("correct horse battery staple")}))
}

func TestSignLeavesAMessageWithoutAKeyUnsigned(t *testing.T) {
	header := http.Header{}
	signature.Sign(header, nil, "a", time.Unix(1, 0), nil)
	NewWithT(t).Expect(header).To(Equal(http.Header{"Webhook-Id": {"a"}, "Webhook-Timestamp": {"1"}}))
}

func TestKeysRefusesWeakAndBrokenKeys(t *testing.T) {
	for text, message := range map[string]string{
		"too short":                            "has less than 24 bytes",
		"whsec_c2hvcnQ=":                       "has less than 24 bytes",
		"whsec_%":                              "is no base64 after whsec_",
		"":                                     "has no key",
		"\n":                                   "has no key",
		"0123456789012345678901234":            "",
		"0123456789012345678901234\ntoo short": "has less than 24 bytes, in line 2",
		"whsec_%\n0123456789012345678901234":   "is no base64 after whsec_, in line 1",
		strings.Repeat("0123456789012345678901234\n", 4): "",
		strings.Repeat("0123456789012345678901234\n", 5): "has more than 4 lines, each of which is a key",
	} {
		_, err := signature.Keys(text)
		if message == "" {
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
			continue
		}
		NewWithT(t).Expect(err).To(MatchError(message), text)
	}
}
