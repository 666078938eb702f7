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

package controllers_test

import (
	"context"
	"os/exec"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("The manager's flags", func() {
	It("are all checked before anything starts", func(ctx context.Context) {
		output, err := exec.CommandContext(ctx, settings.Binary, "--namespace=Not_A_Name", "--webhook-port=0",
			"--webhook-cert-dir=/nowhere", "--graceful-shutdown-timeout=-1s", "--traces-endpoint=collector").CombinedOutput()
		Expect(err).To(MatchError("exit status 1"))
		Expect(string(output)).To(And(
			ContainSubstring(`--namespace "Not_A_Name" is not the name of a namespace`),
			ContainSubstring("--webhook-port 0 is not a port: it must be from 1 to 65535"),
			ContainSubstring("--webhook-cert-dir: the webhooks need a certificate: stat /nowhere/tls.crt"),
			ContainSubstring("--graceful-shutdown-timeout -1s is negative"),
			ContainSubstring(`--traces-endpoint "collector": it must be host:port`),
		))
	})

	It("don't end at an argument", func(ctx context.Context) {
		for _, arguments := range [][]string{{"uninstal"}, {"--leader-elect", "true", "--namespace=Not_A_Name"}} {
			output, err := exec.CommandContext(ctx, settings.Binary, arguments...).CombinedOutput()
			Expect(err).To(MatchError("exit status 1"))
			Expect(string(output)).To(MatchRegexp(`^altershield-operator: unexpected argument "(uninstal|true)"; -h lists the flags\n$`))
		}
	})

	It("tell which build it is", func(ctx context.Context) {
		output, err := exec.CommandContext(ctx, settings.Binary, "--version").CombinedOutput()
		Expect(err).NotTo(HaveOccurred())
		Expect(string(output)).To(MatchRegexp(`^altershield-operator dev \(commit unknown, go1\.[^)]+\)\n$`))
	})

	It("name a Secret as Kubernetes does, in place of files", func(ctx context.Context) {
		output, err := exec.CommandContext(ctx, settings.Binary, "--webhook-cert-secret=Not_A_Name", "--webhook-cert-dir=/nowhere").CombinedOutput()
		Expect(err).To(MatchError("exit status 1"))
		Expect(string(output)).To(And(
			ContainSubstring(`--webhook-cert-secret "Not_A_Name" is not the name of a Secret`),
			Not(ContainSubstring("--webhook-cert-dir")),
		))
	})

	It("refuse an AlterShield Server without a token", func(ctx context.Context) {
		output, err := exec.CommandContext(ctx, settings.Binary, "--webhook-cert-dir=/nowhere", "--altershield-address=altershield:8080",
			"--altershield-failure-policy=maybe", "--callback-cert-dir=/nowhere", "--callback-bind-address=0").CombinedOutput()
		Expect(err).To(MatchError("exit status 1"))
		Expect(string(output)).To(And(
			ContainSubstring("--altershield-token-file: it must not be empty"),
			ContainSubstring("--altershield-address: it must begin with http:// or https://"),
			ContainSubstring(`--altershield-failure-policy "maybe" must be pass or fail`),
			ContainSubstring("--callback-cert-dir: stat /nowhere/tls.crt"),
			ContainSubstring("--callback-bind-address=0: AlterShield Server could not deliver its verdicts"),
		))
	})

	It("refuse an endpoint of verdicts that takes tokens in plain text, or that is off", func(ctx context.Context) {
		for flag, problem := range map[string]string{
			"--callback-cert-dir=":      "--verdict-endpoint: the tokens of the callers would be sent in plain text: set --callback-cert-dir to a directory with tls.crt and tls.key",
			"--callback-bind-address=0": "--verdict-endpoint: no verdict could be sent to --callback-bind-address=0: set an address, such as :8080",
		} {
			output, err := exec.CommandContext(ctx, settings.Binary, "--webhook-cert-dir=/nowhere", "--verdict-endpoint", flag).CombinedOutput()
			Expect(err).To(MatchError("exit status 1"))
			Expect(string(output)).To(ContainSubstring(problem))
		}
	})

	It("refuse what is no address", func(ctx context.Context) {
		output, err := exec.CommandContext(ctx, settings.Binary, "--webhook-cert-secret=webhook-server-cert", "--kubeconfig=/nowhere",
			"--metrics-bind-address=8089", "--health-probe-bind-address=localhost", "--callback-bind-address=").CombinedOutput()
		Expect(err).To(MatchError("exit status 1"))
		Expect(string(output)).To(And(
			ContainSubstring(`--metrics-bind-address "8089": it must be host:port or :port, or 0 to turn it off`),
			ContainSubstring(`--health-probe-bind-address "localhost": it must be host:port or :port, or 0 to turn it off`),
			ContainSubstring(`--callback-bind-address "": it must be host:port or :port, or 0 to turn it off`),
		))
	})

	It("refuse an address of profiles that others reach", func(ctx context.Context) {
		for _, address := range []string{":6060", "0.0.0.0:6060", "[::]:6060", "192.0.2.1:6060", "manager:6060", "6060"} {
			output, err := exec.CommandContext(ctx, settings.Binary, "--webhook-cert-secret=webhook-server-cert", "--kubeconfig=/nowhere", "--pprof-bind-address="+address).CombinedOutput()
			Expect(err).To(MatchError("exit status 1"))
			Expect(string(output)).To(ContainSubstring(`--pprof-bind-address "` + address + `" is not on loopback: profiles show memory to everyone who reaches it; use 127.0.0.1:6060 and kubectl port-forward`))
		}
		for _, address := range []string{"0", "127.0.0.1:6060", "[::1]:6060", "localhost:6060"} {
			output, err := exec.CommandContext(ctx, settings.Binary, "--webhook-cert-secret=webhook-server-cert", "--kubeconfig=/nowhere", "--pprof-bind-address="+address).CombinedOutput()
			Expect(err).To(MatchError("exit status 1"))
			Expect(string(output)).To(ContainSubstring("loading the kubeconfig"), address)
		}
	})

	DescribeTable("shape the lines of the log", func(ctx context.Context, first string, flags ...string) {
		command := exec.CommandContext(ctx, settings.Binary, append(flags, "--webhook-cert-secret=webhook-server-cert", "--kubeconfig=/nowhere")...)
		output, err := command.CombinedOutput()
		Expect(err).To(MatchError("exit status 1"))
		Expect(string(output)).To(MatchRegexp(first))
	},
		Entry("in JSON by default", `^\{"level":"info","ts":"\d{4}-\d\d-\d\dT[^"]+","msg":"Starting AlterShield Operator",[^\n]*\}\n`),
		Entry("for reading", `^\d{4}-\d\d-\d\dT\S+\tINFO\tStarting AlterShield Operator\t\{`, "--zap-devel"),
		Entry("for reading, by its encoder", `^\d{4}-\d\d-\d\dT\S+\tINFO\tStarting AlterShield Operator\t\{`, "--zap-encoder=console"),
		Entry("with times in seconds", `^\{"level":"info","ts":\d{10}\.\d+,"msg":"Starting`, "--zap-time-encoding=epoch"),
		Entry("with stack traces", `^\{"level":"info",[^\n]*"stacktrace":"[^\n]*main\.main`, "--zap-stacktrace-level=info"),
		Entry("with fewer lines", `^altershield-operator: `, "--zap-log-level=error"),
	)

	It("explain themselves", func(ctx context.Context) {
		output, err := exec.CommandContext(ctx, settings.Binary, "--help").CombinedOutput()
		Expect(err).NotTo(HaveOccurred())
		Expect(string(output)).To(ContainSubstring("Enable leader election."))
	})
})
