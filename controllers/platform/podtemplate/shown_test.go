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
	"encoding/json"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

const secret = "s3cr3t"

// fill sets every field of the type, and gives every list two equal elements, so that nothing identifies them.
func fill(t *testing.T, value reflect.Value) {
	t.Helper()
	switch known := value.Addr().Interface().(type) {
	case *resource.Quantity:
		*known = resource.MustParse("1")
		return
	case *intstr.IntOrString:
		*known = intstr.FromInt32(1)
		return
	case *metav1.Time:
		*known = metav1.NewTime(time.Unix(1, 0))
		return
	case *metav1.FieldsV1:
		return
	}
	switch value.Kind() {
	case reflect.String:
		value.SetString(secret)
	case reflect.Bool:
		value.SetBool(true)
	case reflect.Int32, reflect.Int64:
		value.SetInt(1)
	case reflect.Pointer:
		value.Set(reflect.New(value.Type().Elem()))
		fill(t, value.Elem())
	case reflect.Slice:
		value.Set(reflect.MakeSlice(value.Type(), 2, 2))
		fill(t, value.Index(0))
		fill(t, value.Index(1))
	case reflect.Map:
		entry := reflect.New(value.Type().Elem()).Elem()
		fill(t, entry)
		value.Set(reflect.MakeMap(value.Type()))
		value.SetMapIndex(reflect.ValueOf("key").Convert(value.Type().Key()), entry)
	case reflect.Struct:
		for i := range value.NumField() {
			fill(t, value.Field(i))
		}
	default:
		t.Fatalf("no value is known for a %s", value.Type())
	}
}

// fullTemplate has the text s3cr3t wherever a pod template can have a value, now or in the future.
func fullTemplate(t *testing.T) map[string]any {
	t.Helper()
	var typed corev1.PodTemplateSpec
	fill(t, reflect.ValueOf(&typed).Elem())
	raw, err := json.Marshal(typed)
	if err != nil {
		t.Fatal(err)
	}
	result := parsed(t, string(raw))
	at(result, "spec")["fieldOfTomorrow"] = map[string]any{"image": "x", "name": "x"}
	at(result, "spec")["containers.image"] = "x"
	at(result, "spec")["listOfTomorrow"] = []any{map[string]any{"image": "x", "name": "x", "": "x"}}
	at(result, "metadata")["containers"] = []any{map[string]any{"image": "x", "name": "x"}}
	at(result, "fieldOfTomorrow", "containers")["image"] = "x"
	return everywhere(map[string]any(result)).(map[string]any)
}

// everywhere replaces every value that is no object and no list by s3cr3t.
func everywhere(node any) any {
	switch node := node.(type) {
	case map[string]any:
		for key := range node {
			node[key] = everywhere(node[key])
		}
		return node
	case []any:
		for i := range node {
			node[i] = everywhere(node[i])
		}
		return node
	default:
		return secret
	}
}

// leaf is a value of an object that is itself no object and no list of objects.
type leaf struct {
	object map[string]any
	key    string
	value  any
}

// leavesOf considers only the first element of each list.
func leavesOf(node any) []leaf {
	if elements, _ := elementsOf(node); len(elements) > 0 {
		return leavesOf(elements[0])
	}
	object, isObject := node.(map[string]any)
	if !isObject {
		return nil
	}
	var leaves []leaf
	for key, value := range object {
		leaves = append(leaves, leavesOf(value)...)
		elements, _ := elementsOf(value)
		if _, isObject := value.(map[string]any); !isObject && len(elements) == 0 {
			leaves = append(leaves, leaf{object, key, value})
		}
	}
	return leaves
}

// shownFields returns all fields of a pod template whose values are shown.
func shownFields() []string {
	container := strings.Fields(`
		env[].name env[].valueFrom.configMapKeyRef.key env[].valueFrom.configMapKeyRef.name env[].valueFrom.configMapKeyRef.optional
		env[].valueFrom.secretKeyRef.key env[].valueFrom.secretKeyRef.name env[].valueFrom.secretKeyRef.optional
		envFrom[].configMapRef.name envFrom[].configMapRef.optional envFrom[].secretRef.name envFrom[].secretRef.optional
		image imagePullPolicy lifecycle.postStart.httpGet.httpHeaders[].name lifecycle.postStart.sleep.seconds
		lifecycle.preStop.httpGet.httpHeaders[].name lifecycle.preStop.sleep.seconds name
		ports[].containerPort ports[].hostPort ports[].name ports[].protocol
		resources.claims[].name resources.limits[key] resources.requests[key] restartPolicy
		securityContext.allowPrivilegeEscalation securityContext.appArmorProfile.type securityContext.privileged
		securityContext.procMount securityContext.readOnlyRootFilesystem securityContext.runAsGroup securityContext.runAsNonRoot
		securityContext.runAsUser securityContext.seccompProfile.type securityContext.windowsOptions.hostProcess
		stdin stdinOnce terminationMessagePolicy tty volumeDevices[].devicePath volumeDevices[].name
		volumeMounts[].mountPath volumeMounts[].mountPropagation volumeMounts[].name volumeMounts[].readOnly`)
	for _, probe := range []string{"livenessProbe.", "readinessProbe.", "startupProbe."} {
		for _, field := range strings.Fields(`
			failureThreshold grpc.port httpGet.httpHeaders[].name httpGet.port httpGet.scheme initialDelaySeconds periodSeconds
			successThreshold tcpSocket.port terminationGracePeriodSeconds timeoutSeconds`) {
			container = append(container, probe+field)
		}
	}
	fields := strings.Fields(`
		metadata.labels[key]
		spec.activeDeadlineSeconds spec.automountServiceAccountToken spec.dnsConfig.options[].name spec.dnsPolicy
		spec.enableServiceLinks spec.hostAliases[].ip spec.hostIPC spec.hostNetwork spec.hostPID spec.hostUsers
		spec.imagePullSecrets[].name spec.nodeName spec.nodeSelector[key] spec.os.name spec.overhead[key]
		spec.preemptionPolicy spec.priority spec.priorityClassName spec.readinessGates[].conditionType
		spec.resourceClaims[].name spec.resources.limits[key] spec.resources.requests[key] spec.restartPolicy
		spec.runtimeClassName spec.schedulerName spec.schedulingGates[].name spec.securityContext.appArmorProfile.type
		spec.securityContext.fsGroup spec.securityContext.fsGroupChangePolicy spec.securityContext.runAsGroup
		spec.securityContext.runAsNonRoot spec.securityContext.runAsUser spec.securityContext.seccompProfile.type
		spec.securityContext.sysctls[].name spec.securityContext.windowsOptions.hostProcess spec.serviceAccount
		spec.serviceAccountName spec.setHostnameAsFQDN spec.shareProcessNamespace spec.terminationGracePeriodSeconds
		spec.tolerations[].effect spec.tolerations[].key spec.tolerations[].operator spec.tolerations[].tolerationSeconds
		spec.topologySpreadConstraints[].maxSkew spec.topologySpreadConstraints[].minDomains
		spec.topologySpreadConstraints[].topologyKey spec.topologySpreadConstraints[].whenUnsatisfiable
		spec.volumes[].configMap.items[].key spec.volumes[].configMap.name spec.volumes[].configMap.optional
		spec.volumes[].csi.driver spec.volumes[].csi.nodePublishSecretRef.name spec.volumes[].csi.readOnly
		spec.volumes[].emptyDir.medium spec.volumes[].emptyDir.sizeLimit spec.volumes[].name
		spec.volumes[].persistentVolumeClaim.claimName spec.volumes[].persistentVolumeClaim.readOnly
		spec.volumes[].projected.sources[].configMap.items[].key spec.volumes[].projected.sources[].configMap.name
		spec.volumes[].projected.sources[].configMap.optional spec.volumes[].projected.sources[].secret.items[].key
		spec.volumes[].projected.sources[].secret.name spec.volumes[].projected.sources[].secret.optional
		spec.volumes[].secret.items[].key spec.volumes[].secret.optional spec.volumes[].secret.secretName`)
	for _, kind := range []string{"spec.containers[].", "spec.initContainers[].", "spec.ephemeralContainers[]."} {
		for _, field := range container {
			fields = append(fields, kind+field)
		}
	}
	return fields
}

// Each value is changed, removed and added separately, so that the limit of lines hides none.
func TestChangesShowValuesOnlyOfFieldsThatHoldNoSecrets(t *testing.T) {
	g := NewWithT(t)
	full, edited := Template(fullTemplate(t)), fullTemplate(t)
	leaves := leavesOf(edited)
	g.Expect(len(leaves)).To(BeNumerically(">", 500), "every field of a pod template is tried")
	position := regexp.MustCompile(`\[[0-9]+\]`)
	shown := map[string]bool{}
	for _, leaf := range leaves {
		leaf.object[leaf.key] = secret + "2"
		changed := Changes(full, edited)
		delete(leaf.object, leaf.key)
		lines := slices.Concat(changed, Changes(full, edited), Changes(edited, full))
		leaf.object[leaf.key] = leaf.value
		g.Expect(lines).To(HaveLen(3))
		path, text, _ := strings.Cut(lines[0], ": ")
		if strings.Contains(text, secret) {
			g.Expect(lines).To(HaveExactElements(path+": s3cr3t -> s3cr3t2", path+": removed (was s3cr3t)", path+": added s3cr3t"))
			shown[position.ReplaceAllString(path, "[]")] = true
			continue
		}
		g.Expect(lines).To(HaveExactElements(
			MatchRegexp(": changed, values? not shown$"), MatchRegexp(": removed, values? not shown$"), MatchRegexp(": added, values? not shown$")))
		g.Expect(strings.Join(lines, "")).NotTo(ContainSubstring(secret))
	}
	g.Expect(slices.Sorted(maps.Keys(shown))).To(HaveExactElements(slices.Sorted(slices.Values(shownFields()))))
}

func TestChangesShowNoSecretOfAnElementThatCameOrWent(t *testing.T) {
	for _, list := range []string{
		`"containers": [{"name": "x", "image": "x", "args": ["s3cr3t"], "env": [{"name": "x", "value": "s3cr3t"}]}]`,
		`"containers": [{"name": "x", "image": {"x": "s3cr3t"}}]`,
		`"volumes": [{"name": "x", "csi": {"volumeAttributes": {"x": "s3cr3t"}}}]`,
		`"fieldOfTomorrow": [{"name": "s3cr3t", "image": "s3cr3t"}]`,
		`"fieldOfTomorrow": [{"": "s3cr3t"}]`,
		`"containers": ["s3cr3t"]`, `"tolerations": [["s3cr3t"]]`, `"containers": {"s": "s3cr3t"}`, `"nodeSelector": ["s3cr3t"]`,
		`"nodeSelector": {"x": {"x": "s3cr3t"}}`,
	} {
		t.Run(list, func(t *testing.T) {
			g := NewWithT(t)
			with, without := parsed(t, ofSpec(list)), parsed(t, `{"spec": {}}`)
			g.Expect(Changes(with, without)).To(HaveLen(1))
			g.Expect(Changes(without, with)).To(HaveLen(1))
			g.Expect(Changes(with, without)[0] + Changes(without, with)[0]).NotTo(ContainSubstring("s3cr3t"))
		})
	}
}
