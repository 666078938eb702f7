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

package command_test

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"

	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/command"
)

func TestVersionsOfThePluginAndOfTheOperator(t *testing.T) {
	g := NewWithT(t)
	objects := installation(t)
	b := newBench(t, objects...)
	g.Expect(b.run("version").expects(g, command.OK)).To(MatchRegexp(
		`^kubectl-altershield v1\.2\.3 \(commit abc, go1\S+\)\noperator registry/altershield-operator:v1\.2\.0 in namespace altershieldoperator-system\n$`))
	g.Expect(b.run("version", "--client").expects(g, command.OK)).NotTo(ContainSubstring("operator"))
	g.Expect(b.run("version", "-o", "jsonpath={.version} {.operator.version} {.skew}").expects(g, command.OK)).To(Equal("v1.2.3 v1.2.0 None"))
	g.Expect(b.run("version", "--operator-namespace=other").expects(g, command.OK)).To(HaveSuffix(
		"operator not known: there is no Deployment altershieldoperator-controller-manager in namespace other\n"))
	g.Expect(b.run("version", "--kubeconfig=/nonexistent").expects(g, command.OK)).To(ContainSubstring("operator not known: reading the kubeconfig: "))
	for kinds, says := range map[string]string{
		"forbidden": "operator not known: you may not list deployments.apps in namespace altershieldoperator-system\n",
		"broken":    "operator not known: Internal error occurred: disk full\n",
	} {
		funcs := breaks("Deployment")
		if kinds == "forbidden" {
			funcs = refuses("Deployment")
		}
		g.Expect(newBenchWith(t, funcs, objects...).run("version").expects(g, command.OK)).To(HaveSuffix(says))
	}
}

func TestVersionEndsItsRequestsEvenThoseOfDiscovery(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, installation(t)...)
	g.Expect(b.run("version").code).To(Equal(command.OK))
	caller, err := rest.HTTPClientFor(b.config)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = caller.Get("http://127.0.0.1:1/api") //nolint:noctx,bodyclose // it has no context, and no answer
	g.Expect(err).To(MatchError(context.Canceled))
}
