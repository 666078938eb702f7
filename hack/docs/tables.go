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
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/traas-stack/altershield-operator/controllers/changepod"
	"github.com/traas-stack/altershield-operator/controllers/changesubscription"
	"github.com/traas-stack/altershield-operator/controllers/changeworkload"
	"github.com/traas-stack/altershield-operator/controllers/delivery"
	"github.com/traas-stack/altershield-operator/controllers/platform/buildinfo"
	"github.com/traas-stack/altershield-operator/controllers/platform/statemetrics"
	"github.com/traas-stack/altershield-operator/controllers/rollback"
	"github.com/traas-stack/altershield-operator/controllers/settings"
	"github.com/traas-stack/altershield-operator/controllers/source"
	"github.com/traas-stack/altershield-operator/controllers/verifier/altershield"
	"github.com/traas-stack/altershield-operator/routers"
	"github.com/traas-stack/altershield-operator/runnable"
	"github.com/traas-stack/altershield-operator/webhooks"
)

var (
	printedFlag  = regexp.MustCompile(`(?m)^  -(\S+)(?: \S+)?\n((?:    \t.*\n?)+)`)
	printedValue = regexp.MustCompile(` \(default (.*)\)$`)
	printedDesc  = regexp.MustCompile(`^Desc\{fqName: (".*?"), help: (".*"), unit: ".*", constLabels: \{(.*)\}, variableLabels: \{(.*)\}\}`)
)

// flags returns the flags in the usage of a program, as printed by package flag.
func flags(usage string) table {
	var rows table
	for _, found := range printedFlag.FindAllStringSubmatch(usage, -1) {
		text := strings.Join(strings.Fields(found[2]), " ")
		value := ""
		if set := printedValue.FindStringSubmatch(text); set != nil {
			text, value = strings.TrimSuffix(text, set[0]), "`"+strings.Trim(set[1], `"`)+"`"
		}
		rows = append(rows, []string{"`--" + found[1] + "`", value, text})
	}
	return rows
}

func settingsTable() table {
	defaults := settings.Defaults()
	var rows table
	for _, name := range slices.Sorted(maps.Keys(defaults)) {
		spec := defaults[name]
		value := fmt.Sprintf("`enable: %t`", spec.Enable)
		if spec.Content != "" {
			value += fmt.Sprintf(", `content: %q`", spec.Content)
		}
		rows = append(rows, []string{"`" + name + "`", "`" + spec.Type + "`", value, spec.Remark})
	}
	return rows
}

// A recorder records the descriptions of metrics instead of registering them.
type recorder struct {
	prometheus.Registerer
	rows table
	err  error
}

func metrics() (table, error) {
	registry := &recorder{}
	_, err1 := changeworkload.NewMetrics(registry)
	_, err2 := changepod.NewMetrics(registry)
	_, err3 := rollback.NewMetrics(registry, nil)
	_, err4 := runnable.NewMetrics(registry, nil)
	_, err5 := altershield.NewMetrics(registry)
	_, err6 := webhooks.NewMetrics(registry)
	_, err7 := routers.New(routers.Options{Receiver: altershield.Callbacks{}, Metrics: registry})
	_, err8 := source.NewMetrics(registry)
	_, err9 := delivery.New(registry, nil)
	_, err10 := changesubscription.NewMetrics(registry)
	err := cmp.Or(err1, err2, err3, err4, err5, err6, err7, err8, err9, err10, registry.Register(statemetrics.New(nil, nil, nil)),
		webhooks.RegisterExpiry(registry, ""), buildinfo.Build{}.Register(registry))
	slices.SortFunc(registry.rows, func(a, b []string) int { return cmp.Compare(a[0], b[0]) })
	return registry.rows, err
}

// Register records the metrics of a collector.
func (r *recorder) Register(collector prometheus.Collector) error {
	descriptions := make(chan *prometheus.Desc)
	go func() {
		defer close(descriptions)
		collector.Describe(descriptions)
	}()
	for description := range descriptions {
		row, err := metric(description.String())
		if err != nil {
			r.err = err
		}
		r.rows = append(r.rows, row)
	}
	return r.err
}

func metric(description string) ([]string, error) {
	parts := printedDesc.FindStringSubmatch(description)
	if parts == nil {
		return nil, fmt.Errorf("the description of a metric has an unknown format: %s", description)
	}
	name, err1 := strconv.Unquote(parts[1])
	help, err2 := strconv.Unquote(parts[2])
	labels := parts[4]
	for _, label := range regexp.MustCompile(`(\w+)="`).FindAllStringSubmatch(parts[3], -1) {
		labels += "," + label[1]
	}
	if labels = strings.Trim(labels, ","); labels != "" {
		name += "{" + labels + "}"
	}
	return []string{"`" + name + "`", help}, cmp.Or(err1, err2)
}

// fields returns a table for each kind, by its name.
func fields(dir string) (map[string]table, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return nil, err
	}
	tables := map[string]table{}
	for _, file := range files {
		crd, err := readCRD(file)
		if err != nil {
			return nil, err
		}
		lister := lister{seen: map[string]bool{"Condition": true}}
		for _, part := range []string{"spec", "status"} {
			lister.list(part, crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties[part])
		}
		tables[crd.Spec.Names.Kind] = lister.rows
	}
	return tables, nil
}

func readCRD(file string) (crd apiextensionsv1.CustomResourceDefinition, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return crd, err
	}
	if err := yaml.UnmarshalStrict(text, &crd); err != nil {
		return crd, fmt.Errorf("reading %s: %w", file, err)
	}
	return crd, nil
}

// A lister lists the fields of a schema, and those of a type in several lists only once.
type lister struct {
	rows table
	seen map[string]bool
}

func (l *lister) list(path string, schema apiextensionsv1.JSONSchemaProps) {
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		property := schema.Properties[name]
		inner, suffix := property, ""
		if property.Items != nil {
			inner, suffix = *property.Items.Schema, "[]"
		}
		kind, _, _ := strings.Cut(inner.Description, " ") // the comment of an API type begins with its name
		if suffix == "" || kind == "" {
			kind = cmp.Or(inner.Type, "any")
		}
		row := []string{"`" + path + "." + name + "`", "`" + suffix + kind + "`", description(property)}
		if strings.HasPrefix(path, "spec") { // users write no status
			row[2] += limits(property)
		}
		l.rows = append(l.rows, row)
		if len(inner.Properties) > 0 && !l.seen[kind] {
			l.seen[kind] = suffix != ""
			l.list(path+"."+name+suffix, inner)
		}
	}
}

// limits returns the limits that the API server checks, empty for none.
func limits(schema apiextensionsv1.JSONSchemaProps) string {
	var low, high, unit string
	switch {
	case schema.Minimum != nil || schema.Maximum != nil:
		low, high = printed(schema.Minimum), printed(schema.Maximum)
	case schema.MinItems != nil || schema.MaxItems != nil:
		low, high, unit = printed(schema.MinItems), printed(schema.MaxItems), " items"
	default:
		low, high, unit = printed(schema.MinLength), printed(schema.MaxLength), " characters"
	}
	switch {
	case low != "" && high != "":
		return " Limits: " + low + " to " + high + unit + "."
	case low != "":
		return " At least " + low + unit + "."
	case high != "":
		return " At most " + high + unit + "."
	}
	return ""
}

// printed returns a limit without an exponent, empty for none.
func printed[T int64 | float64](limit *T) string {
	if limit == nil {
		return ""
	}
	return strconv.FormatFloat(float64(*limit), 'f', -1, 64)
}

func description(schema apiextensionsv1.JSONSchemaProps) string {
	text := strings.Join(strings.Fields(schema.Description), " ")
	if schema.Default != nil {
		text += " Default: `" + string(schema.Default.Raw) + "`."
	}
	return text
}
