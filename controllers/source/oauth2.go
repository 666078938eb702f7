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
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// tokenPlace is the field with the address of the token endpoint.
const tokenPlace = "spec.auth.oauth2.tokenURL"

// tokenEndpoint is where the operator gets access tokens for a source, by its client credentials.
type tokenEndpoint struct {
	config *clientcredentials.Config
	tls    TLS
}

// tokenEndpointOf returns the token endpoint of a source, with the client credentials of the Secret at a place.
func (s secrets) tokenEndpointOf(place string, auth *appv1alpha1.SourceAuth) (*tokenEndpoint, *Error) {
	id, failure := s.value(place, auth.SecretRef, appv1alpha1.SourceClientIDKey)
	if failure != nil {
		return nil, failure
	}
	secret, failure := s.value(place, auth.SecretRef, appv1alpha1.SourceClientSecretKey)
	if failure != nil {
		return nil, failure
	}
	made := &tokenEndpoint{config: &clientcredentials.Config{
		ClientID: id, ClientSecret: secret, TokenURL: auth.OAuth2.TokenURL, Scopes: auth.OAuth2.Scopes, EndpointParams: url.Values{},
	}}
	if audience := auth.OAuth2.Audience; audience != "" {
		made.config.EndpointParams.Set("audience", audience)
	}
	made.tls, failure = s.secured("spec.auth.oauth2.tls", auth.OAuth2.TLS)
	return made, failure
}

// fetch gets a new token.
func (t *tokenEndpoint) fetch(ctx context.Context, client *http.Client) (token, error) {
	got, err := t.config.Token(context.WithValue(ctx, oauth2.HTTPClient, client))
	if err != nil {
		return token{}, err //nolint:wrapcheck // ofTokenFault tells it
	}
	if got.Type() != "Bearer" {
		return token{}, errors.New("the token is of another type than Bearer")
	}
	return token{got.AccessToken, got.Expiry}, nil
}

// sendWithToken sends a request with an access token. One that is refused is replaced once: it may have been revoked.
func (e *exchange) sendWithToken(ctx context.Context, request *http.Request) (received, error) {
	var value string
	var answer received
	for range 2 {
		var err error
		if value, err = e.bearer.after(ctx, value); err != nil {
			return received{}, e.ofTokenFault(err)
		}
		again := request.Clone(ctx)
		if request.GetBody != nil { // the first time has read it
			if again.Body, err = request.GetBody(); err != nil {
				return received{}, fmt.Errorf("sending a request again: %w", err)
			}
		}
		again.Header.Set("Authorization", "Bearer "+value)
		if answer, err = e.sendOnce(again); err != nil || answer.status != http.StatusUnauthorized {
			return answer, err
		}
	}
	return answer, nil
}

// ofTokenFault returns the failure of a request whose token isn't there. Nothing of an answer shows but a code of RFC 6749: it could have secrets.
func (e *exchange) ofTokenFault(fault error) *Error {
	if refused, ok := errors.AsType[*oauth2.RetrieveError](fault); ok {
		return e.ofTokenResponse(refused)
	}
	if message := Refused(fault, "of "+tokenPlace); message != "" {
		return &Error{Kind: KindRefused, Message: message, err: fault}
	}
	_, unanswered := errors.AsType[*url.Error](fault)
	if !unanswered && !errors.Is(fault, context.DeadlineExceeded) && !errors.Is(fault, context.Canceled) {
		return &Error{Kind: KindUnavailable, Message: tokenPlace + " answers without an access token of the type Bearer"}
	}
	failure := ofFault(fault, e.timeout, e.maxBytes)
	failure.Message = tokenPlace + ": " + failure.Message
	return failure
}

func (e *exchange) ofTokenResponse(refused *oauth2.RetrieveError) *Error {
	status, code := refused.Response.StatusCode, refused.ErrorCode
	known := slices.Contains([]string{
		"invalid_request", "invalid_client", "invalid_grant", "unauthorized_client", "unsupported_grant_type", "invalid_scope",
	}, code)
	switch {
	case status == http.StatusTooManyRequests:
		return &Error{
			Kind: KindThrottled, Message: tokenPlace + " refuses further requests for now (HTTP 429)", RetryAfter: RetryAfter(refused.Response.Header, e.clock.Now()),
		}
	case known:
		return &Error{Kind: KindUnauthorized, Message: fmt.Sprintf("%s gives no token (HTTP %d, %s): see spec.auth", tokenPlace, status, code)}
	case status == http.StatusBadRequest, status == http.StatusUnauthorized, status == http.StatusForbidden:
		return &Error{Kind: KindUnauthorized, Message: fmt.Sprintf("%s gives no token (HTTP %d): see spec.auth", tokenPlace, status)}
	case status/100 == 3:
		return &Error{Kind: KindUnavailable, Message: fmt.Sprintf("%s redirects (HTTP %d), which the operator doesn't follow: correct it", tokenPlace, status)}
	default:
		return &Error{Kind: KindUnavailable, Message: fmt.Sprintf("%s failed (HTTP %d)", tokenPlace, status)}
	}
}
