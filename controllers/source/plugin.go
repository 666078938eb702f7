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
	"bytes"
	"context"
	"fmt"
	"net/http"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/platform/signature"
)

// Plugin asks a source of the type HTTP about the workloads of one namespace.
type Plugin struct {
	endpoint *endpoint
	exchange *exchange
}

// Plugin returns a plug-in for the checks of workloads in a namespace. The error is an *Error if it can't be asked.
func (s *Sources) Plugin(ctx context.Context, name, namespace string) (*Plugin, error) {
	source, err := s.usable(ctx, name, namespace)
	if err != nil {
		return nil, err
	}
	if source.spec.Type != appv1alpha1.SourceHTTP {
		message := fmt.Sprintf("spec.type is %s: only sources of the type HTTP are plug-ins", source.spec.Type)
		return nil, &Error{Source: name, Kind: KindInvalid, Message: message}
	}
	return source.plugin(), nil
}

func (k *known) plugin() *Plugin { return &Plugin{k.endpoint, k.exchange} }

// Ask posts a question in JSON once, and returns the body of the answer. The id is the same for all tries to ask the same.
func (p *Plugin) Ask(ctx context.Context, id string, question []byte) (answer []byte, err error) {
	err = p.protect(ctx, func(ctx context.Context) error {
		response, err := p.exchange.post(ctx, id, question)
		if err == nil && response.status != http.StatusOK {
			err = &Error{Kind: KindUnavailable, Message: fmt.Sprintf("the plug-in has no answer (HTTP %d): only 200 has one", response.status)}
		}
		answer = response.body
		return err
	})
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// Submit posts a question in JSON once, whose answer follows elsewhere. The id is the same for all tries to ask the same.
func (p *Plugin) Submit(ctx context.Context, id string, question []byte) error {
	return p.protect(ctx, func(ctx context.Context) error {
		response, err := p.exchange.post(ctx, id, question)
		if err == nil && response.status != http.StatusOK && response.status != http.StatusAccepted {
			err = &Error{Kind: KindUnavailable, Message: fmt.Sprintf("the plug-in takes no question (HTTP %d): 200 or 202 means that it does", response.status)}
		}
		return err
	})
}

// greet finds out whether anybody answers at the address. What a plug-in says to HEAD is up to it, but a gateway before it may tell that
// it is away.
func (p *Plugin) greet(ctx context.Context) error {
	return p.protect(ctx, p.exchange.head)
}

func (p *Plugin) protect(ctx context.Context, ask func(context.Context) error) error {
	_, err := p.endpoint.protect(ctx, func(ctx context.Context) (Answer, error) { return Answer{}, ask(ctx) })
	if ctx.Err() != nil { // says nothing about the source
		return p.endpoint.ended(ctx)
	}
	return err
}

// post sends a signed body as Standard Webhooks 1.0.0 defines it.
func (e *exchange) post(ctx context.Context, id string, body []byte) (received, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.address.String(), bytes.NewReader(body))
	if err != nil {
		return received{}, fmt.Errorf("making a request to spec.url: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	signature.Sign(request.Header, e.signing, id, e.clock.Now(), body)
	answer, err := e.send(ctx, request)
	if err != nil {
		return received{}, err
	}
	failure := ofResponse(answer.status, answer.header, answer.body, e.clock.Now())
	if failure == nil {
		return answer, nil
	}
	if failure.Kind == KindUnauthorized {
		failure.Message = fmt.Sprintf("the plug-in accepts no request of the operator (HTTP %d): see spec.auth and spec.signing", answer.status)
	}
	return received{}, failure
}

// head asks for nothing.
func (e *exchange) head(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodHead, e.address.String(), http.NoBody)
	if err != nil {
		return fmt.Errorf("making a request to spec.url: %w", err)
	}
	answer, err := e.send(ctx, request)
	if err != nil {
		return err
	}
	if answer.status == http.StatusNotImplemented || answer.status/100 == 4 && answer.status != http.StatusTooManyRequests {
		return nil // a server that knows POST only
	}
	if failure := ofResponse(answer.status, answer.header, nil, e.clock.Now()); failure != nil {
		return failure
	}
	return nil
}

// signingKeys returns the keys of signatures, each as it is or as Standard Webhooks writes it.
func (s secrets) signingKeys(ref *appv1alpha1.SourceSecret) ([][]byte, *Error) {
	const place = "spec.signing.secretRef"
	text, failure := s.lines(place, ref, appv1alpha1.SourceSigningKey)
	if failure != nil {
		return nil, failure
	}
	keys, err := signature.Keys(text)
	if err != nil {
		return nil, &Error{Kind: KindBadSecret, Message: fmt.Sprintf("%s: %s of Secret %s %s", place, appv1alpha1.SourceSigningKey, ref.Name, err)}
	}
	return keys, nil
}
