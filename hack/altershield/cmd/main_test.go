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
	"bufio"
	"bytes"
	"context"
	"flag"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func writeToken(t *testing.T, text string) string {
	path := filepath.Join(t.TempDir(), "token")
	NewWithT(t).Expect(os.WriteFile(path, []byte(text), 0o600)).To(Succeed())
	return path
}

func TestRunServesUntilItIsAskedToEnd(t *testing.T) {
	g := NewWithT(t)
	ctx, stop := context.WithCancel(t.Context())
	reader, writer := io.Pipe()
	ended := make(chan error, 1)
	args := []string{"--listen=127.0.0.1:0", "--token-file=" + writeToken(t, "secret\n")}
	go func() {
		ended <- run(ctx, args, writer, io.Discard)
		_ = writer.Close()
	}()
	lines := bufio.NewScanner(reader)
	g.Expect(lines.Scan()).To(BeTrue())
	g.Expect(lines.Text()).To(HaveSuffix(", callbacks go to http://127.0.0.1:8080/openapi/altershield/callback"))
	url, _, _ := strings.Cut(strings.TrimPrefix(lines.Text(), "AlterShield test server listens on "), ",")

	answered := make(chan int, 1)
	go func() {
		response, err := http.Post(url+"/openapi/v1/exe/retrieveChangeCheck", "application/json", strings.NewReader(`{"nodeId":"n1"}`))
		if err != nil {
			answered <- 0
			return
		}
		_ = response.Body.Close()
		answered <- response.StatusCode
	}()
	g.Expect(lines.Scan()).To(BeTrue())
	g.Expect(lines.Text()).To(ContainSubstring("retrieveChangeCheck  order -  node n1  stage -  -> HTTP 200  101  tenantCode must not be blank; changeSceneKey must not be blank; "))
	g.Expect(<-answered).To(Equal(200))

	stop()
	g.Eventually(ended).WithTimeout(time.Minute).Should(Receive(BeNil()))
}

func TestRunShowsFlagsEndpointsAndExamplesAsHelp(t *testing.T) {
	g := NewWithT(t)
	help := &bytes.Buffer{}
	g.Expect(run(t.Context(), []string{"-h"}, io.Discard, help)).To(MatchError(flag.ErrHelp))
	g.Expect(help.String()).To(ContainSubstring("-callback-url"))
	g.Expect(help.String()).To(ContainSubstring("DELETE /test/faults"))
	g.Expect(help.String()).To(ContainSubstring(
		`curl -d '{"name":"error rate","message":"5xx above 1%","stage":"POST","batch":2,"verdict":"FAIL"}' http://127.0.0.1:8180/test/rules`))
	g.Expect(strings.Count(help.String(), "    curl ")).To(Equal(3))
}

func TestRunRefusesArgumentsThatMakeNoSense(t *testing.T) {
	good := "--token-file=" + writeToken(t, "secret")
	for message, args := range map[string][]string{
		"--token-file is required":                             nil,
		`unexpected argument "x"; -h lists the flags`:          {good, "x"},
		"contains no token":                                    {"--token-file=" + writeToken(t, " \n")},
		"no such file or directory":                            {"--token-file=missing"},
		"flag provided but not defined: -port":                 {"--port=1"},
		"listen tcp: address nowhere: missing port in address": {good, "--listen=nowhere"},
	} {
		t.Run(message, func(t *testing.T) {
			NewWithT(t).Expect(run(t.Context(), args, io.Discard, io.Discard)).To(MatchError(ContainSubstring(message)))
		})
	}
}
