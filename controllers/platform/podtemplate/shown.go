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
)

// maxLine is the maximum number of characters of a line, and of a path or value in it.
const maxLine = 200

// Only the lists below decide which values users can read. Add a field only if it can't hold a secret.

// isShown reports whether the values of a field are shown. The identity of a list element is in the path anyway.
func isShown(pattern string) bool {
	if end := strings.LastIndex(pattern, "[]."); end >= 0 && pattern[end+len("[]."):] == mergeKey(pattern[:end]) {
		return true
	}
	if field, found := strings.CutPrefix(pattern, "spec.containers[]."); found {
		return isShownOfContainer(field)
	}
	if field, found := strings.CutPrefix(pattern, "spec.volumes[]."); found {
		return isShownOfVolume(field)
	}
	switch pattern {
	case "metadata.labels[]",
		"spec.activeDeadlineSeconds", "spec.automountServiceAccountToken", "spec.dnsPolicy", "spec.enableServiceLinks",
		"spec.hostIPC", "spec.hostNetwork", "spec.hostPID", "spec.hostUsers", "spec.nodeName", "spec.nodeSelector[]",
		"spec.os.name", "spec.overhead[]", "spec.preemptionPolicy", "spec.priority", "spec.priorityClassName",
		"spec.resources.limits[]", "spec.resources.requests[]", "spec.restartPolicy", "spec.runtimeClassName",
		"spec.schedulerName", "spec.serviceAccount", "spec.serviceAccountName", "spec.setHostnameAsFQDN",
		"spec.shareProcessNamespace", "spec.terminationGracePeriodSeconds",
		"spec.securityContext.appArmorProfile.type", "spec.securityContext.fsGroup",
		"spec.securityContext.fsGroupChangePolicy", "spec.securityContext.runAsGroup",
		"spec.securityContext.runAsNonRoot", "spec.securityContext.runAsUser",
		"spec.securityContext.seccompProfile.type", "spec.securityContext.windowsOptions.hostProcess",
		"spec.tolerations[].effect", "spec.tolerations[].operator", "spec.tolerations[].tolerationSeconds",
		"spec.topologySpreadConstraints[].maxSkew", "spec.topologySpreadConstraints[].minDomains",
		"spec.topologySpreadConstraints[].whenUnsatisfiable":
		return true
	default:
		return false
	}
}

func isShownOfContainer(field string) bool {
	switch field {
	case "image", "imagePullPolicy", "restartPolicy", "stdin", "stdinOnce", "terminationMessagePolicy", "tty",
		"env[].valueFrom.configMapKeyRef.key", "env[].valueFrom.configMapKeyRef.name",
		"env[].valueFrom.configMapKeyRef.optional", "env[].valueFrom.secretKeyRef.key",
		"env[].valueFrom.secretKeyRef.name", "env[].valueFrom.secretKeyRef.optional",
		"envFrom[].configMapRef.name", "envFrom[].configMapRef.optional",
		"envFrom[].secretRef.name", "envFrom[].secretRef.optional",
		"lifecycle.*.sleep.seconds",
		"ports[].hostPort", "ports[].name", "ports[].protocol",
		"*Probe.failureThreshold", "*Probe.grpc.port", "*Probe.httpGet.port", "*Probe.httpGet.scheme",
		"*Probe.initialDelaySeconds", "*Probe.periodSeconds", "*Probe.successThreshold", "*Probe.tcpSocket.port",
		"*Probe.terminationGracePeriodSeconds", "*Probe.timeoutSeconds",
		"resources.limits[]", "resources.requests[]",
		"securityContext.allowPrivilegeEscalation", "securityContext.appArmorProfile.type",
		"securityContext.privileged", "securityContext.procMount", "securityContext.readOnlyRootFilesystem",
		"securityContext.runAsGroup", "securityContext.runAsNonRoot", "securityContext.runAsUser",
		"securityContext.seccompProfile.type", "securityContext.windowsOptions.hostProcess",
		"volumeDevices[].name", "volumeMounts[].mountPropagation", "volumeMounts[].name", "volumeMounts[].readOnly":
		return true
	default:
		return false
	}
}

func isShownOfVolume(field string) bool {
	switch field {
	case "configMap.name", "configMap.optional", "csi.driver", "csi.nodePublishSecretRef.name", "csi.readOnly",
		"emptyDir.medium", "emptyDir.sizeLimit", "persistentVolumeClaim.claimName", "persistentVolumeClaim.readOnly",
		"projected.sources[].configMap.name", "projected.sources[].configMap.optional",
		"projected.sources[].secret.name", "projected.sources[].secret.optional",
		"secret.optional", "secret.secretName":
		return true
	default:
		return false
	}
}

// mergeKey returns the field that identifies an element of a list; empty if there is none.
func mergeKey(list string) string {
	switch list {
	case "spec.containers", "spec.dnsConfig.options", "spec.imagePullSecrets", "spec.resourceClaims",
		"spec.schedulingGates", "spec.securityContext.sysctls", "spec.volumes",
		"spec.containers[].env", "spec.containers[].lifecycle.*.httpGet.httpHeaders",
		"spec.containers[].*Probe.httpGet.httpHeaders", "spec.containers[].resources.claims":
		return "name"
	case "spec.containers[].ports":
		return "containerPort"
	case "spec.containers[].volumeDevices":
		return "devicePath"
	case "spec.containers[].volumeMounts":
		return "mountPath"
	case "spec.hostAliases":
		return "ip"
	case "spec.readinessGates":
		return "conditionType"
	case "spec.tolerations", "spec.volumes[].configMap.items", "spec.volumes[].secret.items",
		"spec.volumes[].projected.sources[].configMap.items", "spec.volumes[].projected.sources[].secret.items":
		return "key"
	case "spec.topologySpreadConstraints":
		return "topologyKey"
	default:
		return ""
	}
}

// isMap reports whether an object has keys that users choose.
func (p place) isMap() bool {
	switch p.pattern[strings.LastIndex(p.pattern, ".")+1:] {
	case "annotations", "labels", "limits", "matchLabels", "nodeSelector", "overhead", "requests", "volumeAttributes":
		return true
	default:
		return false
	}
}

// describe describes the change of a value as a whole.
func describe(at place, old, updated any) string {
	isReadable := isShown(at.pattern) && isScalar(old) && isScalar(updated)
	hidden := "value not shown"
	if isList(old) || isList(updated) {
		hidden = "values not shown"
	}
	switch {
	case old == absent{} && isReadable:
		return "added " + legible(text(updated))
	case updated == absent{} && isReadable:
		return "removed (was " + legible(text(old)) + ")"
	case old == absent{} || updated == absent{}:
		return presence(old) + ", " + hidden
	case isReadable && legible(text(old)) != legible(text(updated)): // equal texts may differ in their type, or beyond the cut
		return legible(text(old)) + " -> " + legible(text(updated))
	default:
		return "changed, " + hidden
	}
}

// presence describes the addition or removal of a value.
func presence(old any) string {
	if old == (absent{}) {
		return "added"
	}
	return "removed"
}

// imageOf returns the image of a container, for the line of its addition or removal.
func imageOf(list place, element map[string]any) string {
	image, isText := element["image"].(string)
	if list.pattern != "spec.containers" || !isText {
		return ""
	}
	return ", image " + legible(image)
}

// isScalar also reports true for an absent value.
func isScalar(value any) bool {
	_, isObject := value.(map[string]any)
	return !isObject && !isList(value)
}

func isList(value any) bool {
	_, isList := value.([]any)
	return isList
}

func isNumber(value any) bool {
	switch value.(type) {
	case int64, float64:
		return true
	default:
		return false
	}
}

func text(value any) string {
	switch value := value.(type) {
	case nil:
		return "null"
	case string:
		return value
	case float64:
		return strconv.FormatFloat(value, 'f', -1, 64)
	default:
		return fmt.Sprint(value)
	}
}

// legible quotes a text that would break its line or be ambiguous in it.
func legible(text string) string {
	text = cut(text)
	isUnclear := func(char rune) bool { return !strconv.IsPrint(char) || strings.ContainsRune(` "[]`, char) }
	if text == "" || strings.ContainsFunc(text, isUnclear) {
		return strconv.Quote(text)
	}
	return text
}

// cut shortens a text to the maximum of a line.
func cut(text string) string {
	count, last := 0, 0
	for at := range text {
		count++
		if count == maxLine {
			last = at
		}
		if count > maxLine {
			return text[:last] + "…"
		}
	}
	return text
}
