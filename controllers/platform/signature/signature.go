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

// leastKey is the fewest bytes of a key of signatures, as Standard Webhooks wants it.
const leastKey = 24

// Key returns a key of signatures, which is written as it is, or as whsec_ and base64.
func Key(text string) ([]byte, error) {
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

// Sign sets the headers of a message of an ID, which is the same for all tries to send it. Without a key the message isn't signed.
func Sign(header http.Header, key []byte, id string, sent time.Time, body []byte) {
	at := strconv.FormatInt(sent.Unix(), 10)
	header.Set("Webhook-Id", id)
	header.Set("Webhook-Timestamp", at)
	if key == nil {
		return
	}
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.%s", id, at, body)
	header.Set("Webhook-Signature", "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
}
