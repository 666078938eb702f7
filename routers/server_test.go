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

package routers

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	"k8s.io/client-go/util/cert"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

// patient is long enough for a slow machine.
const patient = 30 * time.Second

// listen starts b on a port of this machine and returns its address. It is stopped when the test ends.
func listen(t *testing.T, b *bench) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(ctrl.LoggerInto(context.Background(), zap.New(zap.WriteTo(b.log), zap.UseDevMode(true))))
	ended := make(chan error, 1)
	go func() { ended <- b.serve(ctx, listener) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return listener.Addr().String()
}

// writeCertificate writes a new certificate of a host to dir and returns a pool that trusts it.
func writeCertificate(t *testing.T, dir, host string) *x509.CertPool {
	t.Helper()
	certificate, key, err := cert.GenerateSelfSignedCertKey(host, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"tls.key": key, "tls.crt": certificate} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(certificate)
	return pool
}

func TestNeedLeaderElectionIsFalse(t *testing.T) {
	NewWithT(t).Expect(newBench(t, interceptor.Funcs{}).NeedLeaderElection()).To(BeFalse())
}

func TestServerAnswersOverTheNetwork(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, interceptor.Funcs{}, changePod("PostSubmitted", ""))
	address := listen(t, b)
	request := signed(t, bodyOf("POST", "pass"))
	request.RequestURI, request.URL.Scheme, request.URL.Host = "", "http", address
	response, err := http.DefaultClient.Do(request)
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(content)).To(beSuccess("the verdict is saved"))
	g.Expect(string(b.log.Contents())).To(ContainSubstring("A verdict arrived"), "the server's logger is that of the request")
}

func TestServerAnswersOverTLSWithTheCertificateOfToday(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, interceptor.Funcs{})
	b.options.CertDir = t.TempDir()
	yesterdays := writeCertificate(t, b.options.CertDir, "operator")
	address := listen(t, b)
	live := func(pool *x509.CertPool) error {
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, ServerName: "operator"}, DisableKeepAlives: true}
		response, err := (&http.Client{Transport: transport}).Post("https://"+address+"/openapi/altershield/liveTest", "", nil)
		if err != nil {
			return err
		}
		return response.Body.Close()
	}
	g.Expect(live(yesterdays)).To(Succeed())
	todays := writeCertificate(t, b.options.CertDir, "operator")
	g.Eventually(func() error { return live(todays) }, patient).Should(Succeed())
	g.Expect(live(yesterdays)).NotTo(Succeed())

	response, err := http.Post("http://"+address+"/openapi/altershield/liveTest", "", nil)
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = response.Body.Close() }()
	g.Expect(response.StatusCode).To(Equal(400), "without TLS nothing is answered")
	g.Eventually(b.log, patient).Should(gbytes.Say("A connection failed"))
}

func TestStartFails(t *testing.T) {
	taken, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	defer func() { _ = taken.Close() }()
	for _, row := range []struct {
		name    string
		spoil   func(*bench)
		message string
	}{
		{"on an address that is taken", func(b *bench) { b.options.Address = taken.Addr().String() }, "address already in use"},
		{"without its certificate", func(b *bench) { b.options.CertDir = "/nowhere" }, "reading the certificate: "},
		{"with a cache that can't be watched", func(b *bench) { b.informer.Error = errors.New("no such kind") }, "watching *v1.Namespace: no such kind"},
		{"with a cache that doesn't sync", func(b *bench) { b.informer.Synced = ptr.To(false) }, "the cache didn't sync"},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			b := newBench(t, interceptor.Funcs{})
			row.spoil(b)
			g.Expect(b.Start(t.Context())).To(MatchError(ContainSubstring(row.message)))
			g.Expect(b.Ready(nil)).To(MatchError("the HTTP server is not listening"))
		})
	}
}

func TestServeLeavesNothingBehindWhereItEndsEarly(t *testing.T) {
	t.Run("no address that is taken, if its certificate can't be used", func(t *testing.T) {
		g := NewWithT(t)
		b := newBench(t, interceptor.Funcs{})
		b.options.CertDir = "/nowhere"
		listener := newPipes()
		g.Expect(b.serve(t.Context(), listener)).NotTo(Succeed())
		g.Expect(listener.closed).To(BeClosed())
	})
	t.Run("no watch of its certificate, if it can't accept connections", func(t *testing.T) {
		g := NewWithT(t)
		b := newBench(t, interceptor.Funcs{})
		b.options.CertDir = t.TempDir()
		writeCertificate(t, b.options.CertDir, "operator")
		listener := newPipes()
		g.Expect(listener.Close()).To(Succeed())
		ended := make(chan error, 1)
		go func() { ended <- b.serve(t.Context(), listener) }()
		g.Eventually(ended, patient).Should(Receive(MatchError(net.ErrClosed)))
	})
}

func TestStartSucceedsWhereItIsStoppedBeforeTheCacheIsSynced(t *testing.T) {
	b := newBench(t, interceptor.Funcs{})
	b.informer.Synced = ptr.To(false)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	NewWithT(t).Expect(b.Start(ctx)).To(Succeed())
}

func TestStartServesOnceTheCacheIsSyncedAndStopsWithItsContext(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, interceptor.Funcs{})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- b.Start(ctx) }()
	g.Eventually(func() error { return b.Ready(nil) }, patient).Should(Succeed())
	cancel()
	g.Eventually(ended, patient).Should(Receive(BeNil()))
}

func TestNewRegistersItsMetricsOnce(t *testing.T) {
	b := newBench(t, interceptor.Funcs{})
	_, err := New(b.options)
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("registering the metrics of callbacks")))
}

func TestServerDoesNotReadALongBodyToItsEnd(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, interceptor.Funcs{})
	connection, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", listen(t, b))
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = connection.Close() }()
	header := "POST /openapi/callback HTTP/1.1\r\nHost: operator\r\nContent-Length: 10485760\r\n\r\n"
	code, _ := exchange(t, connection, header+strings.Repeat(" ", 1<<20+1))
	g.Expect(code).To(Equal(413))
}
