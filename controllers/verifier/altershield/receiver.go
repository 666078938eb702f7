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
	"net/http"
	"time"

	"github.com/traas-stack/altershield-operator/controllers/verifier"
)

// Callbacks receives the verdicts of the server.
type Callbacks struct {
	// Keyring verifies messages. It is nil if no server is configured; then every message is rejected.
	Keyring *Keyring
}

// Paths returns the callback paths of the published servers.
func (Callbacks) Paths() []string {
	return []string{"/openapi/altershield/callback", "/openapi/opscloud/callback", "/openapi/callback"}
}

// CheckHeader returns an error for a message whose header rules it out.
func (c Callbacks) CheckHeader(header http.Header, now time.Time) error {
	if c.Keyring == nil {
		return &verifier.Rejection{
			Fault: verifier.Unavailable, Message: "the operator has no AlterShield Server configured", Err: errors.New("no AlterShield Server is configured"),
		}
	}
	return rejection(c.Keyring.CheckHeader(header, now))
}

// Receive verifies and parses a callback.
func (c Callbacks) Receive(header http.Header, body []byte, now time.Time) (verifier.Delivery, error) {
	if err := c.CheckHeader(header, now); err != nil {
		return verifier.Delivery{}, err
	}
	if err := rejection(c.Keyring.Verify(header, body, now)); err != nil {
		return verifier.Delivery{}, err
	}
	delivery, err := ParseCallback(body)
	if err != nil {
		return verifier.Delivery{}, &verifier.Rejection{Fault: verifier.Malformed, Message: err.Error(), Err: err}
	}
	return delivery, nil
}

// rejection returns the Rejection for an error, nil for nil.
func rejection(cause error) error {
	switch {
	case cause == nil:
		return nil
	case errors.Is(cause, ErrSignature):
		return &verifier.Rejection{Fault: verifier.Unsigned, Message: ErrSignature.Error(), Err: cause}
	case errors.Is(cause, ErrExpired):
		return &verifier.Rejection{Fault: verifier.Expired, Message: ErrExpired.Error(), Err: cause}
	}
	return &verifier.Rejection{Fault: verifier.Unavailable, Message: "the operator can't read its token", Err: cause}
}
