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

package podtemplate

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/traas-stack/altershield-operator/controllers/testkit/sleep"
)

// parsed returns a template as decoded by the webhooks.
func parsed(t testing.TB, raw string) Template {
	t.Helper()
	var result Template
	if err := json.Unmarshal([]byte(raw), (*map[string]any)(&result)); err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	return result
}

// ofMetadata, ofSpec and ofContainer are templates with the given fields in one place.
func ofMetadata(fields string) string  { return `{"metadata": {` + fields + `}}` }
func ofSpec(fields string) string      { return `{"spec": {` + fields + `}}` }
func ofContainer(fields string) string { return ofContainers(`{"name": "app", ` + fields + `}`) }
func ofContainers(containers string) string {
	return ofSpec(`"containers": [` + containers + `]`)
}

func TestChanges(t *testing.T) {
	for _, row := range []struct {
		name, old, updated string
		lines              []string
	}{
		{"show another label", ofMetadata(`"labels": {"app": "sleep", "test": "123"}`), ofMetadata(`"labels": {"app": "sleep", "test": "bad"}`),
			[]string{"metadata.labels[test]: 123 -> bad"}},
		{"show a label that was added", ofMetadata(`"labels": {"a": "b"}`), ofMetadata(`"labels": {"a": "b", "c": "d"}`),
			[]string{"metadata.labels[c]: added d"}},
		{"show a label that was removed", ofMetadata(`"labels": {"a": "b", "c": "d"}`), ofMetadata(`"labels": {"c": "d"}`),
			[]string{"metadata.labels[a]: removed (was b)"}},
		{"show the first and the last labels", `{}`, ofMetadata(`"labels": {"a": "b", "c": ""}`),
			[]string{"metadata.labels[a]: added b", `metadata.labels[c]: added ""`}},
		{"hide the values of annotations", ofMetadata(`"annotations": {"kubectl.kubernetes.io/restartedAt": "9:00", "a": "b"}`),
			ofMetadata(`"annotations": {"kubectl.kubernetes.io/restartedAt": "10:00", "c": "d"}`),
			[]string{
				"metadata.annotations[a]: removed, value not shown",
				"metadata.annotations[c]: added, value not shown",
				"metadata.annotations[kubectl.kubernetes.io/restartedAt]: changed, value not shown",
			}},
		{"show another number", ofSpec(`"terminationGracePeriodSeconds": 30`), ofSpec(`"terminationGracePeriodSeconds": 60`),
			[]string{"spec.terminationGracePeriodSeconds: 30 -> 60"}},
		{"show large numbers in full", ofContainer(`"securityContext": {"runAsUser": 10000000}`),
			ofContainer(`"securityContext": {"runAsUser": 9007199254740993}`),
			[]string{"spec.containers[app].securityContext.runAsUser: 10000000 -> 9007199254740993"}},
		{"show a switch", ofSpec(`"hostNetwork": true`), ofSpec(`"dnsPolicy": "ClusterFirst"`),
			[]string{"spec.dnsPolicy: added ClusterFirst", "spec.hostNetwork: removed (was true)"}},
		{"show a node's label", `{"spec": {}}`, ofSpec(`"nodeSelector": {"disk": "ssd"}`), []string{"spec.nodeSelector[disk]: added ssd"}},
		{"show resources", ofContainer(`"resources": {"limits": {"cpu": "1"}}`), ofContainer(`"resources": {"limits": {"cpu": "500m", "nvidia.com/gpu": 1}}`),
			[]string{"spec.containers[app].resources.limits[cpu]: 1 -> 500m", "spec.containers[app].resources.limits[nvidia.com/gpu]: added 1"}},
		{"show another image of each kind of container",
			ofSpec(`"containers": [{"name": "sleep", "image": "busybox"}], "initContainers": [{"name": "setup", "image": "a:1"}]`),
			ofSpec(`"containers": [{"name": "sleep", "image": "busybox:1.37"}], "initContainers": [{"name": "setup", "image": "a@sha256:0f"}]`),
			[]string{"spec.containers[sleep].image: busybox -> busybox:1.37", "spec.initContainers[setup].image: a:1 -> a@sha256:0f"}},
		{"tell of a container that came and of one that went", ofContainers(`{"name": "app", "image": "a"}, {"name": "old"}`),
			ofContainers(`{"name": "proxy", "image": "envoy:1", "args": ["x"]}, {"name": "app", "image": "a"}`),
			[]string{"spec.containers[proxy]: added, image envoy:1", "spec.containers[old]: removed"}},
		{"tell of the first init container", ofContainer(`"image": "a"`),
			ofSpec(`"containers": [{"name": "app", "image": "a"}], "initContainers": [{"name": "setup", "image": "busybox"}]`),
			[]string{"spec.initContainers[setup]: added, image busybox"}},
		{"tell of a removed container's image", ofContainers(`{"name": "app", "image": "a"}`), ofContainers(``),
			[]string{"spec.containers[app]: removed, image a"}},
		{"tell of another order of containers", ofContainers(`{"name": "b"}, {"name": "a"}`), ofContainers(`{"name": "a"}, {"name": "b"}`),
			[]string{"spec.containers: reordered"}},
		{"tell of another order and what else changed", ofContainers(`{"name": "a", "image": "a"}, {"name": "b"}, {"name": "c"}`),
			ofContainers(`{"name": "b", "tty": true}, {"name": "a", "image": "z"}, {"name": "d"}`),
			[]string{"spec.containers: reordered", "spec.containers[b].tty: added true", "spec.containers[a].image: a -> z",
				"spec.containers[d]: added", "spec.containers[c]: removed"}},
		{"follow the order of the containers, not of their names", ofContainers(`{"name": "z", "image": "1"}, {"name": "a", "image": "1"}`),
			ofContainers(`{"name": "z", "image": "2"}, {"name": "a", "image": "2"}`),
			[]string{"spec.containers[z].image: 1 -> 2", "spec.containers[a].image: 1 -> 2"}},
		{"have metadata before containers, images before all else of them, and the rest of the spec after them",
			`{"metadata": {"labels": {"z": "1"}}, "spec": {"activeDeadlineSeconds": 1, "containers": [{"name": "a", "args": ["1"], "image": "1"}]}}`,
			`{"metadata": {"labels": {"z": "2"}}, "spec": {"activeDeadlineSeconds": 2, "containers": [{"name": "a", "args": ["2"], "image": "2"}]}}`,
			[]string{"metadata.labels[z]: 1 -> 2", "spec.containers[a].image: 1 -> 2", "spec.containers[a].args: changed, values not shown",
				"spec.activeDeadlineSeconds: 1 -> 2"}},
		{"hide the value of a variable", ofContainer(`"env": [{"name": "DB_PASSWORD", "value": "old"}]`), ofContainer(`"env": [{"name": "DB_PASSWORD", "value": "new"}]`),
			[]string{"spec.containers[app].env[DB_PASSWORD].value: changed, value not shown"}},
		{"tell that a variable came and another went", ofContainer(`"env": [{"name": "A", "value": "a"}]`), ofContainer(`"env": [{"name": "B", "value": "b"}]`),
			[]string{"spec.containers[app].env[B]: added", "spec.containers[app].env[A]: removed"}},
		{"tell where a variable comes from instead", ofContainer(`"env": [{"name": "A", "value": "a"}]`),
			ofContainer(`"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "db", "key": "password"}}}]`),
			[]string{
				"spec.containers[app].env[A].value: removed, value not shown",
				"spec.containers[app].env[A].valueFrom.secretKeyRef.key: added password",
				"spec.containers[app].env[A].valueFrom.secretKeyRef.name: added db",
			}},
		{"have one line for a list of texts", ofContainer(`"args": ["a", "b"], "command": ["c"]`), ofContainer(`"args": ["a", "c"], "workingDir": "/"`),
			[]string{"spec.containers[app].args: changed, values not shown", "spec.containers[app].command: removed, values not shown",
				"spec.containers[app].workingDir: added, value not shown"}},
		{"have one line for a list that became empty", ofContainer(`"args": ["a"]`), ofContainer(`"args": []`),
			[]string{"spec.containers[app].args: changed, values not shown"}},
		{"match ports by their number", ofContainer(`"ports": [{"containerPort": 80, "name": "http"}, {"containerPort": 81}]`),
			ofContainer(`"ports": [{"containerPort": 8080}, {"containerPort": 80, "name": "web", "hostIP": "10.0.0.1"}]`),
			[]string{"spec.containers[app].ports[8080]: added", "spec.containers[app].ports[80].hostIP: added, value not shown",
				"spec.containers[app].ports[80].name: http -> web", "spec.containers[app].ports[81]: removed"}},
		{"match ports by their position where a number occurs twice", ofContainer(`"ports": [{"containerPort": 53, "protocol": "TCP"}]`),
			ofContainer(`"ports": [{"containerPort": 54, "protocol": "TCP"}, {"containerPort": 54, "protocol": "UDP"}]`),
			[]string{"spec.containers[app].ports[0].containerPort: 53 -> 54", "spec.containers[app].ports[1]: added"}},
		{"match elements by their position where one has no name", ofSpec(`"tolerations": [{"key": "gpu", "operator": "Exists"}]`),
			ofSpec(`"tolerations": [{"operator": "Exists"}]`), []string{"spec.tolerations[0].key: removed (was gpu)"}},
		{"match elements by their position where a name is none", ofSpec(`"volumes": [{"name": {"a": "s3cr3t"}}]`), ofSpec(`"volumes": [{"name": ["s3cr3t"]}]`),
			[]string{"spec.volumes[0].name: changed, values not shown"}},
		{"match what is mounted by where", ofContainer(`"volumeMounts": [{"mountPath": "/a", "name": "data"}]`),
			ofContainer(`"volumeMounts": [{"mountPath": "/a", "name": "other", "subPath": "x"}]`),
			[]string{"spec.containers[app].volumeMounts[/a].name: data -> other", "spec.containers[app].volumeMounts[/a].subPath: added, value not shown"}},
		{"match devices by their path", ofContainer(`"volumeDevices": [{"devicePath": "/dev/a", "name": "data"}]`),
			ofContainer(`"volumeDevices": [{"devicePath": "/dev/a", "name": "other"}]`),
			[]string{"spec.containers[app].volumeDevices[/dev/a].name: data -> other"}},
		{"match elements of every list by its own key",
			ofSpec(`"volumes": [{"name": "data"}], "imagePullSecrets": [{"name": "a"}], "tolerations": [{"key": "gpu", "value": "a", "effect": "NoSchedule"}],
				"hostAliases": [{"ip": "10.0.0.1", "hostnames": ["a"]}], "topologySpreadConstraints": [{"topologyKey": "zone", "maxSkew": 1}],
				"readinessGates": [{"conditionType": "a"}], "x": {"matchLabels": {"app": "a"}}`),
			ofSpec(`"volumes": [], "imagePullSecrets": [{"name": "b"}], "tolerations": [{"key": "gpu", "value": "b", "effect": "NoExecute"}],
				"hostAliases": [{"ip": "10.0.0.1", "hostnames": ["b"]}], "topologySpreadConstraints": [{"topologyKey": "zone", "maxSkew": 2}],
				"readinessGates": [{"conditionType": "b"}], "x": {"matchLabels": {"app": "b"}}`),
			[]string{
				"spec.hostAliases[10.0.0.1].hostnames: changed, values not shown",
				"spec.imagePullSecrets[b]: added", "spec.imagePullSecrets[a]: removed",
				"spec.readinessGates[b]: added", "spec.readinessGates[a]: removed",
				"spec.tolerations[gpu].effect: NoSchedule -> NoExecute", "spec.tolerations[gpu].value: changed, value not shown",
				"spec.topologySpreadConstraints[zone].maxSkew: 1 -> 2",
				"spec.volumes[data]: removed",
				"spec.x.matchLabels[app]: changed, value not shown",
			}},
		{"name what a volume refers to", ofSpec(`"volumes": [{"name": "conf", "configMap": {"name": "a", "items": [{"key": "k", "path": "a"}]}}]`),
			ofSpec(`"volumes": [{"name": "conf", "configMap": {"name": "b", "items": [{"key": "k", "path": "b"}]}}]`),
			[]string{"spec.volumes[conf].configMap.items[k].path: changed, value not shown", "spec.volumes[conf].configMap.name: a -> b"}},
		{"tell of another kind of volume", ofSpec(`"volumes": [{"name": "data", "emptyDir": {}}]`),
			ofSpec(`"volumes": [{"name": "data", "csi": {"driver": "d", "volumeAttributes": {"share": "x"}}}]`),
			[]string{"spec.volumes[data].csi.driver: added d", "spec.volumes[data].csi.volumeAttributes[share]: added, value not shown",
				"spec.volumes[data].emptyDir: removed"}},
		{"show the numbers of probes and hide what they send", ofContainer(`"livenessProbe": {"periodSeconds": 10, "httpGet": {"port": 80, "path": "/a"}}`),
			ofContainer(`"livenessProbe": {"periodSeconds": 5, "httpGet": {"port": "web", "path": "/b", "httpHeaders": [{"name": "Authorization", "value": "x"}]}}`),
			[]string{"spec.containers[app].livenessProbe.httpGet.httpHeaders[Authorization]: added",
				"spec.containers[app].livenessProbe.httpGet.path: changed, value not shown",
				"spec.containers[app].livenessProbe.httpGet.port: 80 -> web", "spec.containers[app].livenessProbe.periodSeconds: 10 -> 5"}},
		{"hide the value of a probe's header", ofContainer(`"startupProbe": {"httpGet": {"httpHeaders": [{"name": "Authorization", "value": "x"}]}}`),
			ofContainer(`"startupProbe": {"httpGet": {"httpHeaders": [{"name": "Authorization", "value": "y"}]}}`),
			[]string{"spec.containers[app].startupProbe.httpGet.httpHeaders[Authorization].value: changed, value not shown"}},
		{"hide what a hook runs and show how long it sleeps", ofContainer(`"lifecycle": {"preStop": {"exec": {"command": ["a"]}, "sleep": {"seconds": 5}}}`),
			ofContainer(`"lifecycle": {"preStop": {"exec": {"command": ["b"]}, "sleep": {"seconds": 9}}}`),
			[]string{"spec.containers[app].lifecycle.preStop.exec.command: changed, values not shown",
				"spec.containers[app].lifecycle.preStop.sleep.seconds: 5 -> 9"}},
		{"tell of a field that our types don't know and hide its value", ofSpec(`"fieldOfTomorrow": [{"name": "x"}]`), ofSpec(`"fieldOfTomorrow": [{"name": "y"}, {}]`),
			[]string{"spec.fieldOfTomorrow[0].name: changed, value not shown", "spec.fieldOfTomorrow[1]: added"}},
		{"tell that a value became another type", ofContainer(`"image": "a", "env": "b", "tty": true, "resources": 1`),
			ofContainer(`"image": {"a": "s3cr3t"}, "env": ["s3cr3t"], "tty": null, "resources": []`),
			[]string{"spec.containers[app].image: changed, value not shown", "spec.containers[app].env: changed, values not shown",
				"spec.containers[app].resources: changed, values not shown", "spec.containers[app].tty: true -> null"}},
		{"tell that a value that is shown was another type", ofContainer(`"image": {"a": "s3cr3t"}, "tty": ["s3cr3t"]`), ofContainer(`"image": "a", "tty": true`),
			[]string{"spec.containers[app].image: changed, value not shown", "spec.containers[app].tty: changed, values not shown"}},
		{"tell that a shown number became a text", ofContainer(`"livenessProbe": {"tcpSocket": {"port": 80}}`), ofContainer(`"livenessProbe": {"tcpSocket": {"port": "80"}}`),
			[]string{"spec.containers[app].livenessProbe.tcpSocket.port: changed, value not shown"}},
		{"tell that an empty object came and another went", ofSpec(`"securityContext": {}`), ofSpec(`"affinity": {}, "x": []`),
			[]string{"spec.affinity: added", "spec.securityContext: removed", "spec.x: added"}},
		{"are shown for a template that was null", `null`, `{"spec": {"hostname": null}}`, []string{"spec.hostname: added, value not shown"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			old, updated := parsed(t, row.old), parsed(t, row.updated)
			g.Expect(Changes(old, updated)).To(HaveExactElements(row.lines))
			g.Expect(Changes(old, old)).To(BeNil())
			g.Expect(Changes(updated, updated)).To(BeNil())
			g.Expect(old).To(Equal(parsed(t, row.old)), "the templates stay as they are")
			g.Expect(updated).To(Equal(parsed(t, row.updated)), "the templates stay as they are")
		})
	}
}

func TestChangesAreNone(t *testing.T) {
	for _, row := range []struct{ name, old, updated string }{
		{"between templates that are the same", sleep.Manifest, sleep.Manifest},
		{"between no templates", `null`, `{}`},
		{"by another order of keys", ofSpec(`"a": 1, "b": 2`), ofSpec(`"b": 2, "a": 1`)},
		{"by another spelling of a number", ofSpec(`"a": 30, "b": [1]`), ofSpec(`"a": 30.0, "b": [1.0]`)},
	} {
		t.Run(row.name, func(t *testing.T) {
			NewWithT(t).Expect(Changes(parsed(t, row.old), parsed(t, row.updated))).To(BeNil())
		})
	}
}

func TestChangesCompareTheNumbersOfEveryDecoder(t *testing.T) {
	g := NewWithT(t)
	whole := Template{"spec": map[string]any{"activeDeadlineSeconds": int64(10000000), "priority": int64(1)}}
	float := Template{"spec": map[string]any{"activeDeadlineSeconds": float64(10000000), "priority": float64(10000000)}}
	g.Expect(Changes(whole, float)).To(HaveExactElements("spec.priority: 1 -> 10000000"))
	g.Expect(Changes(float, whole)).To(HaveExactElements("spec.priority: 10000000 -> 1"))
}

// labels returns the given number of labels with the value.
func labels(count int, value string) string {
	var entries []string
	for i := range count {
		entries = append(entries, fmt.Sprintf(`"l%03d": %q`, i, value))
	}
	return ofMetadata(`"labels": {` + strings.Join(entries, ",") + `}`)
}

func TestChangesHave32LinesAtMost(t *testing.T) {
	g := NewWithT(t)
	all := Changes(parsed(t, labels(32, "a")), parsed(t, labels(32, "b")))
	g.Expect(all).To(HaveLen(32))
	g.Expect(all[31]).To(Equal("metadata.labels[l031]: a -> b"))
	some := Changes(parsed(t, labels(33, "a")), parsed(t, labels(33, "b")))
	g.Expect(some).To(HaveLen(32))
	g.Expect(some[30]).To(Equal("metadata.labels[l030]: a -> b"))
	g.Expect(some[31]).To(Equal("and 2 more changes"))
	g.Expect(Changes(parsed(t, labels(500, "a")), parsed(t, labels(500, "b")))[31]).To(Equal("and 469 more changes"))
}

func TestChangesHave200CharactersInALineAtMost(t *testing.T) {
	image := func(text string) Template { return parsed(t, ofContainer(fmt.Sprintf(`"image": %q`, text))) }
	const start = "spec.containers[app].image: a -> " // 33 characters
	for _, row := range []struct {
		name, image, line string
	}{
		{"which are kept", strings.Repeat("x", 167), start + strings.Repeat("x", 167)},
		{"of which the last then ends with an ellipsis", strings.Repeat("x", 168), start + strings.Repeat("x", 166) + "…"},
		{"whatever their bytes", strings.Repeat("ü", 167), start + strings.Repeat("ü", 167)},
		{"and none is cut in two", strings.Repeat("ü", 1000), start + strings.Repeat("ü", 166) + "…"},
	} {
		t.Run(row.name, func(t *testing.T) {
			NewWithT(t).Expect(Changes(image("a"), image(row.image))).To(HaveExactElements(row.line))
		})
	}
	t.Run("and so has one with a long path", func(t *testing.T) {
		key := strings.Repeat("x", 1000)
		lines := Changes(nil, parsed(t, ofSpec(`"`+key+`": {"`+key+`": "s3cr3t"}`)))
		NewWithT(t).Expect(lines).To(HaveExactElements("spec[" + strings.Repeat("x", 194) + "…"))
	})
	t.Run("and values that differ beyond what it holds are not shown", func(t *testing.T) {
		long := strings.Repeat("x", 200)
		NewWithT(t).Expect(Changes(image(long+"a"), image(long+"b"))).To(HaveExactElements("spec.containers[app].image: changed, value not shown"))
	})
}

func TestChangesQuoteWhatWouldBreakALine(t *testing.T) {
	for _, row := range []struct {
		name, old, updated, line string
	}{
		{"a line break in a value", ofContainer(`"image": "a"`), ofContainer(`"image": "b\nspec.hostPID: added"`),
			`spec.containers[app].image: a -> "b\nspec.hostPID: added"`},
		{"a value that looks like two", ofContainer(`"image": "a"`), ofContainer(`"image": "b -> c"`), `spec.containers[app].image: a -> "b -> c"`},
		{"an escape sequence in a value", ofContainer(`"image": "a"`), ofContainer(`"image": "\u001b[31m"`), `spec.containers[app].image: a -> "\x1b[31m"`},
		{"a sign that turns the direction of writing", ofContainer(`"image": "a"`), ofContainer(`"image": "\u202eb"`), `spec.containers[app].image: a -> "\u202eb"`},
		{"a line break in a key", `{}`, ofMetadata(`"annotations": {"a\nb": "c"}`), `metadata.annotations["a\nb"]: added, value not shown`},
		{"a bracket in a name", ofContainers(``), ofContainers(`{"name": "a].image:b"}`), `spec.containers["a].image:b"]: added`},
		{"an opening bracket in a name", ofContainers(``), ofContainers(`{"name": "a[b"}`), `spec.containers["a[b"]: added`},
		{"a quotation mark", ofContainer(`"image": "a"`), ofContainer(`"image": "\"a"`), `spec.containers[app].image: a -> "\"a"`},
		{"no name of another language", ofContainers(``), ofContainers(`{"name": "übung"}`), `spec.containers[übung]: added`},
		{"an empty name", ofContainers(``), ofContainers(`{"name": ""}`), `spec.containers[""]: added`},
		{"an empty value", ofContainer(`"image": ""`), ofContainer(`"image": "a"`), `spec.containers[app].image: "" -> a`},
	} {
		t.Run(row.name, func(t *testing.T) {
			NewWithT(t).Expect(Changes(parsed(t, row.old), parsed(t, row.updated))).To(HaveExactElements(row.line))
		})
	}
}

func TestChangesCompareAsAWholeBelowSomeDepth(t *testing.T) {
	g := NewWithT(t)
	deep := func(depth int, value string) Template {
		return parsed(t, strings.Repeat(`{"a":`, depth)+value+strings.Repeat("}", depth))
	}
	g.Expect(Changes(deep(16, "1"), deep(16, "2"))).To(HaveExactElements(strings.Repeat("a.", 15) + "a: changed, value not shown"))
	g.Expect(Changes(deep(5000, "1"), deep(5000, "2"))).To(HaveExactElements(strings.Repeat("a.", 15) + "a: changed, value not shown"))
	g.Expect(Changes(nil, deep(5000, "1"))).To(HaveExactElements(strings.Repeat("a.", 15) + "a: added, value not shown"))
	g.Expect(Changes(deep(5000, "1"), deep(5000, "1"))).To(BeNil())
}

// Places are built for everything that changed, even beyond the limit of lines.
func TestPlaceTakesUpLittleMemory(t *testing.T) {
	g := NewWithT(t)
	deep := place{}
	for range 16 {
		deep = deep.field(strings.Repeat("x", 60)).element(strings.Repeat("x", 1000)).field(strings.Repeat("\n", 1000))
	}
	g.Expect(utf8.RuneCountInString(deep.path)).To(Equal(200))
	g.Expect(utf8.RuneCountInString(deep.pattern)).To(Equal(200))
}

func FuzzTheChangesOfATemplate(f *testing.F) {
	for _, seed := range [][2]string{
		{sleep.Manifest, `{}`}, {`null`, `{"spec":null}`}, {ofContainer(`"image":"a"`), ofContainer(`"image":"b\n"`)},
		{ofContainers(`{"name":"a"},{"name":"b"}`), ofContainers(`{"name":"b"},{"name":"a"}`)},
		{ofContainer(`"ports":[{"containerPort":80}]`), ofContainer(`"ports":[{"containerPort":80.0},{"containerPort":"80"}]`)},
		{ofSpec(`"":[[{}]]`), ofSpec(`"":[[{"":1e99}]]`)}, {ofMetadata(`"labels":[]`), ofMetadata(`"labels":{}`)},
	} {
		f.Add([]byte(seed[0]), []byte(seed[1]))
	}
	f.Fuzz(func(t *testing.T, oldRaw, updatedRaw []byte) {
		var old, updated map[string]any
		if json.Unmarshal(oldRaw, &old) != nil || json.Unmarshal(updatedRaw, &updated) != nil {
			return
		}
		lines := Changes(old, updated)
		if len(lines) > 32 || (len(lines) == 0) != same(old, updated) {
			t.Errorf("%d lines tell of the changes from %s to %s", len(lines), oldRaw, updatedRaw)
		}
		if len(lines) != len(Changes(updated, old)) || Changes(old, old) != nil {
			t.Errorf("there and back is not the same way from %s to %s", oldRaw, updatedRaw)
		}
		for _, line := range lines {
			isHidden := func(char rune) bool { return !strconv.IsPrint(char) }
			if utf8.RuneCountInString(line) > 200 || !utf8.ValidString(line) || strings.ContainsFunc(line, isHidden) {
				t.Errorf("a line can't be read: %q", line)
			}
		}
	})
}

func TestPartChanges(t *testing.T) {
	template := func(image string) map[string]any {
		return map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "a", "image": image}}}}
	}
	NewWithT(t).Expect(PartChanges([]Part{
		{Keys: []string{"metadata", "annotations", "example.com/step"}, Old: "one", Updated: "two"},
		{Keys: []string{"spec", "leaderTemplate"}, Old: template("a:1"), Updated: template("a:2")},
		{Keys: []string{"spec", "nodes"}, Old: []any{map[string]any{"ip": "10.0.0.1"}}, Updated: []any{map[string]any{"ip": "10.0.0.1"}, map[string]any{"ip": "10.0.0.2"}}},
		{Keys: []string{"spec", "timeZone"}, Updated: "Asia/Shanghai"},
		{Keys: []string{"spec", "unchanged"}, Old: "x", Updated: "x"},
		{Keys: []string{"spec", "workerTemplate"}, Old: template("a:1")},
	})).To(Equal([]string{
		"metadata.annotations[example.com/step]: changed, value not shown",
		"spec.leaderTemplate.spec.containers[a].image: a:1 -> a:2",
		"spec.nodes[1]: added",
		"spec.timeZone: added, value not shown",
		"spec.workerTemplate.spec.containers[a]: removed, image a:1",
	}))
}
