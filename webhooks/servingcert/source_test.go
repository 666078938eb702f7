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

package servingcert

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/open-policy-agent/cert-controller/pkg/rotator"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

// contents returns the data that the rotator writes to the Secret for a server of that name.
func contents(t *testing.T, name string, end time.Time) map[string][]byte {
	t.Helper()
	g := NewWithT(t)
	maker := &rotator.CertRotator{CAName: "ca", DNSName: name, ExtKeyUsages: &[]x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	begin := end.Add(-24 * time.Hour)
	ca, err := maker.CreateCACert(begin, end)
	g.Expect(err).NotTo(HaveOccurred())
	cert, key, err := maker.CreateCertPEM(ca, begin, end)
	g.Expect(err).NotTo(HaveOccurred())
	return map[string][]byte{"ca.crt": ca.CertPEM, "tls.crt": cert, "tls.key": key}
}

// source returns a Source of a Secret with contents, or without a Secret if they are nil.
func source(t *testing.T, contents map[string][]byte) *Source {
	t.Helper()
	s := &Source{Secret: client.ObjectKey{Namespace: "altershieldoperator-system", Name: "webhook-server-cert"}, Dir: t.TempDir()}
	s.reader = reading(contents)
	return s
}

func reading(contents map[string][]byte) client.Reader {
	if contents == nil {
		return fake.NewClientBuilder().Build()
	}
	return fake.NewClientBuilder().WithObjects(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "altershieldoperator-system", Name: "webhook-server-cert"}, Data: contents,
	}).Build()
}

func (s *Source) shown() (*tls.Certificate, error) {
	config := &tls.Config{}
	for _, option := range s.TLSOptions() {
		option(config)
	}
	return config.GetCertificate(nil)
}

func TestSourceKeepsTheCertificateWhereANewOneCanNotBeServed(t *testing.T) {
	g := NewWithT(t)
	const name = "altershieldoperator-webhook-service.altershieldoperator-system.svc"
	tomorrow := time.Now().Add(24 * time.Hour)
	good, other := contents(t, name, tomorrow), contents(t, name, tomorrow)
	s := source(t, good)
	_, err := s.Reconcile(t.Context(), ctrl.Request{NamespacedName: s.Secret})
	g.Expect(err).NotTo(HaveOccurred())
	before, err := s.shown()
	g.Expect(err).NotTo(HaveOccurred())
	for reason, spoilt := range map[string]map[string][]byte{
		"the Secret is gone":                  nil,
		"it is empty":                         {},
		"its certificate was removed":         {"ca.crt": good["ca.crt"]},
		"another authority has signed":        {"ca.crt": other["ca.crt"], "tls.crt": good["tls.crt"], "tls.key": good["tls.key"]},
		"the key is of another certificate":   {"ca.crt": good["ca.crt"], "tls.crt": good["tls.crt"], "tls.key": other["tls.key"]},
		"the certificate is of another name":  contents(t, "elsewhere.altershieldoperator-system.svc", tomorrow),
		"the certificate was good till today": contents(t, name, time.Now().Add(-time.Minute)),
	} {
		t.Run(reason, func(t *testing.T) {
			g := NewWithT(t)
			s.reader = reading(spoilt)
			_, err := s.Reconcile(t.Context(), ctrl.Request{NamespacedName: s.Secret})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(s.shown()).To(BeIdenticalTo(before))
		})
	}
	s.reader = reading(other)
	_, err = s.Reconcile(t.Context(), ctrl.Request{NamespacedName: s.Secret})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(s.shown()).NotTo(BeIdenticalTo(before))
	g.Expect(os.ReadFile(filepath.Join(s.Dir, "tls.crt"))).To(Equal(other["tls.crt"]))
}

func TestSourceFailsHandshakesWhileTheSecretIsEmpty(t *testing.T) {
	g := NewWithT(t)
	s := source(t, map[string][]byte{})
	_, err := s.Reconcile(t.Context(), ctrl.Request{NamespacedName: s.Secret})
	g.Expect(err).NotTo(HaveOccurred())
	_, err = s.shown()
	g.Expect(err).To(MatchError("there is no certificate yet"))
}

func TestSourceLeavesServersToFilesWhereNoSecretIsNamed(t *testing.T) {
	g := NewWithT(t)
	s := &Source{Dir: "/certs"}
	g.Expect(s.TLSOptions()).To(BeEmpty())
	g.Expect(s.SetupWithManager(t.Context(), nil)).To(Succeed())
}

func TestPrepareDir(t *testing.T) {
	t.Run("and is made", func(t *testing.T) {
		s := &Source{Dir: filepath.Join(t.TempDir(), "a", "b")}
		NewWithT(t).Expect(s.prepareDir()).To(Succeed())
		NewWithT(t).Expect(s.Dir).To(BeADirectory())
	})
	t.Run("and loses what an earlier process served", func(t *testing.T) {
		g := NewWithT(t)
		s := &Source{Dir: t.TempDir()}
		g.Expect(os.WriteFile(filepath.Join(s.Dir, "tls.crt"), nil, 0o600)).To(Succeed())
		g.Expect(s.prepareDir()).To(Succeed())
		g.Expect(os.ReadDir(s.Dir)).To(BeEmpty())
	})
	t.Run("unless it has a key, which is not the operator's", func(t *testing.T) {
		g := NewWithT(t)
		s := &Source{Dir: t.TempDir()}
		for _, name := range []string{"tls.crt", "tls.key"} {
			g.Expect(os.WriteFile(filepath.Join(s.Dir, name), nil, 0o600)).To(Succeed())
		}
		g.Expect(s.prepareDir()).To(MatchError(ContainSubstring("has a tls.key: with --webhook-cert-secret, use a directory for the operator alone")))
		g.Expect(filepath.Join(s.Dir, "tls.crt")).To(BeARegularFile())
	})
	t.Run("and is refused where it can't be written to", func(t *testing.T) {
		NewWithT(t).Expect((&Source{Dir: "/proc/self"}).prepareDir()).To(MatchError(ContainSubstring("/proc/self")))
	})
}
