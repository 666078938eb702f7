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
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

// formerPeriod is the time for which callbacks may be signed with a token that was removed from the file: the server gets a new token
// at another time than the operator, and never repeats a callback.
const formerPeriod = 10 * time.Minute

// Keyring holds the tokens that sign and verify. Client and callbacks share one, so that the heartbeat notices a change of the file
// within ten seconds. Removed tokens are forgotten when the process ends.
type Keyring struct {
	credentials Credentials

	mutex   sync.Mutex
	current []string
	former  map[string]time.Time // by token, the end of its validity
}

// NewKeyring returns a Keyring. It doesn't read the file yet.
func NewKeyring(credentials Credentials) *Keyring {
	return &Keyring{credentials: credentials, former: map[string]time.Time{}}
}

// Token returns the token that signs. It reads the file each time, as a mounted Secret may change.
func (k *Keyring) Token(now time.Time) (string, error) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if err := k.read(now); err != nil {
		return "", err
	}
	return k.current[0], nil
}

// read reads the file. Tokens that are missing in it become former ones, once, also while it can't be read.
func (k *Keyring) read(now time.Time) error {
	tokens, err := k.credentials.tokens()
	for _, token := range k.current {
		if _, isFormer := k.former[token]; !slices.Contains(tokens, token) && (err == nil || !isFormer) {
			k.former[token] = now.Add(formerPeriod)
		}
	}
	if err != nil {
		return err
	}
	k.current = tokens
	maps.DeleteFunc(k.former, func(token string, until time.Time) bool { return slices.Contains(tokens, token) || !now.Before(until) })
	return nil
}

// verifying returns the tokens that verify, those in the file first. With the error of the file there may be some, too.
func (k *Keyring) verifying(now time.Time) ([]string, error) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	var tokens []string
	err := k.read(now)
	if err == nil {
		tokens = slices.Clone(k.current)
	}
	for token, until := range k.former {
		if now.Before(until) {
			tokens = append(tokens, token)
		}
	}
	return tokens, err
}

// CheckHeader checks the header of a message, before its body is read. The error wraps ErrSignature or ErrExpired.
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
		return fmt.Errorf("%w: the message is from %s, more than %s from now: compare the clocks",
			ErrExpired, timeOf(timestamp).UTC().Format(time.RFC3339), signatureWindow)
	}
	return nil
}

// Verify returns nil for an authentic message that was sent within five minutes of now. body must be the unmodified body. The error
// wraps ErrSignature or ErrExpired, unless the token can't be read and none from before matches.
func (k *Keyring) Verify(header http.Header, body []byte, now time.Time) error {
	tokens, unread := k.verifying(now)
	if err := k.CheckHeader(header, now); err != nil {
		return err
	}
	// Both sides sign the number, not its text: leading zeros don't count.
	timestamp, _ := strconv.ParseInt(header.Get(HeaderTimestamp), 10, 64)
	for _, token := range tokens {
		expected := Sign(strconv.FormatInt(timestamp, 10), body, token)
		if subtle.ConstantTimeCompare([]byte(expected), []byte(header.Get(HeaderSign))) == 1 {
			return nil
		}
	}
	if unread != nil {
		return unread
	}
	return fmt.Errorf("%w: the header %s doesn't match the message and the token", ErrSignature, HeaderSign)
}
