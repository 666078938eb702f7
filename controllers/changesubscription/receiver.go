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

package changesubscription

import (
	"bytes"
	"cmp"
	"context"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/changesubscription/encode"
	"github.com/traas-stack/altershield-operator/controllers/source"
)

const (
	// patience is how long a receiver may take for a message.
	patience = 10 * time.Second
	// mostAnswer is the most bytes of an answer that are read.
	mostAnswer = 16 << 10
)

// receiver takes messages.
type receiver struct {
	kind    appv1alpha1.SinkType
	address *url.URL
	secret  string
	http    *http.Client
	now     func() time.Time
}

// connect returns the receiver of a subscription, or why it has none: its Secret is unusable. The error is one of the API server.
func (r *Reconciler) connect(ctx context.Context, object *appv1alpha1.ChangeSubscription, line *line) (*receiver, *encode.Failure, error) {
	sink := &object.Spec.Sink
	var secret corev1.Secret
	err := r.Live.Get(ctx, client.ObjectKey{Namespace: r.Namespace, Name: sink.SecretRef.Name}, &secret)
	switch {
	case apierrors.IsNotFound(err):
		return nil, badSecret(sink, "there is no such Secret in the namespace of the operator"), nil
	case apierrors.IsForbidden(err):
		return nil, badSecret(sink, err.Error()), nil
	case err != nil:
		return nil, nil, fmt.Errorf("reading Secret %s/%s: %w", r.Namespace, sink.SecretRef.Name, err)
	}
	of := fmt.Sprintf("%s %d %s %s", object.UID, object.Generation, secret.UID, secret.ResourceVersion)
	if line.receiver != nil && line.of == of {
		return line.receiver, nil, nil
	}
	made, problem := r.newReceiver(sink, secret.Data)
	if problem != nil {
		return nil, problem, nil
	}
	if line.receiver != nil {
		line.receiver.close()
	}
	line.receiver, line.of = made, of
	return made, nil, nil
}

func (r *Reconciler) newReceiver(sink *appv1alpha1.SubscriptionSink, data map[string][]byte) (*receiver, *encode.Failure) {
	// Files often end in a newline.
	text, secret := strings.TrimSpace(string(data[appv1alpha1.SinkURLKey])), strings.TrimSpace(string(data[appv1alpha1.SinkSecretKey]))
	address, err := url.Parse(text)
	if err != nil || address.Scheme != "https" || address.Host == "" || address.User != nil || address.Fragment != "" {
		return nil, badSecret(sink, "the key url must be an address with https and a host, and without user info and fragment")
	}
	if _, err := url.ParseQuery(address.RawQuery); err != nil { // it would be sent without what can't be read
		return nil, badSecret(sink, "the key url has a query with a semicolon, or with a % that escapes nothing")
	}
	if err := encode.Check(sink.Type, secret); err != nil {
		return nil, badSecret(sink, "the key secret "+err.Error())
	}
	var secured source.TLS
	if sink.CABundle != "" {
		secured.Authority = x509.NewCertPool()
		if !secured.Authority.AppendCertsFromPEM([]byte(sink.CABundle)) {
			return nil, &encode.Failure{Reason: appv1alpha1.ReasonSubscriptionInvalid, Message: "spec.sink.caBundle: there is no certificate in PEM"}
		}
	}
	return &receiver{kind: sink.Type, address: address, secret: secret, http: r.Guard.Client(secured, patience, 1), now: r.Clock.Now}, nil
}

func badSecret(sink *appv1alpha1.SubscriptionSink, why string) *encode.Failure {
	return &encode.Failure{Reason: appv1alpha1.ReasonBadSecret, Message: fmt.Sprintf("spec.sink.secretRef: Secret %s: %s", sink.SecretRef.Name, why)}
}

func (r *receiver) close() { r.http.CloseIdleConnections() }

// send sends a message once. It returns how the receiver failed, nil if it took the message.
func (r *receiver) send(ctx context.Context, message encode.Message) *encode.Failure {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	to := *r.address
	query := to.Query()
	for name, values := range message.Query {
		query[name] = values
	}
	to.RawQuery = query.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, to.String(), bytes.NewReader(message.Body))
	if err != nil {
		return &encode.Failure{Reason: appv1alpha1.ReasonBadSecret, Message: "the key url of the Secret is no address to send to"}
	}
	request.Header = message.Header
	request.Header.Set("User-Agent", "altershield-operator")
	response, err := r.http.Do(request)
	if err != nil {
		return r.fault(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, mostAnswer))
	if err != nil {
		return r.fault(err)
	}
	var asked time.Duration
	if response.Header.Get("Retry-After") != "" {
		asked = source.RetryAfter(response.Header, r.now())
	}
	return encode.Read(r.kind, response.StatusCode, asked, body, r.redact)
}

// fault returns the failure of a request without an answer. Errors of package http may repeat what the receiver sent.
func (r *receiver) fault(err error) *encode.Failure {
	if message := source.Refused(err, "in the key url of the Secret"); message != "" {
		return &encode.Failure{Reason: appv1alpha1.ReasonAddressRefused, Message: message, Again: true}
	}
	late := fmt.Sprintf("no answer within %s", patience)
	return &encode.Failure{Reason: appv1alpha1.ReasonReceiverUnavailable, Message: source.ExplainRedacted(err, late, r.redact), Again: true}
}

// redact removes what is secret from the answer of a receiver, which may repeat what it got.
func (r *receiver) redact(message string) string {
	hidden := append([]string{r.address.String(), r.address.RequestURI(), r.address.RawQuery, r.address.Path}, strings.Split(r.address.Path, "/")...)
	hidden = append(hidden, strings.Split(r.address.EscapedPath(), "/")...)
	hidden = append(hidden, strings.Split(strings.ReplaceAll(r.secret, "\r", ""), "\n")...) // each of several keys
	for _, values := range r.address.Query() {
		for _, value := range values {
			hidden = append(hidden, value, url.QueryEscape(value)) // as it is sent
		}
	}
	slices.SortFunc(hidden, func(a, b string) int { return cmp.Compare(len(b), len(a)) }) // one may be a part of another
	for _, secret := range hidden {
		if len(secret) >= 6 { // shorter ones are no secrets, and may be words
			message = strings.ReplaceAll(message, secret, "***")
		}
	}
	return message
}
