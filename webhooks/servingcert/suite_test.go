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

package servingcert_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/traas-stack/altershield-operator/hack/local/assets"
	"github.com/traas-stack/altershield-operator/hack/local/cluster"
	"github.com/traas-stack/altershield-operator/hack/local/operator"
)

const (
	webhookName = "altershieldoperator-webhook-service.altershieldoperator-system.svc"
	metricsName = "altershieldoperator-controller-manager-metrics-service.altershieldoperator-system.svc"
)

// The suite runs two replicas of the manager with a real API server. The specs call their webhooks instead of the API server, with
// the CA bundle of the webhook configurations and the names of the Services.
var (
	plane    *cluster.Cluster
	kube     client.Client
	replicas []*operator.Operator
)

func TestServingCertificate(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a control plane")
	}
	RegisterFailHandler(Fail)
	RunSpecs(t, "The serving certificate on a real control plane")
}

var _ = BeforeSuite(func(ctx context.Context) {
	log.SetLogger(GinkgoLogr)
	SetDefaultEventuallyTimeout(3 * time.Minute)
	SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	programs, err := assets.Ensure(ctx, GinkgoWriter)
	Expect(err).NotTo(HaveOccurred())
	dir := GinkgoT().TempDir()
	plane, err = cluster.Start(ctx, cluster.Options{Dir: dir, Assets: programs})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx context.Context) { Expect(plane.Stop(ctx)).To(Succeed()) })
	scheme := runtime.NewScheme()
	Expect(clientgoscheme.AddToScheme(scheme)).To(Succeed())
	kube, err = client.New(plane.Config(), client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())

	root, err := filepath.Abs("../..")
	Expect(err).NotTo(HaveOccurred())
	binary := buildManager(ctx, root, dir)
	for _, name := range []string{"one", "two"} {
		state := filepath.Join(dir, name)
		replica, err := operator.Install(ctx, plane, operator.Options{
			Dir: state, Binary: binary, Config: filepath.Join(root, "config", "local", "operator"),
			Args: []string{"--leader-elect", "--webhook-cert-secret=webhook-server-cert", "--webhook-cert-dir=" + filepath.Join(state, "shown")},
		})
		Expect(err).NotTo(HaveOccurred())
		replicas = append(replicas, replica)
	}
})

func buildManager(ctx context.Context, root, dir string) string {
	binary := filepath.Join(dir, "manager")
	args := []string{"build", "-o", binary}
	if info, known := debug.ReadBuildInfo(); known && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		args = append(args, "-race")
	}
	build := exec.CommandContext(ctx, "go", append(args, ".")...)
	build.Dir = root
	output, err := build.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(output))
	return binary
}

// run starts replicas at the same time, and stops them after the spec.
func run(ctx context.Context, replicas ...*operator.Operator) {
	GinkgoHelper()
	results := make(chan error)
	for _, replica := range replicas {
		go func() { results <- replica.Start(ctx) }()
	}
	for range replicas {
		Expect(<-results).To(Succeed())
	}
	DeferCleanup(func(ctx context.Context) {
		for _, replica := range replicas {
			Expect(replica.Stop(ctx)).To(Succeed())
			written, err := os.ReadFile(replica.LogPath())
			Expect(err).NotTo(HaveOccurred())
			Expect(string(written)).NotTo(Or(ContainSubstring("DATA RACE"), ContainSubstring("panic"), ContainSubstring("PRIVATE KEY")))
			Expect(string(written)).NotTo(ContainSubstring("forbidden"), "a permission is missing in config/rbac")
		}
	})
}

// emptySecret creates the Secret of config/default, and removes it after the spec.
func emptySecret(ctx context.Context) {
	GinkgoHelper()
	created := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: operator.Namespace, Name: "webhook-server-cert"}}
	Expect(kube.Create(ctx, created)).To(Succeed())
	DeferCleanup(func(ctx context.Context) { Expect(kube.Delete(ctx, created)).To(Succeed()) })
}

func secret(ctx context.Context) map[string][]byte {
	GinkgoHelper()
	var read corev1.Secret
	Expect(kube.Get(ctx, client.ObjectKey{Namespace: operator.Namespace, Name: "webhook-server-cert"}, &read)).To(Succeed())
	return read.Data
}

// without removes keys of the Secret.
func without(ctx context.Context, keys ...string) {
	GinkgoHelper()
	var read corev1.Secret
	Expect(kube.Get(ctx, client.ObjectKey{Namespace: operator.Namespace, Name: "webhook-server-cert"}, &read)).To(Succeed())
	before := read.DeepCopy()
	for _, key := range keys {
		delete(read.Data, key)
	}
	Expect(kube.Patch(ctx, &read, client.MergeFrom(before))).To(Succeed())
}

// trusted returns the CA bundles of the webhook configurations, as PEM, that of the mutating one first.
func trusted(ctx context.Context) []string {
	GinkgoHelper()
	var mutating admissionregistrationv1.MutatingWebhookConfiguration
	Expect(kube.Get(ctx, client.ObjectKey{Name: "altershieldoperator-mutating-webhook-configuration"}, &mutating)).To(Succeed())
	var validating admissionregistrationv1.ValidatingWebhookConfiguration
	Expect(kube.Get(ctx, client.ObjectKey{Name: "altershieldoperator-validating-webhook-configuration"}, &validating)).To(Succeed())
	var bundles []string
	for _, webhook := range mutating.Webhooks {
		bundles = append(bundles, string(webhook.ClientConfig.CABundle))
	}
	for _, webhook := range validating.Webhooks {
		bundles = append(bundles, string(webhook.ClientConfig.CABundle))
	}
	return bundles
}

func webhookAddress(replica *operator.Operator) string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(replica.Options().Ports.Webhook))
}

// shown returns the certificate that a server presents to a client that uses the name and trusts the CA, as PEM.
func shown(ctx context.Context, address, name, authority string) (string, error) {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(authority))
	dialer := &tls.Dialer{Config: &tls.Config{RootCAs: roots, ServerName: name}}
	connection, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return "", err
	}
	defer connection.Close()
	leaf := connection.(*tls.Conn).ConnectionState().PeerCertificates[0]
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: leaf.Raw})), nil
}
