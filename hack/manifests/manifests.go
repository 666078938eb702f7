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

// Package manifests reads objects from YAML.
package manifests

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// buffer is how many bytes the decoder reads to tell YAML from JSON.
const buffer = 4096

// Decode decodes a stream of YAML documents and skips empty ones.
func Decode(stream io.Reader) ([]*unstructured.Unstructured, error) {
	decoder := yaml.NewYAMLOrJSONDecoder(stream, buffer)
	var objects []*unstructured.Unstructured
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(object)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading manifests: %w", err)
		}
		if len(object.Object) > 0 {
			objects = append(objects, object)
		}
	}
}

// Build runs a command that builds a kustomization, and returns its objects.
func Build(command *exec.Cmd, kustomization string) ([]*unstructured.Unstructured, error) {
	var output, problems bytes.Buffer
	command.Stdout, command.Stderr = &output, &problems
	if err := command.Run(); err != nil {
		return nil, fmt.Errorf("building kustomization %s: %w: %s", kustomization, err, strings.TrimSpace(problems.String()))
	}
	objects, err := Decode(&output)
	if err != nil {
		return nil, fmt.Errorf("building kustomization %s: %w", kustomization, err)
	}
	return objects, nil
}
