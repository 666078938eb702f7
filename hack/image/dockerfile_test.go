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
	"encoding/json"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	. "github.com/onsi/gomega"
)

const root = "../.."

func TestDockerfileBuildsTheSameImage(t *testing.T) {
	g := NewWithT(t)
	last := lastStage(t)
	g.Expect(last["FROM"]).To(Equal("scratch"))
	g.Expect(last["USER"]).To(Equal(user))
	var entrypoint []string
	g.Expect(json.Unmarshal([]byte(last["ENTRYPOINT"]), &entrypoint)).To(Succeed())
	image, err := newImage(nil, v1.Platform{OS: "linux", Architecture: "amd64"}, stamp{version: "$VERSION", commit: "$COMMIT", created: time.Unix(0, 0)})
	g.Expect(err).NotTo(HaveOccurred())
	config, err := image.ConfigFile()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(config.Config.Entrypoint).To(Equal(entrypoint))
	given := map[string]string{}
	for _, label := range regexp.MustCompile(`(\S+)="([^"]*)"`).FindAllStringSubmatch(last["LABEL"], -1) {
		given[label[1]] = label[2]
	}
	g.Expect(given).To(Equal(config.Config.Labels))
	g.Expect(last["COPY"]).To(Equal("--from=build /manager /manager"))
}

func TestDockerfileCompilesTheSameWay(t *testing.T) {
	g := NewWithT(t)
	g.Expect(dockerfile(t)).To(ContainElement(
		`RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -buildvcs=false -tags grpcnotrace -ldflags "` +
			ldflags(stamp{version: "$VERSION", commit: "$COMMIT"}) + `" -o /manager .`))
}

func TestDockerfileUsesTheGoOfTheModule(t *testing.T) {
	g := NewWithT(t)
	wanted := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindSubmatch(readFile(t, filepath.Join(root, "go.mod")))
	g.Expect(wanted).NotTo(BeNil())
	g.Expect(dockerfile(t)).To(ContainElement(MatchRegexp(`^ARG GO_VERSION=` + regexp.QuoteMeta(string(wanted[1])) + `\.\d+$`)))
	g.Expect(dockerfile(t)).To(ContainElement("FROM --platform=$BUILDPLATFORM golang:${GO_VERSION} AS build"))
}

func TestDockerignorePassesEveryPackageOfTheProgram(t *testing.T) {
	g := NewWithT(t)
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{if .Main}}{{$.Dir}}{{end}}{{end}}", ".")
	list.Dir = root
	output, err := list.Output()
	g.Expect(err).NotTo(HaveOccurred())
	top, err := filepath.Abs(root)
	g.Expect(err).NotTo(HaveOccurred())
	folders := map[string]bool{}
	for dir := range strings.FieldsSeq(string(output)) {
		relative, err := filepath.Rel(top, dir)
		g.Expect(err).NotTo(HaveOccurred())
		if first, _, _ := strings.Cut(filepath.ToSlash(relative), "/"); first != "." {
			folders[first] = true
		}
	}
	var wanted []string
	for folder := range folders {
		wanted = append(wanted, "!"+folder)
	}
	allowed := strings.Split(string(readFile(t, filepath.Join(root, ".dockerignore"))), "\n")
	g.Expect(wanted).NotTo(BeEmpty())
	g.Expect(allowed).To(ContainElements(wanted))
	g.Expect(allowed).To(ContainElements("*", "!go.mod", "!go.sum", "!*.go"))
}

// lastStage returns the instructions of the last stage, which becomes the image.
func lastStage(t *testing.T) map[string]string {
	t.Helper()
	stage := map[string]string{}
	for _, instruction := range dockerfile(t) {
		keyword, rest, _ := strings.Cut(instruction, " ")
		if keyword == "FROM" {
			clear(stage)
		}
		stage[keyword] = rest
	}
	return stage
}

// dockerfile returns the instructions of the Dockerfile, each on one line.
func dockerfile(t *testing.T) []string {
	t.Helper()
	content := string(readFile(t, filepath.Join(root, "Dockerfile")))
	content = regexp.MustCompile(`(?m)^#.*\n`).ReplaceAllString(content, "")
	content = regexp.MustCompile(`\s*\\\n\s*`).ReplaceAllString(content, " ")
	return strings.Split(strings.TrimSpace(content), "\n")
}
