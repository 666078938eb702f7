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
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"time"

	prometheusv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

const (
	// witness is the label of a series that is in every answer of a storage that works.
	witness = "altershield_witness"
	// unnamed is the name of the series that have none.
	unnamed = "altershield_unnamed"
)

// accessKey is an access key of HoloInsight, as it wants it for a token.
type accessKey struct {
	ID  string `json:"accessId"`
	Key string `json:"accessKey"`
}

// holoInsight asks HoloInsight, which hands queries on to a storage that speaks PromQL. Its API looks like that of Prometheus, but means less:
// a series without a name fails the query, several series of an instant query become one, and a storage that fails has no series.
type holoInsight struct {
	*exchange
	// tokens are those for the access key, whose end isn't known.
	tokens *tokens
}

func newHoloInsight(to *exchange) *holoInsight {
	made := &holoInsight{exchange: to}
	made.tokens = newTokens(to.clock, made.fetch)
	return made
}

// Query asks for a range of one step: the API's own instant queries can't be used.
func (h *holoInsight) Query(
	ctx context.Context, query string, at time.Time, options ...prometheusv1.Option,
) (model.Value, prometheusv1.Warnings, error) {
	at = at.Truncate(time.Second)
	return h.QueryRange(ctx, query, prometheusv1.Range{Start: at, End: at, Step: time.Second}, options...)
}

// QueryRange asks by GET, in whole seconds, and with a unit of the step, which is a minute otherwise. HoloInsight knows no options but the time.
func (h *holoInsight) QueryRange(
	ctx context.Context, query string, over prometheusv1.Range, _ ...prometheusv1.Option,
) (model.Value, prometheusv1.Warnings, error) {
	ctx, cancel := context.WithTimeout(ctx, h.timeout)
	defer cancel()
	address := h.URL("/webapi/prometheus/api/v1/query_range", nil)
	address.RawQuery = url.Values{
		"query": {witnessed(query)}, "timeout": {seconds(h.timeout)}, "step": {seconds(over.Step)},
		"start": {strconv.FormatInt(over.Start.Unix(), 10)}, "end": {strconv.FormatInt(over.End.Unix(), 10)},
	}.Encode()
	var value string
	var err error
	for range 2 { // a token ends after a while, so that a refused one is replaced once
		if value, err = h.tokens.after(ctx, value); err != nil {
			return nil, nil, h.ofTokens(err)
		}
		var body []byte
		body, err = h.ask(ctx, http.MethodGet, address, http.Header{"Apitoken": {value}}, nil)
		if err == nil {
			return matrixOf(body)
		}
		if kindOf(err) != KindUnauthorized {
			break
		}
	}
	return nil, nil, err
}

func seconds(d time.Duration) string { return fmt.Sprintf("%ds", d/time.Second) }

// witnessed returns a query with one more series, which shows that the storage answered. Series without a name get one.
func witnessed(query string) string {
	return fmt.Sprintf(`label_replace((%s
) or label_replace(vector(1), %q, "1", "", ""), "__name__", %q, "__name__", "")`, query, witness, unnamed)
}

// ofTokens returns the error of a token that isn't there. That of waiting for it is one of the context.
func (h *holoInsight) ofTokens(err error) error {
	if kindOf(err) != "" {
		return err
	}
	return ofFault(err, h.timeout, h.maxBytes)
}

// fetch gets a new token.
func (h *holoInsight) fetch(ctx context.Context) (token, error) {
	question, err := json.Marshal(h.accessKey)
	if err != nil {
		return token{}, fmt.Errorf("writing the access key as JSON: %w", err)
	}
	body, err := h.ask(ctx, http.MethodPost, h.URL("/webapi/token/apply", nil), http.Header{"Content-Type": {"application/json"}}, question)
	if err != nil {
		return token{}, err
	}
	// The message of a failure may have the access key, so it isn't read.
	var answer struct {
		Success    bool   `json:"success"`
		ResultCode string `json:"resultCode"`
		Data       string `json:"data"`
	}
	switch err := json.Unmarshal(body, &answer); {
	case err == nil && answer.Success && answer.Data != "":
		return token{value: answer.Data}, nil
	case err == nil && answer.ResultCode == "PARAMETER_ILLEGAL":
		return token{}, &Error{Kind: KindUnauthorized, Message: "HoloInsight doesn't know the access key: see spec.auth"}
	default:
		return token{}, &Error{Kind: KindUnavailable, Message: "HoloInsight gives no token: see spec.url and its log", err: err}
	}
}

// ask sends a request and returns the body of the answer.
func (h *holoInsight) ask(ctx context.Context, method string, to *url.URL, header http.Header, body []byte) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, to.String(), bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("making a request to spec.url: %w", err)
	}
	request.Header = header
	answer, err := h.send(ctx, request)
	if err != nil {
		return nil, err
	}
	failure := ofResponse(answer.status, answer.header, answer.body, h.clock.Now())
	switch {
	case failure == nil:
		return answer.body, nil
	case failure.Kind == KindUnauthorized:
		failure.Message = fmt.Sprintf("HoloInsight refuses the access key, or a token for /webapi/prometheus (HTTP %d): "+
			"see spec.auth, and its token_url_white_prefix_list", answer.status)
	case failure.Kind == KindBadQuery:
		failure.Kind, failure.Message = KindUnavailable, fmt.Sprintf(
			"HoloInsight refuses the query, or its storage failed (HTTP %d): its log tells which", answer.status)
	}
	return nil, failure
}

// point is a sample of which the value may be missing.
type point model.SamplePair

// UnmarshalJSON reads a missing value as NaN, which is a gap. Without this it would be a measured 0.
func (p *point) UnmarshalJSON(text []byte) error {
	p.Value = model.SampleValue(math.NaN())
	return (*model.SamplePair)(p).UnmarshalJSON(text)
}

// matrixOf returns the series of an answer without the witness. One without a witness is no answer: HoloInsight has no series as well if its
// storage fails or it doesn't know the tenant, and no series of errors would pass for no errors.
func matrixOf(body []byte) (model.Value, prometheusv1.Warnings, error) {
	var answer struct {
		Status string `json:"status"`
		Data   struct {
			ResultType string `json:"resultType"`
			Result     []struct {
				Metric model.Metric `json:"metric"`
				Values []point      `json:"values"`
			} `json:"result"`
		} `json:"data"`
		Warnings prometheusv1.Warnings `json:"warnings"`
	}
	if err := json.Unmarshal(body, &answer); err != nil || answer.Status != "success" || answer.Data.ResultType != "matrix" {
		return nil, nil, failureOf(err)
	}
	matrix, answered := model.Matrix{}, false
	for _, result := range answer.Data.Result {
		if result.Metric[witness] != "" {
			answered = true
			continue
		}
		if result.Metric[model.MetricNameLabel] == unnamed {
			delete(result.Metric, model.MetricNameLabel)
		}
		stream := &model.SampleStream{Metric: result.Metric}
		for _, value := range result.Values {
			stream.Values = append(stream.Values, model.SamplePair(value))
		}
		matrix = append(matrix, stream)
	}
	if !answered {
		return nil, nil, &Error{
			Kind: KindUnavailable, Message: "HoloInsight answers without a series that every storage has: its storage failed, or it has none for the tenant",
		}
	}
	return matrix, answer.Warnings, nil
}

// accessKeyOf returns the access key of a Secret.
func (s secrets) accessKeyOf(place string, ref *appv1alpha1.SourceSecret) (*accessKey, *Error) {
	id, failure := s.value(place, ref, appv1alpha1.SourceAccessIDKey)
	if failure != nil {
		return nil, failure
	}
	key, failure := s.value(place, ref, appv1alpha1.SourceAccessKeyKey)
	if failure != nil {
		return nil, failure
	}
	return &accessKey{id, key}, nil
}
