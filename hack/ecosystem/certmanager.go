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
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/traas-stack/altershield-operator/hack/lab"
	"github.com/traas-stack/altershield-operator/hack/local/assets"
	"github.com/traas-stack/altershield-operator/hack/local/cluster"
	"github.com/traas-stack/altershield-operator/hack/local/operator"
	"github.com/traas-stack/altershield-operator/hack/manifests"
)

// certManager is the namespace of cert-manager, and the name of its release.
const certManager = "cert-manager"

func ofCertManager(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "cert-manager.io", Version: "v1", Kind: kind}
}

// installCertManager applies what cert-manager's chart has but its Deployments, and starts its webhook and its cainjector.
func (s *stage) installCertManager(ctx context.Context) error {
	programs, err := assets.EnsureCertManager(ctx, s.out)
	if err != nil {
		return err
	}
	source, err := assets.CertManagerSource(ctx)
	if err != nil {
		return err
	}
	s.certManager = programs.Path(assets.CertManager)
	objects, err := s.chartOf(ctx, source)
	if err != nil {
		return err
	}
	webhook := cluster.WebhookEndpoint{Host: "localhost"}
	health := 0
	if err := cluster.FreePorts(&webhook.Port, &health); err != nil {
		return err
	}
	if err := s.lab.Namespace(ctx, certManager, false); err != nil {
		return err
	}
	if err := s.lab.Plane.Apply(ctx, objects, webhook); err != nil {
		return err
	}
	if err := s.startCertManager(ctx, "webhook", "--secure-port="+strconv.Itoa(webhook.Port), "--healthz-port="+strconv.Itoa(health),
		"--metrics-listen-address=0", "--dynamic-serving-ca-secret-namespace="+certManager, "--dynamic-serving-ca-secret-name=cert-manager-webhook-ca",
		"--dynamic-serving-dns-names=localhost"); err != nil {
		return err
	}
	if err := s.startCertManager(ctx, "cainjector"); err != nil {
		return err
	}
	s.tell(certManager, "%s: the objects of its chart are applied, its webhook and its cainjector run", filepath.Base(source))
	return nil
}

// chartOf renders cert-manager's chart.
func (s *stage) chartOf(ctx context.Context, source string) ([]*unstructured.Unstructured, error) {
	chart := filepath.Join(source, "deploy", "charts", "cert-manager")
	helm := exec.CommandContext(ctx, "go", "tool", "-modfile=hack/tools/helm/go.mod", "helm", "template", certManager, chart,
		"--namespace="+certManager, "--set=crds.enabled=true,startupapicheck.enabled=false")
	helm.Env = append(os.Environ(), "CGO_ENABLED=0") // as the tests of the chart build it
	objects, err := manifests.Build(helm, chart)
	return slices.DeleteFunc(objects, func(object *unstructured.Unstructured) bool { return object.GetKind() == "Deployment" }), err
}

// startCertManager starts a part of cert-manager with its service account.
func (s *stage) startCertManager(ctx context.Context, part string, flags ...string) error {
	account := certManager
	if part != "controller" {
		account += "-" + part
	}
	name := certManager + "-" + part
	argv := append([]string{s.certManager, part, "--kubeconfig=" + s.kubeconfig(name)}, flags...)
	return s.start(ctx, name, client.ObjectKey{Namespace: certManager, Name: account}, argv...)
}

// installOverlay applies the overlay once cert-manager's webhook admits its Issuers and Certificates.
func (s *stage) installOverlay(ctx context.Context) error {
	if err := cluster.FreePorts(&s.ports.Webhook, &s.ports.Metrics); err != nil {
		return err
	}
	if err := lab.Until(ctx, patience, "cert-manager's webhook to admit "+overlay, s.applyOverlay); err != nil {
		return err
	}
	s.tell(certManager, "its webhook admits the Issuers and Certificates of config/overlays/cert-manager")
	s.tls = mount(filepath.Join(s.dir, "mounted"))
	return os.Mkdir(string(s.tls), 0o700)
}

func (s *stage) applyOverlay(ctx context.Context) error {
	return errors.Join(s.lab.Ended(), s.lab.Plane.Install(ctx, overlay, cluster.WebhookEndpoint{Port: s.ports.Webhook}))
}

// startOperator starts the manager with what is mounted.
func (s *stage) startOperator(ctx context.Context) error {
	return s.lab.StartOperator(ctx, func(options *operator.Options) {
		options.Ports, options.Certificates = s.ports, string(s.tls)
	})
}

// issue starts cert-manager's controller, and waits until all that the overlay asks for is there.
func (s *stage) issue(ctx context.Context) error {
	if err := s.startCertManager(ctx, "controller", "--cluster-resource-namespace="+certManager); err != nil {
		return err
	}
	return lab.Until(ctx, patience, "Issuers and Certificates that are Ready", func(ctx context.Context) error {
		var names []string
		for _, kind := range []string{"Issuer", "Certificate"} {
			list := &unstructured.UnstructuredList{}
			list.SetGroupVersionKind(ofCertManager(kind))
			if err := s.lab.Kube.List(ctx, list, client.InNamespace(operator.Namespace)); err != nil {
				return err
			}
			for i := range list.Items {
				if err := ready(&list.Items[i]); err != nil {
					return err
				}
				names = append(names, kind+" "+list.Items[i].GetName())
			}
		}
		s.tell(certManager, "Ready: %v", names)
		return nil
	})
}

// renew has cert-manager renew a Certificate, as cmctl renew does, and waits until it has.
func (s *stage) renew(ctx context.Context, name string) error {
	certificate, err := s.lab.Object(ctx, ofCertManager("Certificate"), operator.Namespace, name)
	if err != nil {
		return err
	}
	before, _, _ := unstructured.NestedInt64(certificate.Object, "status", "revision")
	conditions, _, _ := unstructured.NestedSlice(certificate.Object, "status", "conditions")
	conditions = append(conditions, map[string]any{
		"type": "Issuing", "status": "True", "reason": "ManuallyTriggered", "message": "Certificate re-issuance manually triggered",
		"lastTransitionTime": metav1.Now().UTC().Format("2006-01-02T15:04:05Z"),
	})
	if err := unstructured.SetNestedSlice(certificate.Object, conditions, "status", "conditions"); err != nil {
		return err
	}
	if err := s.lab.Kube.Status().Update(ctx, certificate); err != nil {
		return fmt.Errorf("renewing Certificate %s: %w", name, err)
	}
	return lab.Until(ctx, patience, "Certificate "+name+" to be renewed", func(ctx context.Context) error {
		certificate, err := s.lab.Object(ctx, ofCertManager("Certificate"), operator.Namespace, name)
		if err != nil {
			return err
		}
		if now, _, _ := unstructured.NestedInt64(certificate.Object, "status", "revision"); now <= before || lab.ConditionOf(certificate, "Issuing") != nil {
			return fmt.Errorf("it has revision %d", now)
		}
		s.tell(certManager, "Certificate %s is renewed", name)
		return ready(certificate)
	})
}

// issuedAgain waits until the Secret has another certificate than before, and returns what it has.
func (s *stage) issuedAgain(ctx context.Context, before []byte) (data map[string][]byte, err error) {
	err = lab.Until(ctx, patience, "a new certificate in Secret "+servingSecret, func(ctx context.Context) error {
		if data, err = s.secret(ctx); err != nil {
			return err
		}
		if len(data["tls.crt"]) == 0 || bytes.Equal(data["tls.crt"], before) {
			return errors.New("it has the one before")
		}
		return nil
	})
	return data, err
}
