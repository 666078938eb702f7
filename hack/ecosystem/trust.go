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
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"maps"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/traas-stack/altershield-operator/hack/lab"
	"github.com/traas-stack/altershield-operator/hack/local/operator"
)

const (
	// servingSecret is the Secret that the overlay mounts, authorityKey its key with the authority.
	servingSecret = "webhook-server-cert"
	authorityKey  = "ca.crt"
	// prefix is that of the operator's webhook configurations, fixed the two with webhooks from the beginning.
	prefix        = "altershieldoperator-"
	fixedMutating = prefix + "mutating-webhook-configuration"
	kindsMutating = prefix + "kinds-mutating-webhook-configuration"
)

// secret returns what the Secret of the overlay has.
func (s *stage) secret(ctx context.Context) (map[string][]byte, error) {
	secret := &corev1.Secret{}
	err := s.lab.Kube.Get(ctx, client.ObjectKey{Namespace: operator.Namespace, Name: servingSecret}, secret)
	return secret.Data, err
}

// configurations returns all webhook configurations.
func (s *stage) configurations(ctx context.Context) ([]unstructured.Unstructured, error) {
	var all []unstructured.Unstructured
	for _, kind := range []string{"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"} {
		var list unstructured.UnstructuredList
		list.SetGroupVersionKind(admissionregistrationv1.SchemeGroupVersion.WithKind(kind))
		if err := s.lab.Kube.List(ctx, &list); err != nil {
			return nil, err
		}
		all = append(all, list.Items...)
	}
	return all, nil
}

// bundles returns the CA bundles of the operator's webhook configurations by their names: one for each webhook.
func (s *stage) bundles(ctx context.Context) (map[string][][]byte, error) {
	all, err := s.configurations(ctx)
	found := map[string][][]byte{}
	for _, configuration := range all {
		var of admissionregistrationv1.MutatingWebhookConfiguration // validating ones have clientConfig at the same place
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(configuration.Object, &of); err != nil {
			return nil, err
		}
		for _, webhook := range of.Webhooks {
			found[configuration.GetName()] = append(found[configuration.GetName()], webhook.ClientConfig.CABundle)
		}
	}
	maps.DeleteFunc(found, func(name string, _ [][]byte) bool { return !strings.HasPrefix(name, prefix) })
	return found, err
}

// distrust returns an error that names the webhook configurations whose CA bundle lacks the authority. cainjector adds authorities to a bundle,
// and leaves those before in it.
func distrust(bundles map[string][][]byte, authority []byte) error {
	var others []string
	for _, name := range slices.Sorted(maps.Keys(bundles)) {
		if slices.ContainsFunc(bundles[name], func(bundle []byte) bool { return !bytes.Contains(bundle, bytes.TrimSpace(authority)) }) {
			others = append(others, name)
		}
	}
	if len(others) > 0 || len(bundles) == 0 || len(authority) == 0 {
		return fmt.Errorf("%d of %d webhook configurations don't trust the authority: %v", len(others), len(bundles), others)
	}
	return nil
}

// trusted waits until all webhook configurations have the authority of the Secret.
func (s *stage) trusted(ctx context.Context) error {
	return lab.Until(ctx, patience, "the CA bundle in all webhook configurations", func(ctx context.Context) error {
		data, err := s.secret(ctx)
		if err != nil {
			return err
		}
		bundles, err := s.bundles(ctx)
		if err != nil {
			return err
		}
		if err := distrust(bundles, data[authorityKey]); err != nil {
			return err
		}
		s.tell("cainjector, operator", "all %d webhook configurations trust the authority of the Secret; authorities in a CA bundle: %d", len(bundles),
			bytes.Count(bundles[kindsMutating][0], []byte("BEGIN CERTIFICATE")))
		return nil
	})
}

// served waits until the manager serves a certificate at an address, to a client that trusts the authority.
func (s *stage) served(ctx context.Context, address string, authority, certificate []byte) error {
	return lab.Until(ctx, patience, "the certificate at "+address, func(ctx context.Context) error {
		shown, err := shownAt(ctx, address, authority)
		if err != nil {
			return err
		}
		if first, _ := pem.Decode(certificate); first == nil || !bytes.Equal(first.Bytes, shown.Raw) {
			return fmt.Errorf("the one of %s is served", shown.NotBefore)
		}
		return nil
	})
}

// shownAt returns the certificate that a server shows to a client that trusts an authority.
func shownAt(ctx context.Context, address string, authority []byte) (*x509.Certificate, error) {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	connection, err := (&tls.Dialer{Config: &tls.Config{RootCAs: roots}}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	defer connection.Close()
	return connection.(*tls.Conn).ConnectionState().PeerCertificates[0], nil
}
