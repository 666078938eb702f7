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
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/traas-stack/altershield-operator/controllers/platform/signature"
)

// The example is that of the libraries of Standard Webhooks.
func TestSignSignsAsStandardWebhooksDefinesIt(t *testing.T) {
	g := NewWithT(t)
	key, err := signature.Key("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	g.Expect(err).NotTo(HaveOccurred())
	header := http.Header{}
	signature.Sign(header, key, "msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`))
	g.Expect(header).To(Equal(http.Header{
		"Webhook-Id": {"msg_p5jXN8AQM9LWM0D4loKWxJek"}, "Webhook-Timestamp": {"1614265330"},
		"Webhook-Signature": {"v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="},
	}))
}

func TestSignLeavesAMessageWithoutAKeyUnsigned(t *testing.T) {
	header := http.Header{}
	signature.Sign(header, nil, "a", time.Unix(1, 0), nil)
	NewWithT(t).Expect(header).To(Equal(http.Header{"Webhook-Id": {"a"}, "Webhook-Timestamp": {"1"}}))
}

func TestKeyRefusesWeakAndBrokenKeys(t *testing.T) {
	for text, message := range map[string]string{
		"too short":                 "has less than 24 bytes",
		"whsec_c2hvcnQ=":            "has less than 24 bytes",
		"whsec_%":                   "is no base64 after whsec_",
		"0123456789012345678901234": "",
	} {
		_, err := signature.Key(text)
		if message == "" {
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
			continue
		}
		NewWithT(t).Expect(err).To(MatchError(message), text)
	}
}
