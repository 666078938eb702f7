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
	"crypto/tls"
	"crypto/x509"
	"net/http"
)

// Through makes the client use a transport, for tests without a network.
func (c *Client) Through(transport http.RoundTripper) { c.http.Transport = transport }

// Trust makes the client trust an authority.
func (c *Client) Trust(authority *x509.CertPool) {
	c.http.Transport.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: authority, MinVersion: tls.VersionTLS12}
}
