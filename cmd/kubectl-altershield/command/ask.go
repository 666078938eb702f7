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

package command

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// Answer is the answer of an API server to a path that is no object: its version, or the log of a container.
type Answer struct {
	Body []byte
	// Date is when the server answered, by its own clock; zero if it doesn't tell.
	Date time.Time
}

// maxAnswer is how much of an answer is read.
const maxAnswer = 4 << 20

// Ask reads a path of an API server.
func Ask(ctx context.Context, config *rest.Config, path string) (Answer, error) {
	caller, err := rest.HTTPClientFor(config)
	if err != nil {
		return Answer{}, fmt.Errorf("connecting to %s: %w", config.Host, err)
	}
	host, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return Answer{}, fmt.Errorf("connecting to %s: %w", config.Host, err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(host.String(), "/")+path, nil)
	if err != nil {
		return Answer{}, fmt.Errorf("connecting to %s: %w", config.Host, err)
	}
	response, err := caller.Do(request)
	if err != nil {
		return Answer{}, fmt.Errorf("connecting to the API server: %w", err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return Answer{}, fmt.Errorf("reading the answer of the API server: %w", err)
	}
	if response.StatusCode >= http.StatusBadRequest {
		status := metav1.Status{Code: int32(response.StatusCode), Message: response.Status} //nolint:gosec // a status has three digits
		if err := json.Unmarshal(body, &status); err != nil {
			status.Message = response.Status
		}
		return Answer{}, &apierrors.StatusError{ErrStatus: status}
	}
	date, err := http.ParseTime(response.Header.Get("Date"))
	if err != nil {
		date = time.Time{}
	}
	return Answer{Body: body, Date: date}, nil
}
