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

// Package servingcert provides the certificate of the webhooks and the metrics, from files or from a Secret that the operator
// fills itself.
package servingcert

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/open-policy-agent/cert-controller/pkg/rotator"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Keys of the Secret. The private key of the CA, ca.key, belongs to the rotator.
const (
	certKey       = corev1.TLSCertKey
	privateKeyKey = corev1.TLSPrivateKeyKey
	authorityKey  = "ca.crt"
)

// Source provides a certificate. Every replica watches the Secret itself, as a mounted one lags by more than a minute.
type Source struct {
	// Secret holds the certificate, its CA and their keys. Without a name, servers read the files in Dir.
	Secret client.ObjectKey
	// Dir holds tls.crt and tls.key if no Secret is named. Otherwise it is for the operator alone, which writes the public tls.crt.
	Dir string

	reader  client.Reader
	current atomic.Pointer[tls.Certificate]
	trusted chan struct{}
}

var (
	_ reconcile.Reconciler = &Source{}
	_ healthz.Checker      = (&Source{}).Ready
)

// errNone is the error of a handshake before the Secret is filled.
var errNone = errors.New("there is no certificate yet")

// TLSOptions makes a server present the certificate of the Secret. They are empty if it reads files.
func (s *Source) TLSOptions() []func(*tls.Config) {
	if s.Secret.Name == "" {
		return nil
	}
	return []func(*tls.Config){func(config *tls.Config) {
		config.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			if current := s.current.Load(); current != nil {
				return current, nil
			}
			return nil, errNone
		}
	}}
}

// Ready fails until the webhook configurations trust the certificate of this replica.
func (s *Source) Ready(*http.Request) error {
	select {
	case <-s.trusted:
		return nil
	default:
		return errors.New("the webhook configurations don't have the CA bundle yet")
	}
}

// Reconcile serves the certificate of the Secret. An empty or broken Secret changes nothing: the rotator repairs it. A deleted one
// changes nothing either, but the operator may not create Secrets, so it logs an error.
func (s *Source) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	log := ctrl.LoggerFrom(ctx)
	var secret corev1.Secret
	if err := s.reader.Get(ctx, request.NamespacedName, &secret); err != nil {
		if apierrors.IsNotFound(err) {
			log.Error(err, "The Secret of the certificate is missing: apply config/default again, as no replica can start without it")
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, fmt.Errorf("reading Secret %s: %w", request, err)
	}
	cert, key := secret.Data[certKey], secret.Data[privateKeyKey]
	if _, err := rotator.ValidCert(secret.Data[authorityKey], cert, key, dnsNames(s.Secret.Namespace)[0], nil, time.Now()); err != nil {
		log.Info("The Secret has no usable certificate", "reason", err.Error())
		return ctrl.Result{}, nil
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("reading the certificate of Secret %s: %w", request, err)
	}
	if current := s.current.Load(); current != nil && bytes.Equal(current.Certificate[0], pair.Certificate[0]) {
		return ctrl.Result{}, nil
	}
	// The rotator waits for this file.
	if err := os.WriteFile(filepath.Join(s.Dir, certKey), cert, 0o600); err != nil {
		return ctrl.Result{}, fmt.Errorf("writing the certificate of Secret %s: %w", request, err)
	}
	s.current.Store(&pair)
	log.Info("Serving a new certificate", "until", pair.Leaf.NotAfter)
	return ctrl.Result{}, nil
}
