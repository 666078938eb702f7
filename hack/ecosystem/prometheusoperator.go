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
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/traas-stack/altershield-operator/hack/lab"
	"github.com/traas-stack/altershield-operator/hack/local/assets"
	"github.com/traas-stack/altershield-operator/hack/local/cluster"
	"github.com/traas-stack/altershield-operator/hack/local/operator"
)

const (
	monitoring = "monitoring"
	// made is the Secret with the configuration that the Prometheus operator makes.
	made = "prometheus-main"
	// monitorJob is the job of the ServiceMonitor.
	monitorJob = "serviceMonitor/altershieldoperator-system/altershieldoperator-controller-manager-metrics-monitor/0"
)

//go:embed prometheus.yaml
var prometheusManifest []byte

// tryPrometheusOperator has the Prometheus operator take config/prometheus, and checks the configuration that it makes.
func tryPrometheusOperator(ctx context.Context, s *stage) error {
	fmt.Fprintln(s.out, "\nPrometheus operator")
	if err := s.installPrometheusOperator(ctx); err != nil {
		return err
	}
	if err := s.monitors(ctx); err != nil {
		return err
	}
	return s.scrapes(ctx)
}

// installPrometheusOperator applies the CustomResourceDefinitions, and starts the Prometheus operator and its webhook.
func (s *stage) installPrometheusOperator(ctx context.Context) error {
	programs, err := assets.EnsurePrometheusOperator(ctx, s.out)
	if err != nil {
		return err
	}
	source, err := assets.PrometheusOperatorSource(ctx)
	if err != nil {
		return err
	}
	for _, pattern := range []string{"prometheus-operator-crd/*.yaml", "rbac/prometheus-operator/*-service-account.yaml", "rbac/prometheus-operator/*-cluster-role*.yaml"} {
		if err := s.applyFiles(ctx, filepath.Join(source, "example", pattern)); err != nil {
			return err
		}
	}
	web, own := 0, 0
	if err := cluster.FreePorts(&web, &own); err != nil {
		return err
	}
	certs := filepath.Join(s.dir, "admission-certs")
	authority, err := cluster.NewServingCert(certs)
	if err != nil {
		return err
	}
	account := client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: "prometheus-operator"}
	if err := s.start(ctx, assets.PrometheusAdmissionWebhook, account, programs.Path(assets.PrometheusAdmissionWebhook), "--web.listen-address="+address(web),
		"--web.cert-file="+filepath.Join(certs, "tls.crt"), "--web.key-file="+filepath.Join(certs, "tls.key")); err != nil {
		return err
	}
	if err := s.lab.Apply(ctx, prometheusManifest, cluster.WebhookEndpoint{Port: web, CABundle: authority}); err != nil {
		return err
	}
	if err := s.start(ctx, assets.PrometheusOperator, account, programs.Path(assets.PrometheusOperator), "--web.listen-address="+address(own)); err != nil {
		return err
	}
	s.tell("Prometheus operator", "%s: its CustomResourceDefinitions are applied, it and its webhook run", filepath.Base(source))
	return nil
}

// applyFiles applies the objects of files.
func (s *stage) applyFiles(ctx context.Context, pattern string) error {
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		return fmt.Errorf("there are no files %s", pattern)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err == nil {
			err = s.lab.Apply(ctx, content, cluster.WebhookEndpoint{})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// monitors applies config/prometheus, and has the webhook deny a rule that is none.
func (s *stage) monitors(ctx context.Context) error {
	if err := lab.Until(ctx, patience, "config/prometheus to be admitted", func(ctx context.Context) error {
		return errors.Join(s.lab.Ended(), s.lab.Plane.Install(ctx, "config/prometheus", cluster.WebhookEndpoint{}))
	}); err != nil {
		return err
	}
	s.tell("API server", "config/prometheus is valid, all fields are known, and the webhook admits its rules")
	broken := strings.NewReplacer("NAMESPACE", operator.Namespace).Replace(`
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata: {name: broken, namespace: NAMESPACE}
spec: {groups: [{name: broken, rules: [{alert: Broken, expr: sum(up}]}]}
`)
	err := s.lab.Apply(ctx, []byte(broken), cluster.WebhookEndpoint{})
	if err == nil || !strings.Contains(err.Error(), "denied the request") {
		return fmt.Errorf("a rule that can't be parsed isn't denied: %w", err)
	}
	s.tell("API server", "a broken rule: %v", err)
	return nil
}

// scrapes checks the configuration that the Prometheus operator makes for a Prometheus.
func (s *stage) scrapes(ctx context.Context) error {
	found, err := s.job(ctx)
	if err != nil {
		return err
	}
	if err := found.scrapes(); err != nil {
		return fmt.Errorf("job %s: %w", monitorJob, err)
	}
	s.tell("Prometheus operator", "its configuration scrapes the port metrics of the operator's Service by https, with the authority of Secret %s and the token of the pod", servingSecret)
	return nil
}

// job waits for the job of the ServiceMonitor.
func (s *stage) job(ctx context.Context) (found *job, err error) {
	err = lab.Until(ctx, patience, "a configuration with the ServiceMonitor", func(ctx context.Context) error {
		secret := &corev1.Secret{}
		if err := errors.Join(s.lab.Ended(), s.lab.Kube.Get(ctx, client.ObjectKey{Namespace: monitoring, Name: made}, secret)); err != nil {
			return err
		}
		configuration, err := unzip(secret.Data["prometheus.yaml.gz"])
		if err == nil {
			found, err = jobOf(configuration, monitorJob)
		}
		return err
	})
	return found, err
}

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
