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
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/traas-stack/altershield-operator/controllers/verifier/altershield"
)

// keyringWith returns a keyring whose file has the given content; put changes it.
func keyringWith(t *testing.T, content string) (keyring *altershield.Keyring, file string, put func(content string)) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "token")
	put = func(content string) { NewWithT(t).Expect(os.WriteFile(file, []byte(content), 0o600)).To(Succeed()) }
	put(content)
	return altershield.NewKeyring(altershield.Credentials{Platform: "kubernetes", TokenFile: file}), file, put
}

// signedWith returns the header of an empty message that is signed with a token at the given time.
func signedWith(token string, now time.Time) http.Header {
	timestamp, header := strconv.FormatInt(now.UnixMilli(), 10), http.Header{}
	header.Set("X-AlterShield-Platform", "kubernetes")
	header.Set("X-AlterShield-Timestamp", timestamp)
	header.Set("X-AlterShield-Sign", altershield.Sign(timestamp, nil, token))
	return header
}

func TestKeyringReadsOneOrTwoTokens(t *testing.T) {
	for name, row := range map[string]struct {
		content, signs string
		verify         []string
	}{
		"one":                            {"first", "first", []string{"first"}},
		"one, with white space":          {" \t first\r\n", "first", []string{"first"}},
		"two":                            {"first\nsecond", "first", []string{"first", "second"}},
		"two with blank lines":           {"\n\nfirst\n \nsecond\n\n", "first", []string{"first", "second"}},
		"two with the lines of Windows":  {"first\r\n\r\nsecond\r\n", "first", []string{"first", "second"}},
		"one with white space in itself": {"first token\n", "first token", []string{"first token"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			keyring, _, _ := keyringWith(t, row.content)
			g.Expect(keyring.Token(today())).To(Equal(row.signs))
			for _, token := range row.verify {
				g.Expect(keyring.Verify(signedWith(token, today()), nil, today())).To(Succeed(), token)
			}
			g.Expect(keyring.Verify(signedWith("third", today()), nil, today())).To(MatchError(altershield.ErrSignature))
		})
	}
}

func TestKeyringNeedsOneOrTwoTokens(t *testing.T) {
	g := NewWithT(t)
	keyring, file, put := keyringWith(t, " \n")
	_, err := keyring.Token(today())
	g.Expect(err).To(MatchError("reading the token: the file " + file + " is empty"))
	put("first\nsecond\nthird\n")
	_, err = keyring.Token(today())
	g.Expect(err).To(MatchError("reading the token: the file " + file + " has 3 lines: the first must hold the token that signs, " +
		"a second may hold another token for callbacks"))
	g.Expect(os.Remove(file)).To(Succeed())
	_, err = keyring.Token(today())
	g.Expect(err).To(MatchError(os.ErrNotExist))
	g.Expect(keyring.Verify(signedWith("first", today()), nil, today())).To(MatchError(os.ErrNotExist), "it was never read")
}

func TestKeyringTakesTheTokenBeforeForTenMinutes(t *testing.T) {
	for _, row := range []struct {
		name string
		read func(keyring *altershield.Keyring, now time.Time) error
	}{
		{"as a call saw both", func(keyring *altershield.Keyring, now time.Time) error { _, err := keyring.Token(now); return err }},
		{"as callbacks saw both", func(keyring *altershield.Keyring, now time.Time) error {
			return keyring.Verify(signedWith("old", now), nil, now)
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			keyring, _, put := keyringWith(t, "old\n")
			g.Expect(row.read(keyring, today())).To(Succeed())
			put("new\n")
			changed := today().Add(time.Hour)
			g.Expect(row.read(keyring, changed)).To(Succeed())
			g.Expect(keyring.Token(changed)).To(Equal("new"))

			last := changed.Add(10*time.Minute - time.Millisecond)
			g.Expect(keyring.Verify(signedWith("old", last), nil, last)).To(Succeed())
			g.Expect(keyring.Verify(signedWith("new", last), nil, last)).To(Succeed())
			over := changed.Add(10 * time.Minute)
			g.Expect(keyring.Verify(signedWith("old", over), nil, over)).To(MatchError(altershield.ErrSignature))
			g.Expect(keyring.Verify(signedWith("new", over), nil, over)).To(Succeed())
		})
	}
}

func TestKeyringForgetsNothingWhileTheFileCannotBeRead(t *testing.T) {
	g := NewWithT(t)
	keyring, _, put := keyringWith(t, "old\n")
	g.Expect(keyring.Token(today())).To(Equal("old"))
	put("")
	g.Expect(keyring.Verify(signedWith("old", today()), nil, today())).To(Succeed())
	put("new\nold\n")
	g.Expect(keyring.Token(today())).To(Equal("new"))
	later := today().Add(time.Hour)
	g.Expect(keyring.Verify(signedWith("old", later), nil, later)).To(Succeed(), "it is on the second line")
	put("new\n")
	g.Expect(keyring.Verify(signedWith("old", later), nil, later)).To(Succeed(), "it was on the second line until now")
	another := altershield.NewKeyring(altershield.Credentials{Platform: "kubernetes", TokenFile: tokenFile(t)})
	g.Expect(another.Verify(signedWith("old", later), nil, later)).To(MatchError(altershield.ErrSignature), "nothing is kept beyond the process")
}

func TestKeyringTakesTheTokensFromBeforeForTenMinutesWhileTheFileCannotBeRead(t *testing.T) {
	for name, spoilt := range map[string]string{"it is empty": "", "it has too many lines": "old\nnew\nother\n"} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			keyring, _, put := keyringWith(t, "old\n")
			g.Expect(keyring.Token(today())).To(Equal("old"))
			put(spoilt)
			_, err := keyring.Token(today())
			g.Expect(err).To(MatchError(HavePrefix("reading the token: ")), "calls are not signed with it")
			last := today().Add(10*time.Minute - time.Millisecond)
			g.Expect(keyring.Verify(signedWith("old", last), nil, last)).To(Succeed())
			unread := keyring.Verify(signedWith("new", last), nil, last)
			g.Expect(unread).To(MatchError(err), "the file may have it")
			g.Expect(unread).NotTo(MatchError(altershield.ErrSignature))
			over := today().Add(10 * time.Minute)
			g.Expect(keyring.Verify(signedWith("old", over), nil, over)).To(MatchError(err))
			put("new\n")
			g.Expect(keyring.Verify(signedWith("old", over), nil, over)).To(Succeed(), "now it was replaced")
			g.Expect(keyring.Verify(signedWith("new", over), nil, over)).To(Succeed())
		})
	}
}

func TestKeyringChecksTheHeaderAlone(t *testing.T) {
	for name, row := range map[string]struct {
		change func(http.Header)
		err    string
	}{
		"a header that may be genuine": {func(header http.Header) { header.Set("X-AlterShield-Sign", strings.Repeat("A", 44)) }, ""},
		"another platform": {func(header http.Header) { header.Set("X-AlterShield-Platform", "vm") },
			"the signature is not valid: the header X-AlterShield-Platform doesn't name the platform kubernetes"},
		"no timestamp": {func(header http.Header) { header.Del("X-AlterShield-Timestamp") },
			"the signature is not valid: the header X-AlterShield-Timestamp is not a number"},
		"an old timestamp": {func(header http.Header) { header.Set("X-AlterShield-Timestamp", "1699999699999") },
			"the timestamp is out of range: the message is from 2023-11-14T22:08:19Z, more than 5m0s from now: compare the clocks"},
		"no signature": {func(header http.Header) { header.Del("X-AlterShield-Sign") },
			"the signature is not valid: the header X-AlterShield-Sign has 0 characters: a signature has 44"},
		"a signature that is too long": {func(header http.Header) { header.Set("X-AlterShield-Sign", strings.Repeat("A", 45)) },
			"the signature is not valid: the header X-AlterShield-Sign has 45 characters: a signature has 44"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			keyring, _, _ := keyringWith(t, secret)
			header := signedWith(secret, today())
			row.change(header)
			err := keyring.CheckHeader(header, today())
			if row.err == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(MatchError(row.err))
			g.Expect(keyring.Verify(header, nil, today())).To(MatchError(row.err))
		})
	}
}

func TestVerify(t *testing.T) {
	const body, millis = `{"bizExecOrderId":"o1","title":"发布"}`, "1700000000000"
	sign := func(timestamp string) string { return altershield.Sign(timestamp, []byte(body), secret) }
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
		{name: "a millisecond too old", platform: "kubernetes", timestamp: "1699999699999", sign: sign("1699999699999"), err: altershield.ErrExpired},
		{name: "a millisecond too early", platform: "kubernetes", timestamp: "1700000300001", sign: sign("1700000300001"), err: altershield.ErrExpired},
		{name: "before time began", platform: "kubernetes", timestamp: "-9223372036854775808", sign: sign("-9223372036854775808"), err: altershield.ErrExpired},
		{name: "at the end of time", platform: "kubernetes", timestamp: "9223372036854775807", sign: sign("9223372036854775807"), err: altershield.ErrExpired},
		{name: "the most seconds are not milliseconds", platform: "kubernetes", timestamp: "99999999999", sign: sign("99999999999"), err: altershield.ErrExpired},
		{name: "another platform", platform: "vm", timestamp: millis, sign: sign(millis), err: altershield.ErrSignature},
		{name: "the platform in another case", platform: "Kubernetes", timestamp: millis, sign: sign(millis), err: altershield.ErrSignature},
		{name: "no platform", timestamp: millis, sign: sign(millis), err: altershield.ErrSignature},
		{name: "no timestamp", platform: "kubernetes", sign: sign(""), err: altershield.ErrSignature},
		{name: "a timestamp that is no number", platform: "kubernetes", timestamp: "today", sign: sign("today"), err: altershield.ErrSignature},
		{name: "a timestamp that is no whole number", platform: "kubernetes", timestamp: "1.7e12", sign: sign("1.7e12"), err: altershield.ErrSignature},
		{name: "a timestamp too large for a number", platform: "kubernetes", timestamp: millis + millis, sign: sign(millis + millis), err: altershield.ErrSignature},
		{name: "a signature of another time", platform: "kubernetes", timestamp: millis, sign: sign("1700000000001"), err: altershield.ErrSignature},
		{name: "no signature", platform: "kubernetes", timestamp: millis, err: altershield.ErrSignature},
		{name: "a signature in lower case", platform: "kubernetes", timestamp: millis, sign: strings.ToLower(sign(millis)), err: altershield.ErrSignature},
		{name: "a signature with another token", platform: "kubernetes", timestamp: millis, sign: altershield.Sign(millis, []byte(body), "null"), err: altershield.ErrSignature},
		{name: "a body that was changed", platform: "kubernetes", timestamp: millis, sign: sign(millis), other: body + " ", err: altershield.ErrSignature},
		{name: "no body", platform: "kubernetes", timestamp: millis, sign: sign(millis), other: "none", err: altershield.ErrSignature},
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
			err := altershield.NewKeyring(altershield.Credentials{Platform: "kubernetes", TokenFile: tokenFile(t)}).Verify(header, []byte(received), today())
			if row.err == nil {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(MatchError(row.err))
			g.Expect(err.Error()).NotTo(ContainSubstring(secret))
		})
	}
}

func TestVerifyReportsWhenAnExpiredMessageWasSent(t *testing.T) {
	g := NewWithT(t)
	header := http.Header{}
	header.Set("X-AlterShield-Platform", "kubernetes")
	header.Set("X-AlterShield-Timestamp", "1700000000000")
	header.Set("X-AlterShield-Sign", altershield.Sign("1700000000000", nil, secret))
	err := altershield.NewKeyring(altershield.Credentials{Platform: "kubernetes", TokenFile: tokenFile(t)}).Verify(header, nil, today().Add(time.Hour))
	g.Expect(err).To(MatchError("the timestamp is out of range: the message is from 2023-11-14T22:13:20Z, more than 5m0s from now: compare the clocks"))
}
