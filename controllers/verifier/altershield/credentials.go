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

// Errors of Verify.
var (
	// ErrSignature means that a message is not signed with the token, or was altered.
	ErrSignature = errors.New("the signature is not valid")
	// ErrExpired means that a message is too old, or from the future. It may be replayed, or a clock is wrong.
	ErrExpired = errors.New("the timestamp is out of range")
)

const (
	// signatureWindow is the tolerance of timestamps. The server itself has none.
	signatureWindow = 5 * time.Minute
	// firstMillisecond is the lowest timestamp that counts as milliseconds. In seconds it would be the year 5138.
	firstMillisecond = 100_000_000_000
	// maxTokens is the maximum number of tokens in the file.
	maxTokens = 2
)

// Credentials are shared by the operator and the server.
type Credentials struct {
	// Platform is the name of the operator at the server, at most 32 bytes.
	Platform string
	// TokenFile holds the token that signs messages in both directions, and optionally, on a second line, another one for callbacks.
	TokenFile string
}

// tokens reads the tokens from their file, without surrounding white space. The first one signs. At least one must exist. Errors
// never include a token.
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
		return nil, fmt.Errorf("reading the token: the file %s has %d lines: the first must hold the token that signs, "+
			"a second may hold another token for callbacks", c.TokenFile, len(tokens))
	}
	return tokens, nil
}

// timeOf accepts milliseconds, which Java clients send, and seconds, which Go clients send.
func timeOf(timestamp int64) time.Time {
	if timestamp < firstMillisecond {
		return time.Unix(timestamp, 0)
	}
	return time.UnixMilli(timestamp)
}
