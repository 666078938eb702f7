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
	"cmp"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/platform/tracing"
	"github.com/traas-stack/altershield-operator/controllers/source"
	"github.com/traas-stack/altershield-operator/controllers/verifier/altershield"
)

type options struct {
	namespace            string
	metricsAddress       string
	healthProbeAddress   string
	pprofAddress         string
	webhookPort          int
	webhookCertDir       string
	webhookCertSecret    string
	leaderElect          bool
	gracefulShutdownTime time.Duration
	shutdownDelay        time.Duration
	server               altershield.Config
	failurePolicy        string
	callbackAddress      string
	callbackCertDir      string
	verdictEndpoint      bool
	traces               tracing.Config
	sourceGuard          source.Guard
}

const failurePass, failureFail = "pass", "fail"

func (o *options) bind(flags *flag.FlagSet) {
	flags.StringVar(&o.namespace, "namespace", appv1alpha1.SystemNamespace,
		"Namespace of the operator: its settings (OpsConfigInfo objects) and its leader election lease live there.")
	flags.StringVar(&o.metricsAddress, "metrics-bind-address", ":8089",
		"Address of the metrics endpoint. It serves TLS, and authorizes the non-resource URL /metrics. 0 turns it off.")
	flags.StringVar(&o.healthProbeAddress, "health-probe-bind-address", ":8088",
		"Address of /healthz and /readyz. Ready means: caches synced, webhooks and callbacks served.")
	flags.StringVar(&o.pprofAddress, "pprof-bind-address", "0",
		"Address of /debug/pprof on loopback, such as 127.0.0.1:6060, as it needs no authentication and exposes memory contents. 0 turns it off.")
	flags.IntVar(&o.webhookPort, "webhook-port", 1443, "Port of the admission webhooks.")
	flags.StringVar(&o.webhookCertDir, "webhook-cert-dir", "/tmp/k8s-webhook-server/serving-certs",
		"Directory with the certificate of the webhooks and the metrics: tls.crt and tls.key, reloaded when they change. "+
			"With --webhook-cert-secret, the operator writes them there.")
	flags.StringVar(&o.webhookCertSecret, "webhook-cert-secret", "",
		"Secret in --namespace with the certificate of the webhooks and the metrics. The operator creates and renews the certificate, "+
			"and sets the CA bundle of the webhook configurations. Empty: the files in --webhook-cert-dir are used.")
	flags.BoolVar(&o.leaderElect, "leader-elect", false,
		"Enable leader election. The leader reconciles; every replica serves the webhooks and the callbacks.")
	flags.DurationVar(&o.shutdownDelay, "shutdown-delay", 0,
		"How long to keep serving after SIGTERM, until no more requests are routed to this replica.")
	flags.DurationVar(&o.gracefulShutdownTime, "graceful-shutdown-timeout", 30*time.Second,
		"How long reconciles and requests may take to finish on shutdown.")
	o.traces.Bind(flags)
	flags.Var(&o.sourceGuard, "source-allow-cidr",
		"`CIDRs`, separated by commas, to which VerificationSources and ChangeSubscriptions may lead whatever they are. "+
			"Without it, the operator connects to no loopback, link-local, multicast or metadata address for them. To the API server it never does.")
	o.bindServer(flags)
}

func (o *options) bindServer(flags *flag.FlagSet) {
	o.server.Bind(flags)
	flags.StringVar(&o.failurePolicy, "altershield-failure-policy", failurePass,
		"Verdict of a batch that AlterShield Server refused to check or did not check in time: pass or fail.")
	flags.StringVar(&o.callbackAddress, "callback-bind-address", ":8080",
		"Address of the HTTP endpoints: callbacks of AlterShield Server, and user queries and rollbacks (bearer token). 0 turns them off.")
	flags.StringVar(&o.callbackCertDir, "callback-cert-dir", "",
		"Directory with the certificate of --callback-bind-address: tls.crt and tls.key, reloaded when they change. Empty: no TLS. "+
			"AlterShield Server v1.0 sends no server name, and trusts only the CAs of its Java runtime.")
	flags.BoolVar(&o.verdictEndpoint, "verdict-endpoint", false,
		"Take the verdicts of verifiers that don't reach the API server at --callback-bind-address, and report them with the token of the caller. "+
			"It needs --callback-cert-dir.")
}

func (o *options) validate() error {
	var problems []error
	if faults := validation.IsDNS1123Label(o.namespace); len(faults) > 0 {
		problems = append(problems, fmt.Errorf("--namespace %q is not the name of a namespace: %s", o.namespace, faults[0]))
	}
	if o.webhookPort < 1 || o.webhookPort > 65535 {
		problems = append(problems, fmt.Errorf("--webhook-port %d is not a port: it must be from 1 to 65535", o.webhookPort))
	}
	if err := o.validateWebhookCert(); err != nil {
		problems = append(problems, err)
	}
	if o.shutdownDelay < 0 {
		problems = append(problems, fmt.Errorf("--shutdown-delay %s is negative", o.shutdownDelay))
	}
	if o.gracefulShutdownTime < 0 {
		problems = append(problems, fmt.Errorf("--graceful-shutdown-timeout %s is negative", o.gracefulShutdownTime))
	}
	if o.pprofAddress != "" && o.pprofAddress != "0" && !isLoopback(o.pprofAddress) { // either turns it off
		problems = append(problems, fmt.Errorf("--pprof-bind-address %q is not on loopback: profiles show memory to everyone who reaches it; "+
			"use 127.0.0.1:6060 and kubectl port-forward", o.pprofAddress))
	}
	return errors.Join(append(problems, o.validateAddresses(), o.traces.Validate(), o.validateServer())...)
}

// validateAddresses refuses what is no address. At an empty one the callbacks would be served on a random port.
func (o *options) validateAddresses() error {
	var problems []error
	for _, address := range []struct{ flag, value string }{
		{"--metrics-bind-address", o.metricsAddress},
		{"--health-probe-bind-address", cmp.Or(o.healthProbeAddress, "0")}, // either turns it off
		{"--callback-bind-address", o.callbackAddress},
	} {
		if _, _, err := net.SplitHostPort(address.value); err != nil && address.value != "0" {
			problems = append(problems, fmt.Errorf("%s %q: it must be host:port or :port, or 0 to turn it off", address.flag, address.value))
		}
	}
	return errors.Join(problems...)
}

// isLoopback reports whether only clients of the same pod, or of the same host, reach an address.
func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	ip, _ := netip.ParseAddr(host)
	return err == nil && (host == "localhost" || ip.IsLoopback())
}

func (o *options) validateWebhookCert() error {
	if o.webhookCertSecret == "" {
		if err := checkCertificate(o.webhookCertDir); err != nil {
			return fmt.Errorf("--webhook-cert-dir: the webhooks need a certificate: %w", err)
		}
		return nil
	}
	if faults := validation.IsDNS1123Subdomain(o.webhookCertSecret); len(faults) > 0 {
		return fmt.Errorf("--webhook-cert-secret %q is not the name of a Secret: %s", o.webhookCertSecret, faults[0])
	}
	return nil
}

func (o *options) validateServer() error {
	var problems []error
	if o.server.Address != "" {
		problems = append(problems, o.server.Validate())
		if o.callbackAddress == "0" {
			problems = append(problems, errors.New("--callback-bind-address=0: AlterShield Server could not deliver its verdicts"))
		}
	}
	if o.failurePolicy != failurePass && o.failurePolicy != failureFail {
		problems = append(problems, fmt.Errorf("--altershield-failure-policy %q must be %s or %s", o.failurePolicy, failurePass, failureFail))
	}
	if o.callbackCertDir != "" {
		if err := checkCertificate(o.callbackCertDir); err != nil {
			problems = append(problems, fmt.Errorf("--callback-cert-dir: %w", err))
		}
	}
	return errors.Join(append(problems, o.validateVerdicts())...)
}

// validateVerdicts refuses an endpoint of verdicts that can't be reached, or that would take tokens of the cluster in plain text.
func (o *options) validateVerdicts() error {
	switch {
	case !o.verdictEndpoint:
		return nil
	case o.callbackAddress == "0":
		return errors.New("--verdict-endpoint: no verdict could be sent to --callback-bind-address=0: set an address, such as :8080")
	case o.callbackCertDir == "":
		return errors.New("--verdict-endpoint: the tokens of the callers would be sent in plain text: set --callback-cert-dir to a directory with tls.crt and tls.key")
	default:
		return nil
	}
}

func checkCertificate(dir string) error {
	_, certFault := os.Stat(filepath.Join(dir, "tls.crt"))
	_, keyFault := os.Stat(filepath.Join(dir, "tls.key"))
	return errors.Join(certFault, keyFault)
}
