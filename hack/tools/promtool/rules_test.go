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

// Package promtool_test checks the files in config/prometheus: the rules, with promtool, and the dashboards.
package promtool_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"sigs.k8s.io/yaml"
)

const root = "../../.."

// runbook is the page that explains the alerts, docs/operate.md.
const runbook = "https://github.com/traas-stack/altershield-operator/blob/main/docs/operate.md"

// prometheusRule is the part of the Prometheus operator's custom resource that Prometheus itself reads.
type prometheusRule struct {
	Spec ruleGroups `json:"spec"`
}

type ruleGroups struct {
	Groups []ruleGroup `json:"groups"`
}

type ruleGroup struct {
	Name     string `json:"name"`
	Interval string `json:"interval,omitempty"`
	Rules    []rule `json:"rules"`
}

// rule is an alert or a recording.
type rule struct {
	Alert       string            `json:"alert,omitempty"`
	Record      string            `json:"record,omitempty"`
	Expr        string            `json:"expr"`
	For         string            `json:"for,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

func (r ruleGroups) all() []rule {
	var rules []rule
	for _, group := range r.Groups {
		rules = append(rules, group.Rules...)
	}
	return rules
}

func (r ruleGroups) alerts() []rule {
	return slices.DeleteFunc(r.all(), func(rule rule) bool { return rule.Alert == "" })
}

func (r ruleGroups) recordings() []rule {
	return slices.DeleteFunc(r.all(), func(rule rule) bool { return rule.Record == "" })
}

func TestRulesAreAcceptedByPromtool(t *testing.T) {
	file := write(t, t.TempDir(), "rules.yaml", rules(t))
	promtool(t, "check", "rules", "--lint=all", "--lint-fatal", file)
}

// Descriptions and links have no values, so the tests of the rules needn't repeat them.
func TestAlertsFireAndRecordingsCountAsTheyShould(t *testing.T) {
	stripped := rules(t)
	for _, group := range stripped.Groups {
		for i := range group.Rules {
			if group.Rules[i].Alert == "" {
				continue
			}
			group.Rules[i].Annotations = map[string]string{"summary": group.Rules[i].Annotations["summary"]}
		}
	}
	dir := t.TempDir()
	write(t, dir, "rules.yaml", stripped)
	tests := filepath.Join(dir, "rules_test.yaml")
	if err := os.WriteFile(tests, read(t, "config/prometheus/rules_test.yaml"), 0o600); err != nil {
		t.Fatal(err)
	}
	promtool(t, "test", "rules", tests)
}

func TestAlertsAreTestedToFireAndNotToFire(t *testing.T) {
	var suite struct {
		Tests []struct {
			Alerts []struct {
				Name     string            `json:"alertname"`
				Expected []json.RawMessage `json:"exp_alerts"`
			} `json:"alert_rule_test"`
		} `json:"tests"`
	}
	if err := yaml.Unmarshal(read(t, "config/prometheus/rules_test.yaml"), &suite); err != nil {
		t.Fatal(err)
	}
	fires, quiet := map[string]bool{}, map[string]bool{}
	for _, test := range suite.Tests {
		for _, alert := range test.Alerts {
			fires[alert.Name] = fires[alert.Name] || len(alert.Expected) > 0
			quiet[alert.Name] = quiet[alert.Name] || len(alert.Expected) == 0
		}
	}
	for _, rule := range rules(t).alerts() {
		if !fires[rule.Alert] || !quiet[rule.Alert] {
			t.Errorf("%s: tested to fire: %v, not to fire: %v", rule.Alert, fires[rule.Alert], quiet[rule.Alert])
		}
	}
}

func TestRecordingsAreTested(t *testing.T) {
	var suite struct {
		Tests []struct {
			Expressions []struct {
				Expr     string            `json:"expr"`
				Expected []json.RawMessage `json:"exp_samples"`
			} `json:"promql_expr_test"`
		} `json:"tests"`
	}
	if err := yaml.Unmarshal(read(t, "config/prometheus/rules_test.yaml"), &suite); err != nil {
		t.Fatal(err)
	}
	tested := map[string]bool{}
	for _, test := range suite.Tests {
		for _, expression := range test.Expressions {
			name, _, _ := strings.Cut(expression.Expr, "{")
			tested[name] = tested[name] || len(expression.Expected) > 0
		}
	}
	for _, rule := range rules(t).recordings() {
		if !tested[rule.Record] {
			t.Errorf("%s has no test", rule.Record)
		}
	}
}

func TestAlertsNameTheirSeverityAndWhatToDo(t *testing.T) {
	sections := regexp.MustCompile(`(?m)^### (AlterShield\w+)$`).FindAllStringSubmatch(string(read(t, "docs/operate.md")), -1)
	described := map[string]bool{}
	for _, section := range sections {
		described[section[1]] = false
	}
	for _, rule := range rules(t).alerts() {
		if _, found := described[rule.Alert]; !found {
			t.Errorf("%s has no section in docs/operate.md", rule.Alert)
		}
		described[rule.Alert] = true
		if severity := rule.Labels["severity"]; !slices.Contains([]string{"critical", "warning", "info"}, severity) {
			t.Errorf("%s has the severity %q", rule.Alert, severity)
		}
		if rule.Annotations["summary"] == "" || rule.Annotations["description"] == "" {
			t.Errorf("%s has no summary or no description", rule.Alert)
		}
		if strings.Contains(rule.Annotations["description"], "{{") {
			t.Errorf("the description of %s has a value, which is not tested: move it to the summary", rule.Alert)
		}
		if link := runbook + "#" + strings.ToLower(rule.Alert); rule.Annotations["runbook_url"] != link {
			t.Errorf("%s links to %s, not to %s", rule.Alert, rule.Annotations["runbook_url"], link)
		}
	}
	for alert, exists := range described {
		if !exists {
			t.Errorf("docs/operate.md describes %s, which is not an alert", alert)
		}
	}
}

func TestRulesAskForKnownMetrics(t *testing.T) {
	for _, rule := range rules(t).all() {
		checkMetrics(t, rule.Alert+rule.Record, rule.Expr)
	}
}

// own matches the metrics that the operator exposes. A spec of package controllers looks for each in a scrape.
var own = regexp.MustCompile(`^(altershield|controller_runtime|workqueue|rest_client|leader_election|process)_`)

// checkMetrics parses an expression and reports metrics that no known component exposes.
func checkMetrics(t *testing.T, name, expression string) {
	t.Helper()
	foreign := []string{
		"up", "ALERTS", // Prometheus
		"apiserver_admission_webhook_admission_duration_seconds_bucket", // the API server
		"apiserver_admission_webhook_fail_open_count",
		"apiserver_admission_webhook_rejection_count",
		"container_memory_working_set_bytes",    // the kubelet
		"kube_deployment_status_replicas_ready", // kube-state-metrics
		"kube_deployment_spec_replicas",
		"kube_pod_container_resource_limits",
	}
	for _, recording := range rules(t).recordings() {
		foreign = append(foreign, recording.Record)
	}
	parsed, err := parser.NewParser(parser.Options{}).ParseExpr(expression)
	if err != nil {
		t.Errorf("%s: %s: %v", name, expression, err)
		return
	}
	for _, selector := range parser.ExtractSelectors(parsed) {
		at := slices.IndexFunc(selector, func(matcher *labels.Matcher) bool { return matcher.Name == labels.MetricName })
		if at < 0 || !own.MatchString(selector[at].Value) && !slices.Contains(foreign, selector[at].Value) {
			t.Errorf("%s: no known component exposes a metric selected by %v", name, selector)
		}
	}
}

// promtool runs the promtool built by make check-alerts.
func promtool(t *testing.T, args ...string) {
	t.Helper()
	output, err := exec.CommandContext(t.Context(), filepath.Join(root, "bin", "promtool"), args...).CombinedOutput()
	if err != nil {
		t.Errorf("promtool %s: %v\n%s", args[0], err, output)
	}
}

func rules(t *testing.T) ruleGroups {
	t.Helper()
	var resource prometheusRule
	if err := yaml.Unmarshal(read(t, "config/prometheus/rules.yaml"), &resource); err != nil {
		t.Fatal(err)
	}
	if len(resource.Spec.all()) == 0 {
		t.Fatal("config/prometheus/rules.yaml has no rules")
	}
	return resource.Spec
}

func write(t *testing.T, dir, name string, groups ruleGroups) (file string) {
	t.Helper()
	text, err := yaml.Marshal(groups)
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(dir, name)
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return text
}
