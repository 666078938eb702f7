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
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/open-policy-agent/cert-controller/pkg/rotator"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/controller"
)

// Watches the Secret with the certificate of the webhooks; cert-controller watches all Secrets of the namespace for that.
// +kubebuilder:rbac:groups="",namespace=system,resources=secrets,verbs=get;list;watch
// Stores a new certificate in the Secret.
// +kubebuilder:rbac:groups="",namespace=system,resources=secrets,resourceNames=webhook-server-cert,verbs=update
// Watches the webhook configurations, to restore a CA bundle that was removed.
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=mutatingwebhookconfigurations;validatingwebhookconfigurations,verbs=list;watch
// Sets the CA bundle of its own webhook configuration.
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=mutatingwebhookconfigurations,resourceNames=altershieldoperator-mutating-webhook-configuration,verbs=update
// Sets the CA bundle of its own webhook configuration.
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=validatingwebhookconfigurations,resourceNames=altershieldoperator-validating-webhook-configuration,verbs=update

// Names in config/.
const (
	mutatingConfiguration   = "altershieldoperator-mutating-webhook-configuration"
	validatingConfiguration = "altershieldoperator-validating-webhook-configuration"

	webhookService  = "altershieldoperator-webhook-service"
	metricsService  = "altershieldoperator-controller-manager-metrics-service"
	callbackService = "altershieldoperator-callback-service"

	authority  = "altershield-operator-ca"
	fieldOwner = "altershield-operator"
)

// dnsNames returns the DNS names of the operator. The first one is that of the webhooks.
func dnsNames(namespace string) []string {
	var names []string
	for _, service := range []string{webhookService, metricsService, callbackService} {
		names = append(names, fmt.Sprintf("%s.%s.svc", service, namespace))
	}
	return names
}

// Watch restricts the cache of a manager to this Secret: the operator may not read those of all namespaces, and the manager's
// client, with which the rotator writes, watches the kinds that it writes.
func (s *Source) Watch(options *cache.Options) {
	if s.Secret.Name == "" {
		return
	}
	options.ByObject[&corev1.Secret{}] = cache.ByObject{Namespaces: map[string]cache.Config{
		s.Secret.Namespace: {FieldSelector: fields.OneTermEqualSelector("metadata.name", s.Secret.Name)},
	}}
}

// SetupWithManager makes every replica fill and watch the Secret. It does nothing if none is named, and fails if the Secret is
// missing or Dir is unusable.
//
// The certificate is valid for a year. It is renewed 90 days before it expires, or at once if tls.crt and tls.key are removed from
// the Secret. Clients see no gap, as the CA stays the same. The CA is valid for ten years and renewed 90 days before it expires, or
// if ca.crt is removed. For some moments after that, a replica may serve a certificate that a webhook configuration doesn't trust
// yet, or no longer: releases are denied until all have caught up. No leader is needed: the first replica fills the Secret, and the
// writes of the others fail with a conflict.
func (s *Source) SetupWithManager(ctx context.Context, mgr ctrl.Manager) error {
	if s.Secret.Name == "" {
		return nil
	}
	var secret corev1.Secret
	if err := mgr.GetAPIReader().Get(ctx, s.Secret, &secret); err != nil {
		if apierrors.IsNotFound(err) {
			err = fmt.Errorf("%w: apply config/default, or use --webhook-cert-dir alone", err)
		}
		return fmt.Errorf("--webhook-cert-secret: reading Secret %s: %w", s.Secret, err)
	}
	if err := s.prepareDir(); err != nil {
		return fmt.Errorf("--webhook-cert-dir: %w", err)
	}
	s.reader, s.trusted = mgr.GetClient(), make(chan struct{})
	if err := ctrl.NewControllerManagedBy(mgr).Named("serving-certificate").For(&corev1.Secret{}).
		WithOptions(controller.Options{NeedLeaderElection: ptr.To(false)}).Complete(s); err != nil {
		return fmt.Errorf("watching Secret %s: %w", s.Secret, err)
	}
	if err := mgr.AddReadyzCheck("certificate", s.Ready); err != nil {
		return fmt.Errorf("adding the readiness check of the certificate: %w", err)
	}
	return s.addRotator(mgr)
}

// prepareDir makes Dir a writable directory without the certificate of an earlier process.
func (s *Source) prepareDir() error {
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(s.Dir, privateKeyKey)); err == nil {
		return fmt.Errorf("%s has a %s: with --webhook-cert-secret, use a directory for the operator alone", s.Dir, privateKeyKey)
	}
	if err := os.Remove(filepath.Join(s.Dir, certKey)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	probe, err := os.CreateTemp(s.Dir, "probe")
	if err != nil {
		return err
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

func (s *Source) addRotator(mgr ctrl.Manager) error {
	names := dnsNames(s.Secret.Namespace)
	if err := rotator.AddRotator(mgr, &rotator.CertRotator{
		SecretKey: s.Secret, CertDir: s.Dir, CAName: authority, CAOrganization: fieldOwner, FieldOwner: fieldOwner,
		DNSName: names[0], ExtraDNSNames: names[1:], IsReady: s.trusted,
		Webhooks: []rotator.WebhookInfo{{Name: mutatingConfiguration, Type: rotator.Mutating}, {Name: validatingConfiguration, Type: rotator.Validating}},
	}); err != nil {
		return fmt.Errorf("adding the certificate rotator: %w", err)
	}
	return nil
}
