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

package command

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"
)

func TestImpersonateHasAnEffectInAPod(t *testing.T) {
	none, bob := rest.ImpersonationConfig{}, rest.ImpersonationConfig{UserName: "bob", Groups: []string{"devs"}}
	for name, row := range map[string]struct {
		flags         flags
		config, wants rest.ImpersonationConfig
	}{
		"the configuration of a pod": {flags{as: "bob", asGroups: []string{"devs"}}, none, bob},
		"that of a kubeconfig":       {flags{as: "bob", asGroups: []string{"devs"}}, bob, bob},
		"a kubeconfig with a user":   {flags{}, bob, bob},
		"nobody":                     {flags{}, none, none},
	} {
		config := &rest.Config{Impersonate: row.config}
		row.flags.impersonate(config)
		NewWithT(t).Expect(config.Impersonate).To(Equal(row.wants), name)
	}
}
