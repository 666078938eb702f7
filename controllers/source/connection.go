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
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/platform/oneline"
)

// secrets are the contents of Secrets by their names. Those that don't exist are missing.
type secrets map[string]map[string][]byte

// named returns the names of the Secrets of a source.
func named(spec *appv1alpha1.VerificationSourceSpec) []string {
	var names []string
	if spec.Auth.SecretRef != nil {
		names = append(names, spec.Auth.SecretRef.Name)
	}
	if spec.TLS != nil && spec.TLS.CASecretRef != nil {
		names = append(names, spec.TLS.CASecretRef.Name)
	}
	if spec.Signing != nil {
		names = append(names, spec.Signing.SecretRef.Name)
	}
	return names
}

// value returns the content of a key of a Secret that has one line. A token with more would end the header that it is sent in.
func (s secrets) value(place string, ref *appv1alpha1.SourceSecret, key string) (string, *Error) {
	value, failure := s.lines(place, ref, key)
	if failure == nil && strings.ContainsAny(value, "\r\n") {
		failure = &Error{Kind: KindBadSecret, Message: fmt.Sprintf("%s: Secret %s needs the key %s, in one line", place, ref.Name, key)}
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
	if spec.Signing != nil {
		var failure *Error
		if to.signing, failure = from.signingKeys(&spec.Signing.SecretRef); failure != nil {
			return connection{}, failure
		}
	}
	if spec.TLS == nil {
		return to, nil
	}
	to.serverName = spec.TLS.ServerName
	bundle, place := spec.TLS.CABundle, "spec.tls.caBundle"
	if ref := spec.TLS.CASecretRef; ref != nil {
		var failure *Error
		place = "spec.tls.caSecretRef"
		if bundle, failure = from.lines(place, ref, appv1alpha1.SourceCAKey); failure != nil {
			return connection{}, failure
		}
	}
	if bundle == "" {
		return to, nil
	}
	to.authority = x509.NewCertPool()
	if !to.authority.AppendCertsFromPEM([]byte(bundle)) {
		kind := KindInvalid
		if spec.TLS.CASecretRef != nil {
			kind = KindBadSecret
		}
		return connection{}, &Error{Kind: kind, Message: place + ": there is no certificate in PEM"}
	}
	return to, nil
}

// authenticate adds the credentials to the headers, or keeps the access key.
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
	}
	return nil
}
