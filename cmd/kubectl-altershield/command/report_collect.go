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
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
)

const (
	// maxObjects is how many objects of a kind a report has, maxEntry the size of a file in it, and maxReport that of all.
	maxObjects = 2 * pageSize
	maxEntry   = 4 << 20
	maxReport  = 48 << 20
	// maxLines is how many lines of a log a report has.
	maxLines = 5000
)

// collection is a report that grows.
type collection struct {
	*cluster
	// only and operator are the namespaces that it is about; only is empty for all.
	only, operator string
	created        time.Time
	packed         bytes.Buffer
	zip            *zip.Writer
	size           int
	report         view.Report
	redactor       view.Redactor
	// failure is the first error of the zip file.
	failure error
}

func newCollection(cluster *cluster, created time.Time, only, operator string) *collection {
	c := &collection{cluster: cluster, only: only, operator: operator, created: created, redactor: view.NewRedactor(), report: view.Report{
		Kind: "Report", APIVersion: view.APIVersion, Created: created, Namespace: only, Items: []view.ReportEntry{}, Missing: []view.ReportGap{},
	}}
	c.zip = zip.NewWriter(&c.packed)
	return c
}

// finish adds the list of what is there and what is missing, and returns the zip file.
func (c *collection) finish(file string) ([]byte, error) {
	c.write("report.json", encoded(c.report))
	c.report.File = file
	if err := c.zip.Close(); err != nil && c.failure == nil {
		c.failure = err
	}
	if c.failure != nil {
		return nil, fmt.Errorf("packing the report: %w", c.failure)
	}
	return c.packed.Bytes(), nil
}

// add adds a file, unless the report would be too large.
func (c *collection) add(name string, content []byte, objects int, truncated bool) {
	if len(content) > maxEntry {
		content, truncated = content[:maxEntry], true
	}
	if c.size+len(content) > maxReport {
		c.miss(name, "the report is too large")
		return
	}
	c.size += len(content)
	c.write(name, content)
	c.report.Items = append(c.report.Items, view.ReportEntry{Name: name, Objects: objects, Bytes: len(content), Truncated: truncated})
}

// write writes a file.
func (c *collection) write(name string, content []byte) {
	file, err := c.zip.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: c.created})
	if err == nil {
		_, err = file.Write(content)
	}
	if err != nil && c.failure == nil {
		c.failure = err
	}
}

func (c *collection) miss(name, why string) {
	c.report.Missing = append(c.report.Missing, view.ReportGap{Name: name, Why: c.redactor.Text(why)})
}

// addModel adds a model of package view.
func (c *collection) addModel(name string, model any) { c.add(name, encoded(model), 0, false) }

// encoded returns a model in JSON. Models and unstructured objects can always be encoded.
func encoded(model any) []byte {
	text, err := json.MarshalIndent(model, "", " ")
	if err != nil {
		return []byte(err.Error())
	}
	return append(text, '\n')
}

// addObjects adds what a function keeps of objects, as many as fit: all of them together, so that the file stays valid JSON.
func (c *collection) addObjects(name string, part view.Part[unstructured.Unstructured], keep func(map[string]any) map[string]any) {
	for _, why := range []string{part.Why(), part.Rest} {
		if why != "" {
			c.miss(name, why)
		}
	}
	if len(part.Items) == 0 {
		return
	}
	kept, size := []any{}, 0
	for i := range part.Items {
		object := keep(part.Items[i].Object)
		if object == nil {
			continue
		}
		if size += len(encoded(object)) * 5 / 4; size > maxEntry { // indented once more
			break
		}
		kept = append(kept, object)
	}
	truncated := part.More || size > maxEntry
	c.add(name, encoded(map[string]any{"kind": "List", "apiVersion": "v1", "items": kept}), len(kept), truncated)
}

// addKinds adds the objects of the operator's kinds.
func (c *collection) addKinds(ctx context.Context) {
	for _, kind := range view.Kinds() {
		c.addObjects("objects/"+kind.Resource+".json", c.objectsOf(ctx, kind, maxObjects, c.only, c.operator), c.redactor.Object)
	}
}

// addWorkloads adds the metadata of workloads that have a version, of the kinds of these records.
func (c *collection) addWorkloads(ctx context.Context, records []appv1alpha1.ChangeWorkload) {
	isTaken := map[string]bool{}
	for _, kind := range view.WorkloadKinds(records) {
		of := schema.FromAPIVersionAndKind(kind.APIVersion, kind.Kind)
		list := func() client.ObjectList { return metadataOf(of.Group, of.Version, of.Kind) }
		right := view.Right{Verb: "list", Group: of.Group, Resource: kind.Resource}
		asked := query{right: right, most: maxObjects, options: []client.ListOption{client.HasLabels{appv1alpha1.LabelVersion}}}
		file := right.Resource
		if isTaken[file] { // kinds of the same name
			file += "." + of.Version + "." + of.Group
		}
		isTaken[file] = true
		c.addObjects("workloads/"+file+".json", untyped(somewhere[metav1.PartialObjectMetadata](ctx, c.cluster, list, asked, c.only, c.operator), kind.WorkloadReference), c.redactor.Workload)
	}
}

// untyped returns the metadata of objects of a kind without a type.
func untyped(part view.Part[metav1.PartialObjectMetadata], kind appv1alpha1.WorkloadReference) view.Part[unstructured.Unstructured] {
	converted := view.Part[unstructured.Unstructured]{Lacks: part.Lacks, Failure: part.Failure, Absent: part.Absent, More: part.More, Rest: part.Rest}
	for i := range part.Items {
		part.Items[i].APIVersion, part.Items[i].Kind = kind.APIVersion, kind.Kind
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&part.Items[i])
		if err != nil {
			converted.Failure = err.Error()
			return converted
		}
		converted.Items = append(converted.Items, unstructured.Unstructured{Object: fields})
	}
	return converted
}

// addEvents adds the Events of the operator and of its objects.
func (c *collection) addEvents(ctx context.Context) {
	list := func() client.ObjectList { return listOf("", "v1", "Event") }
	part := somewhere[unstructured.Unstructured](ctx, c.cluster, list, query{right: view.Right{Verb: "list", Resource: "events"}, most: 10 * maxObjects}, c.only, c.operator)
	c.addObjects("events.json", part, func(event map[string]any) map[string]any {
		if !view.OfOperator(event) {
			return nil
		}
		return c.redactor.Object(event)
	})
}

// addOperator adds the operator's own Deployment and pods, and returns these.
func (c *collection) addOperator(ctx context.Context, deployments view.Part[unstructured.Unstructured]) []unstructured.Unstructured {
	c.addObjects("operator/deployments.json", deployments, c.redactor.Object)
	right := view.Right{Verb: "list", Resource: "pods", Namespace: c.operator}
	pods := read[unstructured.Unstructured](ctx, c.cluster, listOf("", "v1", "Pod"), query{
		right: right, most: maxObjects, options: []client.ListOption{client.MatchingLabels{"app.kubernetes.io/name": "altershield-operator"}},
	})
	c.addObjects("operator/pods.json", pods, c.redactor.Object)
	return pods.Items
}

// addLogs adds the ends of the logs of the operator's pods, also of containers before their last restart.
func (c *collection) addLogs(ctx context.Context, pods []unstructured.Unstructured) {
	for i := range pods {
		name := pods[i].GetName()
		statuses, _, _ := unstructured.NestedSlice(pods[i].Object, "status", "containerStatuses")
		for _, status := range statuses {
			fields, _ := status.(map[string]any)
			container, _ := fields["name"].(string)
			c.addLog(ctx, name, container, false)
			if restarts, _ := fields["restartCount"].(int64); restarts > 0 {
				c.addLog(ctx, name, container, true)
			}
		}
	}
}

func (c *collection) addLog(ctx context.Context, pod, container string, previous bool) {
	file := fmt.Sprintf("logs/%s-%s.log", pod, container)
	asked := url.Values{"container": {container}, "limitBytes": {fmt.Sprint(maxEntry)}, "timestamps": {"true"}}
	if previous {
		file = fmt.Sprintf("logs/%s-%s-previous.log", pod, container)
		asked.Set("previous", "true")
	}
	log, truncated, err := c.endOfLog(ctx, pod, asked)
	if err != nil {
		c.miss(file, err.Error())
		return
	}
	text := c.redactor.Text(log)
	if over := len(text) - maxEntry; over > 0 { // redacted, it may be longer
		text, truncated = text[over:], true
	}
	c.add(file, []byte(text), 0, truncated)
}

// endOfLog reads the last lines of a log, and reports whether there may be more. The API server counts the bytes from the first of these lines on:
// where they are too many, the newest ones lack, so that it is asked for fewer lines.
func (c *collection) endOfLog(ctx context.Context, pod string, asked url.Values) (log string, truncated bool, err error) {
	for lines := maxLines; ; truncated = true {
		asked.Set("tailLines", fmt.Sprint(lines))
		answer, err := c.ask(ctx, fmt.Sprintf("/api/v1/namespaces/%s/pods/%s/log?%s", url.PathEscape(c.operator), url.PathEscape(pod), asked.Encode()))
		if err != nil {
			return "", false, err
		}
		whole := bytes.Count(answer.Body, []byte("\n"))
		if isCut := len(answer.Body) >= maxEntry; !isCut || lines == 1 {
			return string(answer.Body), truncated || isCut || whole >= maxLines, nil
		}
		lines = max(1, min(whole, lines-1)*3/4)
	}
}
