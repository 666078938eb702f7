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

package routers

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// rollbackRequest is the body of a request for a rollback.
type rollbackRequest struct {
	// Kind is the name of a kind; empty for the default.
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Version is the version to go back to; if empty, the newest verified one.
	Version string `json:"version"`
	// Park asks for a park instead.
	Park bool `json:"park"`
}

// readRollbackRequest reads the body of a request. The error is a denial.
func readRollbackRequest(w http.ResponseWriter, request *http.Request) (rollbackRequest, error) {
	body, err := readBody(w, request, maxRollbackBytes)
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return rollbackRequest{}, rollbackRequestTooLarge()
	case err != nil:
		return rollbackRequest{}, &denial{http.StatusBadRequest, "the request body could not be read"}
	}
	asked, err := parseRollbackRequest(body)
	if err != nil {
		return rollbackRequest{}, &denial{http.StatusBadRequest, err.Error()}
	}
	return asked, nil
}

func rollbackRequestTooLarge() *denial {
	return &denial{http.StatusRequestEntityTooLarge, "the rollback request is larger than 4 KiB"}
}

func parseRollbackRequest(body []byte) (rollbackRequest, error) {
	var asked rollbackRequest
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(&asked)
	var wrongType *json.UnmarshalTypeError
	switch {
	case errors.Is(err, io.EOF):
		return rollbackRequest{}, errors.New("the request has no body")
	case errors.As(err, &wrongType):
		return rollbackRequest{}, errors.New("the request is malformed: it must be a JSON object of strings, but for the boolean park")
	case err != nil:
		return rollbackRequest{}, fmt.Errorf("the request is malformed: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return rollbackRequest{}, errors.New("the request is malformed: unexpected data after the JSON object")
	}
	return asked, asked.validate()
}

func (asked rollbackRequest) validate() error {
	switch {
	case asked.Namespace == "":
		return errors.New("the field namespace is missing")
	case asked.Name == "":
		return errors.New("the field name is missing")
	case len(validation.IsDNS1123Label(asked.Namespace)) > 0:
		return fmt.Errorf("%q is not the name of a namespace", asked.Namespace)
	case len(validation.IsDNS1123Subdomain(asked.Name)) > 0:
		return fmt.Errorf("%q is not the name of a %s", asked.Name, cmp.Or(asked.Kind, defaultKind))
	case asked.Version != "" && asked.Park:
		return errors.New("the fields park and version exclude each other: a parked release goes back to the version before")
	case asked.Version != "" && (len(asked.Version) != 32 || strings.Trim(asked.Version, "0123456789abcdef") != ""):
		return fmt.Errorf("%q is not a version: it must have 32 lower-case hexadecimal digits", asked.Version)
	}
	return nil
}
