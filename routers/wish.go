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
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// wish is what a caller asks for who wants a Deployment to go back.
type wish struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Version is what to go back to; empty: the newest verified version.
	Version string `json:"version"`
}

// readWish reads what is asked for; the error is a denial.
func readWish(w http.ResponseWriter, request *http.Request) (wish, error) {
	body, err := readBody(w, request, maxRollbackBytes)
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return wish{}, wishTooLarge()
	case err != nil:
		return wish{}, &denial{http.StatusBadRequest, "the body didn't arrive"}
	}
	asked, err := parseWish(body)
	if err != nil {
		return wish{}, &denial{http.StatusBadRequest, err.Error()}
	}
	return asked, nil
}

func wishTooLarge() *denial {
	return &denial{http.StatusRequestEntityTooLarge, "a request for a rollback has 4 KiB at most"}
}

func parseWish(body []byte) (wish, error) {
	var asked wish
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(&asked)
	var wrongType *json.UnmarshalTypeError
	switch {
	case errors.Is(err, io.EOF):
		return wish{}, errors.New("the request has no body")
	case errors.As(err, &wrongType):
		return wish{}, errors.New("the request is malformed: it must be a JSON object whose fields hold strings")
	case err != nil:
		return wish{}, fmt.Errorf("the request is malformed: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return wish{}, errors.New("the request is malformed: nothing may follow its JSON object")
	}
	return asked, asked.validate()
}

func (asked wish) validate() error {
	switch {
	case asked.Namespace == "":
		return errors.New("the field namespace is missing")
	case asked.Name == "":
		return errors.New("the field name is missing")
	case len(validation.IsDNS1123Label(asked.Namespace)) > 0:
		return fmt.Errorf("%q is not the name of a namespace", asked.Namespace)
	case len(validation.IsDNS1123Subdomain(asked.Name)) > 0:
		return fmt.Errorf("%q is not the name of a Deployment", asked.Name)
	case asked.Version != "" && (len(asked.Version) != 32 || strings.Trim(asked.Version, "0123456789abcdef") != ""):
		return fmt.Errorf("%q is not a version: it has 32 digits from 0 to f", asked.Version)
	}
	return nil
}
