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
	"crypto/subtle"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

// formerPeriod is how long callbacks may be signed with a token that is no longer in the file: the server gets its new token
// at another moment than the operator, and never sends a callback again.
const formerPeriod = 10 * time.Minute

// Keyring holds the tokens that sign and verify. Client and callbacks share one, so that a change of the file
// is seen within ten seconds, by the heartbeat. What it remembers is lost when the process ends.
type Keyring struct {
	credentials Credentials

	mutex   sync.Mutex
	current []string
	former  map[string]time.Time // until when they verify
}

// NewKeyring reads nothing yet.
func NewKeyring(credentials Credentials) *Keyring {
	return &Keyring{credentials: credentials, former: map[string]time.Time{}}
}

// Token returns the token that signs. It is read every time, as a mounted Secret changes.
func (k *Keyring) Token(now time.Time) (string, error) {
	tokens, err := k.read(now)
	if err != nil {
		return "", err
	}
	return tokens[0], nil
}

// read returns the tokens that verify, those of the file first.
func (k *Keyring) read(now time.Time) ([]string, error) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	tokens, err := k.credentials.tokens()
	if err != nil {
		return nil, err
	}
	for _, token := range k.current {
		if !slices.Contains(tokens, token) {
			k.former[token] = now.Add(formerPeriod)
		}
	}
	k.current = tokens
	verifying := slices.Clone(tokens)
	for token, until := range k.former {
		if now.Before(until) {
			verifying = append(verifying, token)
		} else {
			delete(k.former, token)
		}
	}
	return verifying, nil
}

// CheckHeader returns what can be held against a message of the server before its body is read. The error wraps ErrSignature
// or ErrExpired.
func (k *Keyring) CheckHeader(header http.Header, now time.Time) error {
	if header.Get(HeaderPlatform) != k.credentials.Platform {
		return fmt.Errorf("%w: the header %s doesn't name the platform %s", ErrSignature, HeaderPlatform, k.credentials.Platform)
	}
	timestamp, err := strconv.ParseInt(header.Get(HeaderTimestamp), 10, 64)
	if err != nil {
		return fmt.Errorf("%w: the header %s is not a number", ErrSignature, HeaderTimestamp)
	}
	if length := len(header.Get(HeaderSign)); length != signLength {
		return fmt.Errorf("%w: the header %s has %d characters: a signature has %d", ErrSignature, HeaderSign, length, signLength)
	}
	if now.Sub(timeOf(timestamp)).Abs() > signatureWindow {
		return fmt.Errorf("%w: the message is of %s, which is more than %s from now: compare the clocks",
			ErrExpired, timeOf(timestamp).UTC().Format(time.RFC3339), signatureWindow)
	}
	return nil
}

// Verify returns nil for a message of the server that is genuine and was sent within five minutes of now. body is what was
// received, byte for byte. The error wraps ErrSignature or ErrExpired, unless the token can't be read.
func (k *Keyring) Verify(header http.Header, body []byte, now time.Time) error {
	tokens, err := k.read(now)
	if err != nil {
		return err
	}
	if err := k.CheckHeader(header, now); err != nil {
		return err
	}
	// Both sides sign the number and not its text, so that leading zeros don't count.
	timestamp, _ := strconv.ParseInt(header.Get(HeaderTimestamp), 10, 64)
	for _, token := range tokens {
		expected := Sign(strconv.FormatInt(timestamp, 10), body, token)
		if subtle.ConstantTimeCompare([]byte(expected), []byte(header.Get(HeaderSign))) == 1 {
			return nil
		}
	}
	return fmt.Errorf("%w: the header %s doesn't fit the message and the token", ErrSignature, HeaderSign)
}
