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
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// What Verify finds wrong with a message.
var (
	// ErrSignature means that a message is not signed with the token, or was changed on its way.
	ErrSignature = errors.New("the signature is not valid")
	// ErrExpired means that a message is too old, or from the future: it may be a repetition, or a clock is wrong.
	ErrExpired = errors.New("the timestamp is out of range")
)

const (
	// signatureWindow is how far a timestamp may be from now. The server itself keeps no window.
	signatureWindow = 5 * time.Minute
	// firstMillisecond is the least timestamp that counts as milliseconds: as seconds it would be the year 5138.
	firstMillisecond = 100_000_000_000
	// maxTokens are in the file at most.
	maxTokens = 2
)

// Credentials are what the operator and the server share.
type Credentials struct {
	// Platform is the name under which the server knows the operator, in at most 32 bytes.
	Platform string
	// TokenFile holds the secret that signs messages in both directions, and on a second line, if there is one, another that
	// the server may sign with.
	TokenFile string
}

// tokens reads the secrets from their file, without the white space around them; the first signs. It is an error if there is
// none. No error tells one.
func (c Credentials) tokens() ([]string, error) {
	content, err := os.ReadFile(c.TokenFile)
	if err != nil {
		return nil, fmt.Errorf("reading the token: %w", err)
	}
	var tokens []string
	for line := range strings.Lines(string(content)) {
		if token := strings.TrimSpace(line); token != "" {
			tokens = append(tokens, token)
		}
	}
	switch {
	case len(tokens) == 0:
		return nil, fmt.Errorf("reading the token: the file %s is empty", c.TokenFile)
	case len(tokens) > maxTokens:
		return nil, fmt.Errorf("reading the token: the file %s has %d lines: it must have one with the token that signs, and may have a second one "+
			"with a token that callbacks may be signed with", c.TokenFile, len(tokens))
	}
	return tokens, nil
}

// timeOf takes what Java clients send, which is milliseconds, and what Go clients send, which is seconds.
func timeOf(timestamp int64) time.Time {
	if timestamp < firstMillisecond {
		return time.Unix(timestamp, 0)
	}
	return time.UnixMilli(timestamp)
}
