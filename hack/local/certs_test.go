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
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

func TestCertsAreTrustedForTheNamesThatWereGiven(t *testing.T) {
	g := NewWithT(t)
	dir := filepath.Join(t.TempDir(), "certs")
	var out bytes.Buffer
	g.Expect(certs(dir, "192.0.2.7,host.minikube.internal", &out)).To(Succeed())
	g.Expect(out.String()).To(And(ContainSubstring("--webhook-cert-dir="+dir), ContainSubstring("localhost, 127.0.0.1, 192.0.2.7, host.minikube.internal")))

	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"))
	g.Expect(err).NotTo(HaveOccurred())
	authority, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
	g.Expect(err).NotTo(HaveOccurred())
	roots := x509.NewCertPool()
	g.Expect(roots.AppendCertsFromPEM(authority)).To(BeTrue())
	for _, name := range []string{"localhost", "127.0.0.1", "192.0.2.7", "host.minikube.internal"} {
		_, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: name})
		g.Expect(err).NotTo(HaveOccurred(), name)
	}
	info, err := os.Stat(filepath.Join(dir, "tls.key"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(info.Mode().Perm()).To(BeEquivalentTo(0o600))
}

func TestCertsAreKeptWhileTheyAreGoodForTheNames(t *testing.T) {
	g := NewWithT(t)
	dir := filepath.Join(t.TempDir(), "certs")
	g.Expect(certs(dir, "", &bytes.Buffer{})).To(Succeed())
	before, err := os.ReadFile(filepath.Join(dir, "tls.crt"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(certs(dir, "", &bytes.Buffer{})).To(Succeed())
	g.Expect(os.ReadFile(filepath.Join(dir, "tls.crt"))).To(Equal(before))

	g.Expect(certs(dir, "192.0.2.7", &bytes.Buffer{})).To(MatchError(And(
		ContainSubstring("192.0.2.7"), ContainSubstring("remove the folder "+dir))))
}
