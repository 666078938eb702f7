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

package source

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
)

const (
	system = "altershieldoperator-system"
	// one is the answer to the probe.
	one = `{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1767225600,"1"]}]}}`
)

// limits are those of a source without any in its spec.
func limits() appv1alpha1.SourceLimits {
	return appv1alpha1.SourceLimits{QueriesPerSecond: 10, Burst: 20, Concurrent: 4, TimeoutSeconds: 5, MaxBytes: 8388608, MaxSeries: 2000}
}

// define returns a VerificationSource.
func define(url string, edits ...func(*appv1alpha1.VerificationSourceSpec)) *appv1alpha1.VerificationSource {
	object := &appv1alpha1.VerificationSource{
		ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: "prometheus", UID: "1", Generation: 1},
		Spec:       appv1alpha1.VerificationSourceSpec{Type: "Prometheus", URL: url, Limits: limits()},
	}
	for _, edit := range edits {
		edit(&object.Spec)
	}
	return object
}

func secret(name string, data map[string]string) client.Object {
	object := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: name}, Data: map[string][]byte{}}
	for key, value := range data {
		object.Data[key] = []byte(value)
	}
	return object
}

func namespace(name string, labels map[string]string) client.Object {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
}

func newSources(t *testing.T, objects ...client.Object) *Sources {
	t.Helper()
	metrics, err := NewMetrics(prometheus.NewRegistry())
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	kube := testkit.NewFake(t, objects...)
	return &Sources{
		Client: kube, Secrets: kube, Namespace: system, Clock: clock.RealClock{}, Metrics: metrics,
		Guard: Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}},
	}
}

// keyPair returns a certificate of a client that is its own authority, and its key.
func keyPair(t *testing.T) (certificate, key string) {
	t.Helper()
	g := NewWithT(t)
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	g.Expect(err).NotTo(HaveOccurred())
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: t.Name()}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, IsCA: true, BasicConstraintsValid: true,
	}
	made, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	g.Expect(err).NotTo(HaveOccurred())
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	g.Expect(err).NotTo(HaveOccurred())
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: made})), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}))
}

// serve starts a server and returns its address.
func serve(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

// says is a handler with always the same answer.
func says(status int, body string) http.HandlerFunc {
	return func(writer http.ResponseWriter, _ *http.Request) {
		writer.WriteHeader(status)
		_, _ = writer.Write([]byte(body))
	}
}

// look returns how a source fails, nil if it answers.
func look(t *testing.T, sources *Sources, object *appv1alpha1.VerificationSource) *Error {
	t.Helper()
	failure, err := sources.Look(t.Context(), object)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return failure
}

// reader returns a reader of a source that answers.
func reader(t *testing.T, sources *Sources, object *appv1alpha1.VerificationSource) *Reader {
	t.Helper()
	NewWithT(t).Expect(look(t, sources, object)).To(Succeed())
	found, err := sources.Reader(t.Context(), "prometheus", "shop")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return found
}

func counted(metrics *Metrics, code string) float64 {
	return testutil.ToFloat64(metrics.requests.WithLabelValues("prometheus", code))
}

func at(text string) time.Time {
	parsed, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return parsed
}

func isUp(metrics *Metrics) float64 {
	return testutil.ToFloat64(metrics.up.WithLabelValues("prometheus"))
}
