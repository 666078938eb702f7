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

package webhooks

import (
	"context"
	"crypto/tls"
	"fmt"
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// handshakeTimeout bounds the time that a scrape waits for the certificate of the webhooks.
const handshakeTimeout = time.Second

// RegisterExpiry adds a metric of the expiry of the certificate that is served at address, NaN if none is. Each scrape makes a TLS
// handshake, as a renewed certificate only counts once it is served.
func RegisterExpiry(registry prometheus.Registerer, address string) error {
	gauge := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "altershield_serving_certificate_expiry_timestamp_seconds",
		Help: "Unix time at which the certificate that this replica's webhooks serve expires. NaN while they serve none.",
	}, func() float64 { return expiry(address) })
	if err := registry.Register(gauge); err != nil {
		return fmt.Errorf("registering the metric of the certificate: %w", err)
	}
	return nil
}

func expiry(address string) float64 {
	ctx, cancel := context.WithTimeout(context.Background(), handshakeTimeout)
	defer cancel()
	dialer := &tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}} // it dials its own port, and expired certificates count too
	connection, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return math.NaN()
	}
	defer connection.Close()
	secured, ok := connection.(*tls.Conn)
	if !ok || len(secured.ConnectionState().PeerCertificates) == 0 {
		return math.NaN()
	}
	return float64(secured.ConnectionState().PeerCertificates[0].NotAfter.Unix())
}
