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
// Package signature signs messages as Standard Webhooks 1.0.0 defines it, by HMAC-SHA256.
package signature

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	// leastKey is the fewest bytes of a key of signatures, as Standard Webhooks wants it.
	leastKey = 24
	// mostKeys is the most keys of a message. More lines are those of something else, such as of a certificate.
	mostKeys = 4
)

// Keys returns the keys of signatures in a text, one a line. There are several while they change.
func Keys(text string) ([][]byte, error) {
	var keys [][]byte
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
	if len(lines) > mostKeys {
		return nil, fmt.Errorf("has more than %d lines, each of which is a key", mostKeys)
	}
	for i, line := range lines {
		key, err := keyOf(line)
		if err != nil && len(lines) > 1 {
			err = fmt.Errorf("%w, in line %d", err, i+1)
		}
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return nil, errors.New("has no key")
	}
	return keys, nil
}

// keyOf returns a key of signatures, which is written as it is, or as whsec_ and base64.
func keyOf(text string) ([]byte, error) {
	key := []byte(text)
	if encoded, isStandard := strings.CutPrefix(text, "whsec_"); isStandard {
		var err error
		if key, err = base64.StdEncoding.DecodeString(encoded); err != nil {
			return nil, errors.New("is no base64 after whsec_")
		}
	}
	if len(key) < leastKey {
		return nil, fmt.Errorf("has less than %d bytes", leastKey)
	}
	return key, nil
}

// Sign sets the headers of a message of an ID, which is the same for all tries to send it. It has a signature by each key: a receiver that knows one of
// them takes it. Without a key the message isn't signed.
func Sign(header http.Header, keys [][]byte, id string, sent time.Time, body []byte) {
	at := strconv.FormatInt(sent.Unix(), 10)
	header.Set("Webhook-Id", id)
	header.Set("Webhook-Timestamp", at)
	if len(keys) == 0 {
		return
	}
	signatures := make([]string, len(keys))
	for i, key := range keys {
		mac := hmac.New(sha256.New, key)
		fmt.Fprintf(mac, "%s.%s.%s", id, at, body)
		signatures[i] = "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	}
	header.Set("Webhook-Signature", strings.Join(signatures, " "))
}
