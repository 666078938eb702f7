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

package view

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// Report is what is in a report, and what is missing.
type Report struct {
	Kind       string    `json:"kind"`
	APIVersion string    `json:"apiVersion"`
	Created    time.Time `json:"created"`
	// File is where it was written.
	File string `json:"file,omitempty"`
	// Namespace is the one that it is about; empty for all that could be read.
	Namespace string        `json:"namespace,omitempty"`
	Items     []ReportEntry `json:"items"`
	Missing   []ReportGap   `json:"missing"`
}

// ReportEntry is a file in a report.
type ReportEntry struct {
	Name string `json:"name"`
	// Objects is the number of objects in it.
	Objects int `json:"objects,omitempty"`
	Bytes   int `json:"bytes"`
	// Truncated reports whether there was more.
	Truncated bool `json:"truncated,omitempty"`
}

// ReportGap is a file that a report lacks, and why.
type ReportGap struct {
	Name string `json:"name"`
	Why  string `json:"why"`
}

// Why returns why a part could not be read; empty if it could.
func (p Part[T]) Why() string {
	switch {
	case p.Lacks != nil:
		return "you may not " + p.Lacks.String()
	case p.Absent:
		return "the cluster doesn't have the kind"
	}
	return p.Failure
}

// redacted stands for what a report must not hold.
const redacted = "(redacted)"

// Redactor removes what may be secret.
type Redactor struct{ rules []redaction }

// redaction replaces what a pattern matches.
type redaction struct {
	// has is in lower case in each match, unless it is empty: to look for it takes less time.
	has     string
	pattern *regexp.Regexp
	with    string
}

// after returns what replaces the text after the groups of a pattern.
func after(has, pattern string) redaction {
	compiled, kept := regexp.MustCompile(pattern), ""
	for group := range compiled.NumSubexp() {
		kept += fmt.Sprintf("${%d}", group+1)
	}
	return redaction{has, compiled, kept + redacted}
}

// quoted returns the pattern of a text that begins with a quote, which is a group, and with what begins matches. It goes on to the same quote with as many
// backslashes, as in a text that is part of JSON: with more of them the quote is one of the text.
func quoted(quote, begins string) string {
	other := `[^\\\n` + quote + `]`
	escaped := func(least string) string {
		return begins + `(?:` + other + `|\\+` + other + `|\\{` + least + `,}` + quote + `)*`
	}
	return `(\\` + quote + `)` + escaped("2") + `|(\\{2,}` + quote + `)` + escaped("4") + `|(` + quote + `)` + begins + `(?:` + other + `|\\.)*`
}

// NewRedactor returns a Redactor.
func NewRedactor() Redactor {
	const (
		name = `[\w-]*(?:password|passwd|token|secret|api[-_]?key|credential)[\w-]*`
		flag = `(?:^|[\s"'(\[,])`
		next = `\\*["']\s*,\s*` // between two texts of a list
		// list goes on to its end, or that of the line: a bracket in a text of it ends none.
		list = `(\[\s*)(?:,\s*|\\+"(?:[^\\\n"]|\\+[^\\\n"]|\\{2,}")*(?:\\+")?|"(?:[^\\\n"]|\\.)*"?|[^\]\n"])*`
		user = `[^"'\\\n:]*:`
	)
	texts, users := quoted(`"`, "")+`|`+quoted(`'`, ""), quoted(`"`, user)+`|`+quoted(`'`, user)
	return Redactor{[]redaction{
		{"://", regexp.MustCompile(`(://)[^/@\s]+@`), "${1}" + redacted + "@"},
		after("authorization", `(?i)(\bauthorization\\*["']?\s*[=:]\s*\[?\\*["']?)(?:[\w-]+[ \t]+)?[^\s"',;&\\]+`),
		{"", regexp.MustCompile(`(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}`), "${1} " + redacted},
		after("", `(?im)(`+name+`\\*["']?\s*[=:]\s*)(?:`+list+`|`+texts+`|[^\s"',;&]+)|`+
			`(`+flag+`-`+name+`(?:`+next+`|[ \t]+))(?:`+texts+`|[^\s"',;&-][^\s"',;&]*)`),
		after("-u", `(?m)(`+flag+`(?:-u|--(?:proxy-)?user)(?:`+next+`|[ \t=]*))(?:`+users+`|[^\s"',:]+:[^\s"',]+)`),
		{"eyj", regexp.MustCompile(`\beyJ[\w-]{8,}\.[\w-]+\.[\w-]+`), redacted},
	}}
}

// Text returns a text without logins.
func (r Redactor) Text(text string) string {
	lower := strings.ToLower(text)
	for _, rule := range r.rules {
		if strings.Contains(lower, rule.has) {
			text = rule.pattern.ReplaceAllString(text, rule.with)
		}
	}
	return text
}

// Diagnosis returns a diagnosis without logins: its findings have messages of objects and errors of requests.
func (r Redactor) Diagnosis(diagnosis Diagnosis) Diagnosis {
	diagnosis.Items = slices.Clone(diagnosis.Items)
	for i := range diagnosis.Items {
		finding := &diagnosis.Items[i]
		finding.Values = slices.Clone(finding.Values)
		for k, value := range finding.Values {
			finding.Values[k] = r.Text(value)
		}
		finding.Help = r.Text(finding.Help)
	}
	return diagnosis
}

// Object returns an object without what may be secret: values of environment variables and headers, fields that are called like a secret, scripts
// of checks, and logins in texts. What kubectl, other tools and the API server keep beside it has copies of these values, and goes as well.
func (r Redactor) Object(object map[string]any) map[string]any {
	clean := r.fields(object)
	if metadata, has := clean["metadata"].(map[string]any); has {
		delete(metadata, "managedFields")
		if annotations, has := metadata["annotations"].(map[string]any); has {
			maps.DeleteFunc(annotations, isCopy)
		}
	}
	return clean
}

// isCopy reports whether an annotation may hold a copy of its object: a JSON object, as that of kubectl and that of kapp, or a compressed one, as
// that of Rancher. Those of the operator hold none.
func isCopy(key string, value any) bool {
	text, _ := value.(string)
	const gzip = "H4sI" // how it begins in base64
	isObject := strings.HasPrefix(strings.TrimSpace(text), "{") || strings.HasPrefix(text, gzip)
	return key == corev1.LastAppliedConfigAnnotation || isObject && !strings.Contains(key, "altershield")
}

func (r Redactor) fields(object map[string]any) map[string]any {
	clean := make(map[string]any, len(object))
	for name, inner := range object {
		if isSecret(name) && !isHarmless(name, inner) {
			clean[name] = redacted
			continue
		}
		clean[name] = r.value(name, inner)
	}
	return clean
}

// isHarmless reports whether a field that is called like a secret has none: nothing, yes or no, or a reference.
func isHarmless(name string, value any) bool {
	switch value := value.(type) {
	case nil, bool:
		return true
	case string:
		return value == ""
	case map[string]any, []any:
		return strings.HasSuffix(strings.TrimSuffix(name, "s"), "Ref")
	}
	return false
}

// value returns the value of a field without what may be secret.
func (r Redactor) value(field string, value any) any {
	switch value := value.(type) {
	case map[string]any:
		clean := r.fields(value)
		for _, name := range []string{"command", "args"} {
			if field == "job" && clean[name] != nil { // a script of a user, which may log in
				clean[name] = redacted
			}
		}
		return clean
	case []any:
		clean := make([]any, len(value))
		for i, inner := range value {
			if i > 0 && isLogin(value[i-1], inner) {
				clean[i] = redacted
				continue
			}
			clean[i] = r.value(field, inner)
			if pair, is := clean[i].(map[string]any); is && pair["value"] != nil && (field == "env" || strings.HasSuffix(strings.ToLower(field), "headers")) {
				pair["value"] = redacted
			}
		}
		return clean
	case string:
		return r.Text(value)
	}
	return value
}

// isLogin reports whether a text of a list is the value of a flag before it that logs in.
func isLogin(flag, value any) bool {
	name, _ := flag.(string)
	text, isText := value.(string)
	asks := name == "-u" || name == "--user" || strings.HasPrefix(name, "-") && !strings.Contains(name, "=") && isSecret(name)
	return isText && asks && !strings.HasPrefix(text, "-")
}

// isSecret reports whether a field is called like a secret.
func isSecret(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc([]string{"password", "passwd", "token", "secret", "apikey", "api_key", "api-key", "authorization", "credential"},
		func(word string) bool { return strings.Contains(name, word) })
}

// Workload returns the metadata of a workload that concern change control. A report has no other labels and annotations, and nothing of the
// spec.
func (r Redactor) Workload(object map[string]any) map[string]any {
	metadata, _ := object["metadata"].(map[string]any)
	kept := map[string]any{}
	for _, name := range []string{"namespace", "name", "uid", "generation", "resourceVersion", "creationTimestamp", "deletionTimestamp", "finalizers"} {
		if value, has := metadata[name]; has {
			kept[name] = value
		}
	}
	for _, name := range []string{"labels", "annotations"} {
		pairs, _ := metadata[name].(map[string]any)
		ours := maps.Clone(pairs)
		maps.DeleteFunc(ours, func(key string, _ any) bool { return !strings.Contains(key, "altershield") })
		if len(ours) > 0 {
			kept[name] = ours
		}
	}
	return r.Object(map[string]any{"apiVersion": object["apiVersion"], "kind": object["kind"], "metadata": kept})
}

// OfOperator reports whether an Event was recorded by the operator, or is about one of its objects.
func OfOperator(event map[string]any) bool {
	source, _ := event["source"].(map[string]any)
	about, _ := event["involvedObject"].(map[string]any)
	by, _ := event["reportingComponent"].(string)
	component, _ := source["component"].(string)
	version, _ := about["apiVersion"].(string)
	return strings.Contains(by+component, "altershield") || version == appv1alpha1.GroupVersion.String()
}

// WorkloadKind is a kind of workloads with its resource.
type WorkloadKind struct {
	appv1alpha1.WorkloadReference
	Resource string
}

// WorkloadKinds returns the kinds of workloads under change control: the built-in ones, and those of the records.
func WorkloadKinds(records []appv1alpha1.ChangeWorkload) []WorkloadKind {
	var found []WorkloadKind
	known := map[appv1alpha1.WorkloadReference]bool{}
	add := func(kind appv1alpha1.WorkloadReference, records []appv1alpha1.ChangeWorkload) {
		if !known[kind] {
			known[kind] = true
			found = append(found, WorkloadKind{kind, ResourceOf(Facts{Reference: kind, Records: records})})
		}
	}
	for _, kind := range BuiltIn("") {
		add(kind, nil)
	}
	for i := range records {
		of := records[i].Workload()
		add(appv1alpha1.WorkloadReference{APIVersion: of.APIVersion, Kind: of.Kind}, records[i:i+1])
	}
	return found
}
