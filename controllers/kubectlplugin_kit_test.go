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
	"archive/zip"
	"context"
	"io"
	"os"
	"os/exec"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// installed is the kubectl plugin in a directory of programs.
type installed struct{ programs string }

// install builds the plugin.
func install(ctx context.Context) installed {
	GinkgoHelper()
	plugin := installed{GinkgoT().TempDir()}
	command := exec.CommandContext(ctx, "go", "install", "./cmd/kubectl-altershield")
	command.Dir = ".."
	command.Env = append(os.Environ(), "GOBIN="+plugin.programs, "CGO_ENABLED=0")
	output, err := command.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(output))
	return plugin
}

// run runs the plugin through kubectl, and returns what it prints and its exit code.
func (p installed) run(ctx context.Context, in string, args ...string) (string, int) {
	GinkgoHelper()
	command := exec.CommandContext(ctx, plane.Kubectl(), append([]string{"altershield"}, args...)...)
	command.Dir = ".."
	command.Env = append(os.Environ(), "KUBECONFIG="+plane.Kubeconfig(), "PATH="+p.programs+":"+os.Getenv("PATH"), "LANG=C.UTF-8")
	command.Stdin = strings.NewReader(in)
	output, err := command.CombinedOutput()
	if command.ProcessState == nil {
		Fail(err.Error())
	}
	return string(output), command.ProcessState.ExitCode()
}

// succeeds runs the plugin, which must exit with 0.
func (p installed) succeeds(ctx context.Context, args ...string) string {
	GinkgoHelper()
	output, code := p.run(ctx, "", args...)
	Expect(code).To(BeZero(), output)
	return output
}

// readZip returns the files in a zip file.
func readZip(file string) map[string]string {
	GinkgoHelper()
	archive, err := zip.OpenReader(file)
	Expect(err).NotTo(HaveOccurred())
	defer archive.Close()
	files := map[string]string{}
	for _, entry := range archive.File {
		opened, err := entry.Open()
		Expect(err).NotTo(HaveOccurred())
		text, err := io.ReadAll(opened)
		Expect(err).NotTo(HaveOccurred())
		files[entry.Name] = string(text)
	}
	return files
}
