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

package verification_test

import (
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/traas-stack/altershield-operator/controllers/verification"
)

func TestATokenHasNoWhiteSpaceAroundIt(t *testing.T) {
	g := NewWithT(t)
	file := tokenFile(t)
	credentials := verification.Credentials{TokenFile: file}
	g.Expect(credentials.Token()).To(Equal("altershield-operator"))
	g.Expect(os.WriteFile(file, []byte(" \t changed since\r\n"), 0o600)).To(Succeed())
	g.Expect(credentials.Token()).To(Equal("changed since"))
}

func TestATokenIsNeeded(t *testing.T) {
	g := NewWithT(t)
	file := tokenFile(t)
	credentials := verification.Credentials{TokenFile: file}
	g.Expect(os.WriteFile(file, []byte(" \n"), 0o600)).To(Succeed())
	_, err := credentials.Token()
	g.Expect(err).To(MatchError("reading the token: the file " + file + " is empty"))
	g.Expect(os.Remove(file)).To(Succeed())
	_, err = credentials.Token()
	g.Expect(err).To(MatchError(os.ErrNotExist))
	g.Expect(credentials.Verify(http.Header{}, nil, today())).To(MatchError(os.ErrNotExist))
}

func TestVerify(t *testing.T) {
	const body, millis = `{"bizExecOrderId":"o1","title":"发布"}`, "1700000000000"
	sign := func(timestamp string) string { return verification.Sign(timestamp, []byte(body), secret) }
	for _, row := range []struct {
		name                             string
		platform, timestamp, sign, other string
		err                              error
	}{
		{name: "milliseconds, as the server sends", platform: "kubernetes", timestamp: millis, sign: sign(millis)},
		{name: "seconds", platform: "kubernetes", timestamp: "1700000000", sign: "O1OC8HHR224L9UY-DLJ8XNIXDFFRG3URM6-PE-N6KO4="},
		{name: "a number that is written in another way", platform: "kubernetes", timestamp: "+01700000000000", sign: sign(millis)},
		{name: "the oldest that is taken", platform: "kubernetes", timestamp: "1699999700000", sign: sign("1699999700000")},
		{name: "the latest that is taken", platform: "kubernetes", timestamp: "1700000300", sign: sign("1700000300")},
		{name: "a millisecond too old", platform: "kubernetes", timestamp: "1699999699999", sign: sign("1699999699999"), err: verification.ErrExpired},
		{name: "a millisecond too early", platform: "kubernetes", timestamp: "1700000300001", sign: sign("1700000300001"), err: verification.ErrExpired},
		{name: "before time began", platform: "kubernetes", timestamp: "-9223372036854775808", sign: sign("-9223372036854775808"), err: verification.ErrExpired},
		{name: "at the end of time", platform: "kubernetes", timestamp: "9223372036854775807", sign: sign("9223372036854775807"), err: verification.ErrExpired},
		{name: "the most seconds are not milliseconds", platform: "kubernetes", timestamp: "99999999999", sign: sign("99999999999"), err: verification.ErrExpired},
		{name: "another platform", platform: "vm", timestamp: millis, sign: sign(millis), err: verification.ErrSignature},
		{name: "the platform in another case", platform: "Kubernetes", timestamp: millis, sign: sign(millis), err: verification.ErrSignature},
		{name: "no platform", timestamp: millis, sign: sign(millis), err: verification.ErrSignature},
		{name: "no timestamp", platform: "kubernetes", sign: sign(""), err: verification.ErrSignature},
		{name: "a timestamp that is no number", platform: "kubernetes", timestamp: "today", sign: sign("today"), err: verification.ErrSignature},
		{name: "a timestamp that is no whole number", platform: "kubernetes", timestamp: "1.7e12", sign: sign("1.7e12"), err: verification.ErrSignature},
		{name: "a timestamp too large for a number", platform: "kubernetes", timestamp: millis + millis, sign: sign(millis + millis), err: verification.ErrSignature},
		{name: "a signature of another time", platform: "kubernetes", timestamp: millis, sign: sign("1700000000001"), err: verification.ErrSignature},
		{name: "no signature", platform: "kubernetes", timestamp: millis, err: verification.ErrSignature},
		{name: "a signature in lower case", platform: "kubernetes", timestamp: millis, sign: strings.ToLower(sign(millis)), err: verification.ErrSignature},
		{name: "a signature with another token", platform: "kubernetes", timestamp: millis, sign: verification.Sign(millis, []byte(body), "null"), err: verification.ErrSignature},
		{name: "a body that was changed", platform: "kubernetes", timestamp: millis, sign: sign(millis), other: body + " ", err: verification.ErrSignature},
		{name: "no body", platform: "kubernetes", timestamp: millis, sign: sign(millis), other: "none", err: verification.ErrSignature},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			header := http.Header{}
			for name, value := range map[string]string{
				"X-AlterShield-Platform": row.platform, "X-AlterShield-Timestamp": row.timestamp, "X-AlterShield-Sign": row.sign,
			} {
				if value != "" {
					header.Set(name, value)
				}
			}
			received := body
			if row.other != "" {
				received = row.other
			}
			err := verification.Credentials{Platform: "kubernetes", TokenFile: tokenFile(t)}.Verify(header, []byte(received), today())
			if row.err == nil {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(MatchError(row.err))
			g.Expect(err.Error()).NotTo(ContainSubstring(secret))
		})
	}
}

func TestAMessageThatExpiredTellsWhenItWasSent(t *testing.T) {
	g := NewWithT(t)
	header := http.Header{}
	header.Set("X-AlterShield-Platform", "kubernetes")
	header.Set("X-AlterShield-Timestamp", "1700000000000")
	header.Set("X-AlterShield-Sign", verification.Sign("1700000000000", nil, secret))
	err := verification.Credentials{Platform: "kubernetes", TokenFile: tokenFile(t)}.Verify(header, nil, today().Add(time.Hour))
	g.Expect(err).To(MatchError("the timestamp is out of range: the message is of 2023-11-14T22:13:20Z, which is more than 5m0s from now: compare the clocks"))
}
