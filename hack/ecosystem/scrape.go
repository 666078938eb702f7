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

package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"reflect"

	"sigs.k8s.io/yaml"
)

// job is what a configuration of Prometheus says about how to scrape a job.
type job struct {
	Name          string `json:"job_name"`
	Scheme        string `json:"scheme"`
	Path          string `json:"metrics_path"`
	BearerFile    string `json:"bearer_token_file"`
	Authorization struct {
		File string `json:"credentials_file"`
	} `json:"authorization"`
	TLS struct {
		Authority string `json:"ca_file"`
		Server    string `json:"server_name"`
		Insecure  bool   `json:"insecure_skip_verify"`
	} `json:"tls_config"`
	Discovery []struct {
		Role       string `json:"role"`
		Namespaces struct {
			Names []string `json:"names"`
		} `json:"namespaces"`
	} `json:"kubernetes_sd_configs"`
	Relabel []struct {
		Action string   `json:"action"`
		Source []string `json:"source_labels"`
		Regex  string   `json:"regex"`
	} `json:"relabel_configs"`
}

// jobOf returns a job of a configuration.
func jobOf(configuration []byte, name string) (*job, error) {
	var whole struct {
		Jobs []job `json:"scrape_configs"`
	}
	if err := yaml.Unmarshal(configuration, &whole); err != nil {
		return nil, fmt.Errorf("reading the configuration of Prometheus: %w", err)
	}
	var names []string
	for i := range whole.Jobs {
		if whole.Jobs[i].Name == name {
			return &whole.Jobs[i], nil
		}
		names = append(names, whole.Jobs[i].Name)
	}
	return nil, fmt.Errorf("there is no job %s, but %v", name, names)
}

// keeps returns what a label has to match so that a target is kept, empty if any does.
func (j *job) keeps(label string) string {
	for _, rule := range j.Relabel {
		if rule.Action == "keep" && len(rule.Source) > 0 && rule.Source[0] == label {
			return rule.Regex
		}
	}
	return ""
}

// scrapes returns an error unless a job scrapes the Service of the metrics by TLS, checks its certificate, and presents its own token.
func (j *job) scrapes() error {
	var failures []error
	want := func(what string, want, got any) {
		if !reflect.DeepEqual(want, got) {
			failures = append(failures, fmt.Errorf("%s is %v, not %v", what, got, want))
		}
	}
	want("scheme", "https", j.Scheme)
	want("metrics_path", "/metrics", j.Path)
	want("the token", "/var/run/secrets/kubernetes.io/serviceaccount/token", j.BearerFile+j.Authorization.File)
	want("insecure_skip_verify", false, j.TLS.Insecure)
	want("ca_file", "/etc/prometheus/certs/0_altershieldoperator-system_webhook-server-cert_ca.crt", j.TLS.Authority)
	want("server_name", "altershieldoperator-controller-manager-metrics-service.altershieldoperator-system.svc", j.TLS.Server)
	want("the number of discoveries", 1, len(j.Discovery))
	if len(j.Discovery) == 1 {
		want("the discovered namespaces", []string{"altershieldoperator-system"}, j.Discovery[0].Namespaces.Names)
	}
	want("the Service's component", "(metrics);true", j.keeps("__meta_kubernetes_service_label_app_kubernetes_io_component"))
	want("the port", "metrics", j.keeps("__meta_kubernetes_endpoint_port_name")+j.keeps("__meta_kubernetes_endpointslice_port_name"))
	return errors.Join(failures...)
}

// unzip returns what is in a compressed file.
func unzip(file []byte) ([]byte, error) {
	reader, err := gzip.NewReader(bytes.NewReader(file))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(reader)
}
