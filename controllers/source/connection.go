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
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/platform/oneline"
)

// secrets are the contents of Secrets by their names. Those that don't exist are missing.
type secrets map[string]map[string][]byte

// named returns the names of the Secrets of a source, each once.
func named(spec *appv1alpha1.VerificationSourceSpec) []string {
	refs := append([]*appv1alpha1.SourceSecret{spec.Auth.SecretRef}, ofTLS(spec.TLS)...)
	if spec.Auth.OAuth2 != nil {
		refs = append(refs, ofTLS(spec.Auth.OAuth2.TLS)...)
	}
	if spec.Signing != nil {
		refs = append(refs, &spec.Signing.SecretRef)
	}
	var names []string
	for _, ref := range refs {
		if ref != nil && !slices.Contains(names, ref.Name) {
			names = append(names, ref.Name)
		}
	}
	return names
}

func ofTLS(spec *appv1alpha1.SourceTLS) []*appv1alpha1.SourceSecret {
	if spec == nil {
		return nil
	}
	return []*appv1alpha1.SourceSecret{spec.CASecretRef, spec.ClientCertSecretRef}
}

// value returns the content of a key of a Secret that has one line. A token with more would end the header that it is sent in.
func (s secrets) value(place string, ref *appv1alpha1.SourceSecret, key string) (string, *Error) {
	value, failure := s.lines(place, ref, key)
	if failure == nil && strings.ContainsAny(value, "\r\n") {
		return "", &Error{Kind: KindBadSecret, Message: fmt.Sprintf("%s: Secret %s needs the key %s, in one line", place, ref.Name, key)}
	}
	return value, failure
}

// lines returns the content of a key of a Secret. Files often end in a newline, which is no part of it.
func (s secrets) lines(place string, ref *appv1alpha1.SourceSecret, key string) (string, *Error) {
	data, found := s[ref.Name]
	if !found {
		return "", &Error{Kind: KindBadSecret, Message: fmt.Sprintf("%s: there is no Secret %s in the namespace of the operator", place, ref.Name)}
	}
	value := strings.TrimRight(string(data[key]), "\r\n")
	if value == "" {
		return "", &Error{Kind: KindBadSecret, Message: fmt.Sprintf("%s: Secret %s needs the key %s", place, ref.Name, key)}
	}
	return value, nil
}

// connect returns how a source is reached.
func connect(spec *appv1alpha1.VerificationSourceSpec, from secrets) (connection, *Error) {
	address, err := url.Parse(spec.URL)
	if err != nil || address.Host == "" {
		return connection{}, &Error{Kind: KindInvalid, Message: "spec.url is no URL with a host"}
	}
	if _, err := metav1.LabelSelectorAsSelector(spec.AllowedNamespaces); err != nil {
		return connection{}, &Error{Kind: KindInvalid, Message: oneline.Of("spec.allowedNamespaces: "+err.Error(), maxMessage)}
	}
	to := connection{
		address: address, header: http.Header{"User-Agent": {agent}},
		timeout: time.Duration(spec.Limits.TimeoutSeconds) * time.Second, maxBytes: spec.Limits.MaxBytes, slots: int(spec.Limits.Concurrent),
	}
	for _, header := range spec.Headers {
		to.header.Set(header.Name, header.Value)
	}
	if failure := to.authenticate(spec.Auth, from); failure != nil {
		return connection{}, failure
	}
	var failure *Error
	if spec.Signing != nil {
		if to.signing, failure = from.signingKeys(&spec.Signing.SecretRef); failure != nil {
			return connection{}, failure
		}
	}
	if to.tls, failure = from.secured("spec.tls", spec.TLS); failure != nil {
		return connection{}, failure
	}
	return to, nil
}

// secured returns how a connection is secured that a place of the spec describes.
func (s secrets) secured(place string, spec *appv1alpha1.SourceTLS) (TLS, *Error) {
	if spec == nil {
		return TLS{}, nil
	}
	found := TLS{ServerName: spec.ServerName}
	var failure *Error
	if found.Authority, failure = s.authority(place, spec); failure != nil {
		return TLS{}, failure
	}
	if ref := spec.ClientCertSecretRef; ref != nil {
		if found.Certificate, failure = s.certificate(place+".clientCertSecretRef", ref); failure != nil {
			return TLS{}, failure
		}
	}
	return found, nil
}

// authority returns the authorities that are trusted, nil for the public ones.
func (s secrets) authority(place string, spec *appv1alpha1.SourceTLS) (*x509.CertPool, *Error) {
	bundle, kind, field := spec.CABundle, KindInvalid, place+".caBundle"
	if ref := spec.CASecretRef; ref != nil {
		var failure *Error
		kind, field = KindBadSecret, place+".caSecretRef"
		if bundle, failure = s.lines(field, ref, appv1alpha1.SourceCAKey); failure != nil {
			return nil, failure
		}
	}
	if bundle == "" {
		return nil, nil
	}
	authority := x509.NewCertPool()
	if !authority.AppendCertsFromPEM([]byte(bundle)) {
		return nil, &Error{Kind: kind, Message: field + ": there is no certificate in PEM"}
	}
	return authority, nil
}

// certificate returns the certificate by which the operator authenticates.
func (s secrets) certificate(place string, ref *appv1alpha1.SourceSecret) (*tls.Certificate, *Error) {
	chain, failure := s.lines(place, ref, corev1.TLSCertKey)
	if failure != nil {
		return nil, failure
	}
	key, failure := s.lines(place, ref, corev1.TLSPrivateKeyKey)
	if failure != nil {
		return nil, failure
	}
	pair, err := tls.X509KeyPair([]byte(chain), []byte(key))
	if err != nil { // which has nothing of the key
		return nil, &Error{Kind: KindBadSecret, Message: oneline.Of(fmt.Sprintf("%s: Secret %s: %s", place, ref.Name, err), maxMessage)}
	}
	return &pair, nil
}

// authenticate adds the credentials to the headers, or keeps those for which there are tokens.
func (c *connection) authenticate(auth appv1alpha1.SourceAuth, from secrets) *Error {
	const place = "spec.auth.secretRef"
	switch auth.Type {
	case appv1alpha1.SourceAuthBearerToken:
		token, failure := from.value(place, auth.SecretRef, appv1alpha1.SourceTokenKey)
		if failure != nil {
			return failure
		}
		c.header.Set("Authorization", "Bearer "+token)
	case appv1alpha1.SourceAuthBasic:
		username, failure := from.value(place, auth.SecretRef, appv1alpha1.SourceUsernameKey)
		if failure != nil {
			return failure
		}
		password, failure := from.value(place, auth.SecretRef, appv1alpha1.SourcePasswordKey)
		if failure != nil {
			return failure
		}
		c.header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(username+":"+password)))
	case appv1alpha1.SourceAuthAccessKey:
		var failure *Error
		c.accessKey, failure = from.accessKeyOf(place, auth.SecretRef)
		return failure
	case appv1alpha1.SourceAuthOAuth2:
		var failure *Error
		c.oauth2, failure = from.tokenEndpointOf(place, &auth)
		return failure
	}
	return nil
}
