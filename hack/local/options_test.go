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

package main

import (
	"flag"
	"testing"

	. "github.com/onsi/gomega"
)

func TestSplitArgs(t *testing.T) {
	for line, args := range map[string][]string{
		"":                          {},
		" --a   x ":                 {"--a", "x"},
		`--a='x "y"' "" --n="ñ  ö"`: {`--a=x "y"`, "", "--n=ñ  ö"},
	} {
		NewWithT(t).Expect(splitArgs(line)).To(Equal(args), line)
	}
	_, err := splitArgs(`--a "x`)
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("exit status 2: sh: ")))
}

func TestParseUp(t *testing.T) {
	g := NewWithT(t)
	env := map[string]string{"LOCAL_WEBHOOK_PORT": "1444", "LOCAL_METRICS_PORT": "8090"}
	options, err := parseUp([]string{"--manager=m", "--manager-args=--a 'b c'", "--metrics-port=8091"}, func(key string) string { return env[key] })
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(options.manager).To(Equal("m"))
	g.Expect(options.managerArgs).To(Equal([]string{"--a", "b c"}))
	var ports []int
	for _, setting := range options.portSettings() {
		ports = append(ports, *setting.port)
	}
	g.Expect(ports).To(Equal([]int{6443, 2379, 2380, 10257, 10259, 1444, 8091, 8088, 8080, 8180}))
}

func TestParseUpRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		args              []string
		variable, message string
	}{
		"no manager":          {nil, "", "--manager is required"},
		"an argument":         {[]string{"--manager=m", "x"}, "", `unexpected argument "x"; -h lists the flags`},
		"port 0":              {[]string{"--manager=m", "--probe-port=0"}, "", "--probe-port: 0 is not a port number from 1 to 65535"},
		"the same port":       {[]string{"--manager=m", "--probe-port=1443"}, "", "--webhook-port and --probe-port are both 1443: they must differ"},
		"a port with letters": {nil, "http", `environment variable LOCAL_PROBE_PORT: "http" is not a port number`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parseUp(c.args, func(key string) string {
				return map[string]string{"LOCAL_PROBE_PORT": c.variable}[key]
			})
			NewWithT(t).Expect(err).To(MatchError(c.message))
		})
	}
	_, err := parseUp([]string{"-h"}, func(string) string { return "" })
	NewWithT(t).Expect(err).To(MatchError(flag.ErrHelp))
}

func TestMentions(t *testing.T) {
	g := NewWithT(t)
	argv := []string{"program", "--url=http://127.0.0.1:2379", "--port=1443"}
	g.Expect(mentions(argv, 2379)).To(BeTrue())
	g.Expect(mentions(argv, 1443)).To(BeTrue())
	g.Expect(mentions(argv, 443)).To(BeFalse())
	g.Expect(mentions(argv, 237)).To(BeFalse())
}

func TestQuote(t *testing.T) {
	g := NewWithT(t)
	g.Expect(quote("/Application Support/x")).To(Equal("'/Application Support/x'"))
	g.Expect(quote("/it's")).To(Equal(`'/it'\''s'`))
}
