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
	"flag"
	"fmt"
	"net/url"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/traas-stack/altershield-operator/controllers/platform/tracing"
)

// Limits of the server, in bytes.
const (
	maxPlatform = 32
	maxTenant   = 64
	maxScene    = 256
)

// Config configures the calls of the server.
type Config struct {
	// Address is the http or https URL of the server. Its path, if any, precedes those of the API.
	Address string
	Credentials
	// Tenant and Scene classify releases. The server must know the scene.
	Tenant, Scene string
	// Cluster is the name of the cluster in change orders.
	Cluster string
	// Timeout bounds each call. It must be positive.
	Timeout time.Duration
	// Tracer is nil if tracing is off.
	Tracer *tracing.Tracer
}

// Bind defines the flags that fill the configuration.
func (c *Config) Bind(flags *flag.FlagSet) {
	flags.StringVar(&c.Address, "altershield-address", "",
		"URL of AlterShield Server, which verifies releases. Empty: only VerificationPolicies check releases.")
	flags.StringVar(&c.Platform, "altershield-platform", "kubernetes",
		"Name of the operator (platform) at AlterShield Server, at most 32 bytes.")
	flags.StringVar(&c.TokenFile, "altershield-token-file", "",
		"File with the token of the platform, such as a mounted Secret; reloaded when it changes. Required with --altershield-address. "+
			"Callbacks may also be signed with a token on its second line, or with a token removed from the file in the last 10 minutes.")
	flags.StringVar(&c.Tenant, "altershield-tenant", "default", "Tenant code sent with each call of AlterShield Server, at most 64 bytes.")
	flags.StringVar(&c.Scene, "altershield-scene", "com.alipay.altershield.kubernetes.rollingupdate",
		"Key of the change scene at AlterShield Server. Its callback URL must lead to --callback-bind-address.")
	flags.StringVar(&c.Cluster, "altershield-cluster", "default",
		"Name of this cluster in change orders: at most 63 lower-case letters, digits and dashes.")
}

// Validate returns one error that names every invalid flag.
func (c Config) Validate() error {
	tokenFault := lengthFault(c.TokenFile, 0)
	if tokenFault == nil {
		_, tokenFault = c.tokens()
	}
	return errors.Join(
		ofFlag("--altershield-address", addressFault(c.Address)),
		ofFlag("--altershield-platform", lengthFault(c.Platform, maxPlatform)),
		ofFlag("--altershield-token-file", tokenFault),
		ofFlag("--altershield-tenant", lengthFault(c.Tenant, maxTenant)),
		ofFlag("--altershield-scene", lengthFault(c.Scene, maxScene)),
		ofFlag("--altershield-cluster", clusterFault(c.Cluster)),
	)
}

func ofFlag(flag string, fault error) error {
	if fault == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", flag, fault)
}

// lengthFault returns the error of an empty or too long value. With 0 there is no maximum.
func lengthFault(value string, most int) error {
	switch {
	case value == "":
		return errors.New("it must not be empty")
	case most > 0 && len(value) > most:
		return fmt.Errorf("it has %d bytes, but AlterShield Server accepts at most %d", len(value), most)
	}
	return nil
}

// clusterFault returns the error of an invalid name, which could be confused with later parts of the order.
func clusterFault(name string) error {
	if faults := validation.IsDNS1123Label(name); len(faults) > 0 {
		return fmt.Errorf("%q must be at most 63 lower-case letters, digits and dashes", name)
	}
	return nil
}

// addressFault returns the error of an invalid address, without the address, which may contain a password.
func addressFault(text string) error {
	address, err := url.Parse(text)
	switch {
	case err != nil:
		return fmt.Errorf("it is not a URL: %w", errors.Unwrap(err))
	case address.Scheme != "http" && address.Scheme != "https":
		return errors.New("it must begin with http:// or https://")
	case address.Hostname() == "":
		return errors.New("it has no host")
	case address.User != nil:
		return errors.New("it must not contain a user or password: the operator authenticates with its token")
	case address.RawQuery != "" || address.ForceQuery || address.Fragment != "":
		return errors.New("it must not have a query or fragment (? or #)")
	}
	return nil
}
