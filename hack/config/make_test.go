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

package config

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/traas-stack/altershield-operator/hack/local/assets"
)

func TestMakeTakesTheImageAndTheKustomizationAndChangesNoTrackedFile(t *testing.T) {
	g := NewWithT(t)
	programs, err := assets.Ensure(t.Context(), os.Stderr)
	g.Expect(err).NotTo(HaveOccurred())
	root := filepath.Dir(sources) // bin/ is ignored by git
	status := func() string {
		command := exec.CommandContext(t.Context(), "git", "status", "--porcelain")
		command.Dir = root
		output, err := command.Output()
		g.Expect(err).NotTo(HaveOccurred())
		return string(output)
	}
	before := status()
	for overlay, image := range map[string]string{
		"config/default":               "registry.example.com:5000/team/operator:v1",
		"config/overlays/cert-manager": "operator@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
	} {
		command := exec.CommandContext(t.Context(), "make", "deployYaml",
			"IMG="+image, "CONFIG="+overlay, "KUBECTL="+programs.Path(assets.Kubectl))
		command.Dir = root
		output, err := command.CombinedOutput()
		g.Expect(err).NotTo(HaveOccurred(), string(output))
		objects := read(t, filepath.Join(root, "bin", "install.yaml"))
		g.Expect(managerOf(t, objects).Spec.Template.Spec.Containers[0].Image).To(Equal(image))
		g.Expect(objects).To(HaveLen(len(shipped(t, overlay[len("config/"):]))))
		g.Expect(objects[0].GetKind()).To(Equal("Namespace"), "before what is in it")
		g.Expect(objects[len(objects)-1].GetKind()).To(Equal("ValidatingWebhookConfiguration"), "after what answers it")
	}
	g.Expect(status()).To(Equal(before))
}
