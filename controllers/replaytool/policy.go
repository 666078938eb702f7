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

package replaytool

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/config/crd"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

// readPolicy returns the first VerificationPolicy in a file, with the defaults that the API server would set.
func readPolicy(file string) (*appv1alpha1.VerificationPolicy, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading --policy: %w", err)
	}
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("there is no VerificationPolicy in %s", file)
		}
		var header struct {
			Kind string `json:"kind"`
		}
		if err == nil {
			err = yaml.Unmarshal(document, &header)
		}
		if err == nil && header.Kind != "VerificationPolicy" {
			continue
		}
		var policy *appv1alpha1.VerificationPolicy
		if err == nil {
			policy, err = decodePolicy(document)
		}
		if err != nil {
			return nil, fmt.Errorf("reading the VerificationPolicy in %s: %w", file, err)
		}
		return policy, nil
	}
}

// decodePolicy returns a policy as the API server would store it. It has fields that can't be left out only there.
func decodePolicy(text []byte) (*appv1alpha1.VerificationPolicy, error) {
	if err := yaml.UnmarshalStrict(text, &appv1alpha1.VerificationPolicy{}); err != nil {
		return nil, err
	}
	object, err := crd.Complete(crd.VerificationPolicy, text)
	if err != nil {
		return nil, err
	}
	var policy appv1alpha1.VerificationPolicy
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object, &policy); err != nil {
		return nil, err
	}
	for i := range policy.Spec.Checks {
		if measured := decide.Measured(&policy.Spec.Checks[i]); measured != nil {
			for _, problem := range measured.Problems() {
				return nil, fmt.Errorf("the check %s: %s", policy.Spec.Checks[i].Name, problem)
			}
		}
	}
	return &policy, nil
}
