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

// What the server takes, in bytes.
const (
	maxPlatform = 32
	maxTenant   = 64
	maxScene    = 256
)

// Config says where the server is and who the operator is to it.
type Config struct {
	// Address is where the server is, http or https; its path, if any, goes before those of the API.
	Address string
	Credentials
	// Tenant and Scene say what kind of change a release is; the server has to know the scene.
	Tenant, Scene string
	// Cluster tells the server which cluster a release is in.
	Cluster string
	// Timeout is how long one call may take, which has to be more than 0.
	Timeout time.Duration
	// Tracer sends spans of the calls; nil where nothing is traced.
	Tracer *tracing.Tracer
}

// Bind defines the flags that fill the configuration.
func (c *Config) Bind(flags *flag.FlagSet) {
	flags.StringVar(&c.Address, "altershield-address", "",
		"URL of AlterShield Server, which verifies releases. Empty: no server is asked, and every batch passes.")
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

// Validate names every flag that can't be right, in one error.
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

// lengthFault knows no upper limit where most is 0.
func lengthFault(value string, most int) error {
	switch {
	case value == "":
		return errors.New("it must not be empty")
	case most > 0 && len(value) > most:
		return fmt.Errorf("it has %d bytes, AlterShield Server takes %d at most", len(value), most)
	}
	return nil
}

// clusterFault keeps a name from looking like a part of the order behind it.
func clusterFault(name string) error {
	if faults := validation.IsDNS1123Label(name); len(faults) > 0 {
		return fmt.Errorf("%q must be at most 63 lower-case letters, digits and dashes", name)
	}
	return nil
}

// addressFault doesn't repeat the address, which may hold a password.
func addressFault(text string) error {
	address, err := url.Parse(text)
	switch {
	case err != nil:
		return fmt.Errorf("it is not a URL: %w", errors.Unwrap(err))
	case address.Scheme != "http" && address.Scheme != "https":
		return errors.New("it must begin with http:// or https://")
	case address.Hostname() == "":
		return errors.New("it names no host")
	case address.User != nil:
		return errors.New("it must not hold a user or password: AlterShield Server knows the operator by its token")
	case address.RawQuery != "" || address.ForceQuery || address.Fragment != "":
		return errors.New("it must end with the path: nothing may follow a ? or #")
	}
	return nil
}
