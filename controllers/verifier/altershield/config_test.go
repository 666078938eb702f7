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

package altershield_test

import (
	"flag"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/traas-stack/altershield-operator/controllers/verifier/altershield"
)

func TestConfigValidateTakesWhatCanBeRight(t *testing.T) {
	for name, change := range map[string]func(*altershield.Config){
		"http":   func(*altershield.Config) {},
		"https":  func(config *altershield.Config) { config.Address = "https://altershield.example.com" },
		"a path": func(config *altershield.Config) { config.Address = "http://[::1]:8080/shield/" },
		"the longest": func(config *altershield.Config) {
			config.Platform, config.Tenant, config.Scene = strings.Repeat("p", 32), strings.Repeat("t", 64), strings.Repeat("s", 256)
		},
		"a cluster":        func(config *altershield.Config) { config.Cluster = "hangzhou-1" },
		"a capital scheme": func(config *altershield.Config) { config.Address = "HTTP://altershield:8080" },
	} {
		t.Run(name, func(t *testing.T) {
			config := configFor(t, "http://altershield:8080")
			change(&config)
			NewWithT(t).Expect(config.Validate()).To(Succeed())
		})
	}
}

func TestConfigValidateNamesTheFlag(t *testing.T) {
	address := func(text string) func(*altershield.Config) {
		return func(config *altershield.Config) { config.Address = text }
	}
	for _, row := range []struct {
		change func(*altershield.Config)
		fault  string
	}{
		{address(""), "--altershield-address: it must begin with http:// or https://"},
		{address("altershield:8080"), "--altershield-address: it must begin with http:// or https://"},
		{address("ftp://altershield"), "--altershield-address: it must begin with http:// or https://"},
		{address("http://altershield:port"), `--altershield-address: it is not a URL: invalid port ":port" after host`},
		{address("http://"), "--altershield-address: it has no host"},
		{address("http://:8080"), "--altershield-address: it has no host"},
		{address("http://me@altershield"), "--altershield-address: it must not contain a user or password: the operator authenticates with its token"},
		{address("http://altershield?a=b"), "--altershield-address: it must not have a query or fragment (? or #)"},
		{address("http://altershield?"), "--altershield-address: it must not have a query or fragment (? or #)"},
		{address("http://altershield#a"), "--altershield-address: it must not have a query or fragment (? or #)"},
		{func(config *altershield.Config) { config.Platform = "" }, "--altershield-platform: it must not be empty"},
		{func(config *altershield.Config) { config.Platform = strings.Repeat("发", 11) },
			"--altershield-platform: it has 33 bytes, but AlterShield Server accepts at most 32"},
		{func(config *altershield.Config) { config.TokenFile = "/none" },
			"--altershield-token-file: reading the token: open /none: no such file or directory"},
		{func(config *altershield.Config) { config.TokenFile = "" }, "--altershield-token-file: it must not be empty"},
		{func(config *altershield.Config) { config.Cluster = "a/b" }, `--altershield-cluster: "a/b" must be at most 63 lower-case letters, digits and dashes`},
		{func(config *altershield.Config) { config.Tenant = "" }, "--altershield-tenant: it must not be empty"},
		{func(config *altershield.Config) { config.Tenant = strings.Repeat("t", 65) },
			"--altershield-tenant: it has 65 bytes, but AlterShield Server accepts at most 64"},
		{func(config *altershield.Config) { config.Scene = "" }, "--altershield-scene: it must not be empty"},
		{func(config *altershield.Config) { config.Scene = strings.Repeat("s", 257) },
			"--altershield-scene: it has 257 bytes, but AlterShield Server accepts at most 256"},
	} {
		t.Run(row.fault, func(t *testing.T) {
			config := configFor(t, "http://altershield:8080")
			row.change(&config)
			NewWithT(t).Expect(config.Validate()).To(MatchError(row.fault))
		})
	}
}

func TestConfigValidateNamesAllThatCanNotBeRight(t *testing.T) {
	NewWithT(t).Expect(altershield.Config{}.Validate()).To(MatchError(And(
		ContainSubstring("--altershield-address"), ContainSubstring("--altershield-platform"), ContainSubstring("--altershield-token-file"),
		ContainSubstring("--altershield-tenant"), ContainSubstring("--altershield-scene"),
		ContainSubstring("--altershield-cluster"),
	)))
}

func TestConfigValidateHidesThePasswordOfAnAddress(t *testing.T) {
	for _, address := range []string{"http://me:hunter2@altershield", "http://me:hunter2@altershield:port", "http://me:hunter2 @altershield", "://me:hunter2@altershield"} {
		config := configFor(t, address)
		NewWithT(t).Expect(config.Validate()).To(MatchError(Not(ContainSubstring("hunter2"))), address)
	}
}

func TestConfigBindFillsTheConfiguration(t *testing.T) {
	g := NewWithT(t)
	flags := flag.NewFlagSet("manager", flag.ContinueOnError)
	config := altershield.Config{}
	config.Bind(flags)
	g.Expect(flags.Parse(nil)).To(Succeed())
	g.Expect(config.Address).To(BeEmpty(), "there is no server by default")
	g.Expect(config.Platform).To(Equal("kubernetes"))
	g.Expect(config.Tenant).To(Equal("default"))
	g.Expect(flags.Parse([]string{
		"--altershield-address=http://altershield.example", "--altershield-platform=vm", "--altershield-token-file=/token", "--altershield-tenant=shop",
	})).To(Succeed())
	g.Expect(config.Address).To(Equal("http://altershield.example"))
	g.Expect(config.Credentials).To(Equal(altershield.Credentials{Platform: "vm", TokenFile: "/token"}))
	g.Expect(config.Tenant).To(Equal("shop"))
}
