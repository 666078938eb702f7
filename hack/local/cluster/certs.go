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

package cluster

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	certutil "k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// certValidity is the lifetime of certificates of a local cluster.
const certValidity = 10 * 365 * 24 * time.Hour

// authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  crypto.Signer
}

// NewServingCert writes tls.crt and tls.key for a server on this machine (127.0.0.1, localhost, and the further names and
// addresses in hosts) to a folder, and returns the PEM certificate of the authority that signed them, for its clients;
// it is also written to ca.crt. Files of an earlier call are kept, so that clients continue to trust a server that uses them.
func NewServingCert(dir string, hosts ...string) (caPEM []byte, err error) {
	caFile := filepath.Join(dir, "ca.crt")
	if caPEM, err := os.ReadFile(caFile); err == nil {
		return caPEM, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("write the serving certificate: %w", err)
	}
	ca, err := newAuthority("altershield-local-webhook-ca")
	if err != nil {
		return nil, err
	}
	if err := ca.writeServing(filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"), hosts...); err != nil {
		return nil, err
	}
	caPEM = certPEM(ca.cert.Raw)
	// Written last: its presence means that the others exist.
	return caPEM, writeFiles(map[string][]byte{caFile: caPEM})
}

// newAuthority creates a self-signed authority.
func newAuthority(name string) (*authority, error) {
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	cert, err := certutil.NewSelfSignedCACert(certutil.Config{CommonName: name}, key)
	if err != nil {
		return nil, fmt.Errorf("sign the certificate of authority %s: %w", name, err)
	}
	return &authority{cert: cert, key: key}, nil
}

// writeServing writes a certificate for a server on this machine, and its key.
func (a *authority) writeServing(certFile, keyFile string, hosts ...string) error {
	names := certutil.AltNames{
		DNSNames: []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"},
		IPs:      []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	for _, host := range hosts {
		if address := net.ParseIP(host); address != nil {
			names.IPs = append(names.IPs, address)
		} else {
			names.DNSNames = append(names.DNSNames, host)
		}
	}
	cert, key, err := a.issue(certutil.Config{CommonName: "localhost", AltNames: names, Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	if err != nil {
		return err
	}
	return writeFiles(map[string][]byte{certFile: cert, keyFile: key})
}

// client creates a client certificate: the API server uses the common name as user, and the organization as group.
func (a *authority) client(user, group string) (cert, key []byte, err error) {
	return a.issue(certutil.Config{CommonName: user, Organization: strings.Fields(group), Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
}

// issue creates a key and a signed certificate for it; both are PEM.
func (a *authority) issue(config certutil.Config) (cert, key []byte, err error) {
	private, err := newKey()
	if err != nil {
		return nil, nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		Subject:  pkix.Name{CommonName: config.CommonName, Organization: config.Organization},
		DNSNames: config.AltNames.DNSNames, IPAddresses: config.AltNames.IPs,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: config.Usages,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(certValidity),
	}, a.cert, private.Public(), a.key)
	if err != nil {
		return nil, nil, fmt.Errorf("sign the certificate of %s: %w", config.CommonName, err)
	}
	key, err = keyutil.MarshalPrivateKeyToPEM(private)
	return certPEM(der), key, err
}

// writeServiceAccountKey writes the key that signs service account tokens, and its public half.
func writeServiceAccountKey(keyFile, publicFile string) error {
	private, err := newKey()
	if err != nil {
		return err
	}
	key, err := keyutil.MarshalPrivateKeyToPEM(private)
	if err != nil {
		return fmt.Errorf("encode the service account key: %w", err)
	}
	public, err := x509.MarshalPKIXPublicKey(private.Public())
	if err != nil {
		return fmt.Errorf("encode the service account key: %w", err)
	}
	return writeFiles(map[string][]byte{
		keyFile:    key,
		publicFile: pem.EncodeToMemory(&pem.Block{Type: keyutil.PublicKeyBlockType, Bytes: public}),
	})
}

func newKey() (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generate a key: %w", err)
	}
	return key, nil
}

func certPEM(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: certutil.CertificateBlockType, Bytes: der})
}

// writeFiles writes files that only their owner may read, such as keys.
func writeFiles(contents map[string][]byte) error {
	for path, content := range contents {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			return fmt.Errorf("write %s: %w", path, err)
		}
	}
	return nil
}
