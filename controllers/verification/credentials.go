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

package verification

import (
	"bytes"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"time"
)

// What Verify finds wrong with a message.
var (
	// ErrSignature says that a message doesn't come from somebody who has the token, or was changed on its way.
	ErrSignature = errors.New("the signature is not valid")
	// ErrExpired says that a message is too old, or from the future: it may be a repetition, or a clock is wrong.
	ErrExpired = errors.New("the timestamp is out of range")
)

const (
	// signatureWindow is how far a timestamp may be from now. The server itself keeps no window.
	signatureWindow = 5 * time.Minute
	// firstMillisecond is the least timestamp that counts as milliseconds: as seconds it would be the year 5138.
	firstMillisecond = 100_000_000_000
)

// Credentials are what the operator and the server share.
type Credentials struct {
	// Platform is the name under which the server knows the operator, in at most 32 bytes.
	Platform string
	// TokenFile holds the secret that signs messages in both directions.
	TokenFile string
}

// Token reads the secret from its file every time, as a mounted Secret changes, without the white space around it. It is an
// error if there is none. No error tells it.
func (c Credentials) Token() (string, error) {
	content, err := os.ReadFile(c.TokenFile)
	if err != nil {
		return "", fmt.Errorf("reading the token: %w", err)
	}
	token := string(bytes.TrimSpace(content))
	if token == "" {
		return "", fmt.Errorf("reading the token: the file %s is empty", c.TokenFile)
	}
	return token, nil
}

// Verify says whether a message of the server is genuine and was sent within five minutes of now. body is what was
// received, byte for byte. The error wraps ErrSignature or ErrExpired, unless the token can't be read.
func (c Credentials) Verify(header http.Header, body []byte, now time.Time) error {
	token, err := c.Token()
	if err != nil {
		return err
	}
	if header.Get(HeaderPlatform) != c.Platform {
		return fmt.Errorf("%w: the header %s doesn't name the platform %s", ErrSignature, HeaderPlatform, c.Platform)
	}
	timestamp, err := strconv.ParseInt(header.Get(HeaderTimestamp), 10, 64)
	if err != nil {
		return fmt.Errorf("%w: the header %s is not a number", ErrSignature, HeaderTimestamp)
	}
	// Both sides sign the number and not its text, so that leading zeros don't count.
	expected := Sign(strconv.FormatInt(timestamp, 10), body, token)
	if subtle.ConstantTimeCompare([]byte(expected), []byte(header.Get(HeaderSign))) != 1 {
		return fmt.Errorf("%w: the header %s doesn't fit the message and the token", ErrSignature, HeaderSign)
	}
	if age := now.Sub(timeOf(timestamp)); age > signatureWindow || age < -signatureWindow {
		return fmt.Errorf("%w: the message is of %s, which is more than %s from now: compare the clocks",
			ErrExpired, timeOf(timestamp).UTC().Format(time.RFC3339), signatureWindow)
	}
	return nil
}

// timeOf takes what Java clients send, which is milliseconds, and what Go clients send, which is seconds.
func timeOf(timestamp int64) time.Time {
	if timestamp < firstMillisecond {
		return time.Unix(timestamp, 0)
	}
	return time.UnixMilli(timestamp)
}
