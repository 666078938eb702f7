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

// Package altershield implements the protocol of AlterShield Server v1.0: signatures, the calls of the operator, and the callbacks
// of the server.
package altershield

import (
	"crypto/sha256"
	"encoding/base64"
	"strings"
)

// The headers that carry a signature, in both directions.
const (
	HeaderPlatform  = "X-AlterShield-Platform"
	HeaderTimestamp = "X-AlterShield-Timestamp"
	HeaderSign      = "X-AlterShield-Sign"
)

// signLength is the length of a signature in characters, with padding.
const signLength = (sha256.Size + 2) / 3 * 4

// Sign returns the signature of content at a timestamp: base64url of a SHA-256 hash, in upper case. That loses information and is no
// HMAC, but the server requires it.
func Sign(timestamp string, content []byte, token string) string {
	sum := sha256.New()
	sum.Write([]byte(timestamp))
	sum.Write(content)
	sum.Write([]byte("&token=" + token))
	return strings.ToUpper(base64.URLEncoding.EncodeToString(sum.Sum(nil)))
}
