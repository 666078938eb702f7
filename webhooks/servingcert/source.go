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

// Package servingcert is where the webhooks and the metrics have their certificate from: files, or a Secret that the operator
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

// Keys of the Secret. The key of the authority, ca.key, is the rotator's.
const (
	certKey       = corev1.TLSCertKey
	privateKeyKey = corev1.TLSPrivateKeyKey
	authorityKey  = "ca.crt"
)

// Source is where a certificate comes from. Every replica has one, and follows the Secret by itself: what the kubelet mounts
// is late by more than a minute.
type Source struct {
	// Secret keeps the certificate, its authority and their keys. Without a name, servers read the files of Dir.
	Secret client.ObjectKey
	// Dir has tls.crt and tls.key where no Secret is named. Else it is the operator's own, and shows the public tls.crt.
	Dir string

	reader  client.Reader
	current atomic.Pointer[tls.Certificate]
	trusted chan struct{}
}

var (
	_ reconcile.Reconciler = &Source{}
	_ healthz.Checker      = (&Source{}).Ready
)

// errNone is what a handshake fails with before the Secret is filled.
var errNone = errors.New("there is no certificate yet")

// TLSOptions has a server show the certificate of the Secret. They are empty where it reads files.
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

// Ready fails until the webhook configurations trust what this replica serves.
func (s *Source) Ready(*http.Request) error {
	select {
	case <-s.trusted:
		return nil
	default:
		return errors.New("the authority of the certificate is not in the webhook configurations yet")
	}
}

// Reconcile serves what the Secret has. A Secret that is emptied or spoilt changes nothing: the rotator mends it. One that is
// gone changes nothing either, but nobody mends it, as the operator may create no Secret: it is told.
func (s *Source) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	log := ctrl.LoggerFrom(ctx)
	var secret corev1.Secret
	if err := s.reader.Get(ctx, request.NamespacedName, &secret); err != nil {
		if apierrors.IsNotFound(err) {
			log.Error(err, "The Secret of the certificate is gone: apply config/default again before a replica restarts, which needs it")
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, fmt.Errorf("reading Secret %s: %w", request, err)
	}
	cert, key := secret.Data[certKey], secret.Data[privateKeyKey]
	if _, err := rotator.ValidCert(secret.Data[authorityKey], cert, key, dnsNames(s.Secret.Namespace)[0], nil, time.Now()); err != nil {
		log.Info("The Secret has no certificate that can be served", "reason", err.Error())
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
		return ctrl.Result{}, fmt.Errorf("showing the certificate of Secret %s: %w", request, err)
	}
	s.current.Store(&pair)
	log.Info("A new certificate is served", "until", pair.Leaf.NotAfter)
	return ctrl.Result{}, nil
}
