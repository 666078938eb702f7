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
	"errors"
	"net/http"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/traas-stack/altershield-operator/controllers/verifier"
	"github.com/traas-stack/altershield-operator/controllers/verifier/altershield"
)

func TestReceiveTakesNothingThatIsNotGenuine(t *testing.T) {
	body := callback(`{"verdict":"fail","msg":"error rate"}`)
	signed := func(timestamp, token string) http.Header {
		return http.Header{
			"X-Altershield-Platform": {"kubernetes"}, "X-Altershield-Timestamp": {timestamp},
			"X-Altershield-Sign": {altershield.Sign(timestamp, []byte(body), token)},
		}
	}
	known := altershield.NewKeyring(altershield.Credentials{Platform: "kubernetes", TokenFile: tokenFile(t)})
	lost := altershield.NewKeyring(altershield.Credentials{Platform: "kubernetes", TokenFile: "/nowhere/token"})
	for _, row := range []struct {
		name    string
		keyring *altershield.Keyring
		header  http.Header
		body    string
		fault   verifier.Fault
		message string
	}{
		{"no server is configured", nil, signed("1700000000000", secret), body, "unavailable", "the operator has no AlterShield Server configured"},
		{"the token can't be read", lost, signed("1700000000000", secret), body, "unavailable", "the operator can't read its token"},
		{"no signature", known, http.Header{"X-Altershield-Platform": {"kubernetes"}, "X-Altershield-Timestamp": {"1700000000000"}}, body,
			"unsigned", "the signature is not valid"},
		{"the signature of another token", known, signed("1700000000000", "guessed"), body, "unsigned", "the signature is not valid"},
		{"another body", known, signed("1700000000000", secret), body + " ", "unsigned", "the signature is not valid"},
		{"another day", known, signed("1700086400000", secret), body, "expired", "the timestamp is out of range"},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			delivery, err := altershield.Callbacks{Keyring: row.keyring}.Receive(row.header, []byte(row.body), today())
			rejection, ok := errors.AsType[*verifier.Rejection](err)
			g.Expect(ok).To(BeTrue())
			g.Expect(rejection.Fault).To(Equal(row.fault))
			g.Expect(rejection.Message).To(Equal(row.message))
			g.Expect(delivery).To(BeZero())
		})
	}
}

func TestReceiveReadsACallbackThatIsGenuine(t *testing.T) {
	g := NewWithT(t)
	callbacks := altershield.Callbacks{Keyring: altershield.NewKeyring(altershield.Credentials{Platform: "kubernetes", TokenFile: tokenFile(t)})}
	receive := func(body string) (verifier.Delivery, error) {
		header := http.Header{}
		header.Set("X-AlterShield-Platform", "kubernetes")
		header.Set("X-AlterShield-Timestamp", "1700000000000")
		header.Set("X-AlterShield-Sign", altershield.Sign("1700000000000", []byte(body), secret))
		g.Expect(callbacks.CheckHeader(header, today())).To(Succeed())
		g.Expect(callbacks.CheckHeader(header, today().Add(time.Hour))).NotTo(Succeed())
		return callbacks.Receive(header, []byte(body), today())
	}
	g.Expect(receive(callback(`{"verdict":"fail","msg":"error rate"}`))).To(Equal(verifier.Delivery{
		Order: "o1", CheckID: "node-1", Stage: "POST", Verdict: verifier.Verdict{Outcome: "fail", Reason: "error rate"},
	}))
	_, err := receive("null")
	rejection, ok := errors.AsType[*verifier.Rejection](err)
	g.Expect(ok).To(BeTrue())
	g.Expect(*rejection).To(HaveField("Fault", verifier.Malformed))
	g.Expect(rejection.Message).To(Equal("the callback has no callbackRequest"))
}
