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
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// namespace is the operator's in the manifests; in the chart it is the release's.
const namespace = "altershieldoperator-system"

// settings are the strings that values stand in for, each behind the key of its map.
func settings() map[string]string {
	return map[string]string{
		"app.kubernetes.io/managed-by: kustomize": ".Release.Service",
		"secretName: altershield-token":           ".Values.server.tokenSecret.name",
		"secretName: callback-server-cert":        ".Values.callback.tlsSecret",
	}
}

// flags are the manager's whose values, or the ends of them, are values of the chart.
func flags() map[string]string {
	return map[string]string{
		"--altershield-address=":                                 ".Values.server.address",
		"--altershield-platform=":                                ".Values.server.platform",
		"--altershield-cluster=":                                 ".Values.server.cluster",
		"--altershield-token-file=/var/run/secrets/altershield/": ".Values.server.tokenSecret.key",
	}
}

// parametrize lets the chart's values decide about a part, and adds the conditions of its kind.
func parametrize(p part) (part, error) {
	p.Object, _ = replace("", p.Object).(map[string]any)
	var err error
	switch p.GetKind() {
	case "CustomResourceDefinition":
		// Part of the release, so that an upgrade changes it, but never deleted with it: all ChangeWorkloads would go, too.
		err = set(p.Object, "keep", "metadata", "annotations", "helm.sh/resource-policy")
		p.conditions = append(p.conditions, ".Values.crds.enabled")
	case "Deployment":
		err = parametrizeDeployment(p.Unstructured)
	case "PodDisruptionBudget":
		// It would keep the node of an only replica from being drained.
		p.conditions = append(p.conditions, "gt (int .Values.replicas) 1")
	case "NetworkPolicy":
		p, err = parametrizeNetworkPolicy(p)
	case "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration":
		for _, element := range list(p.Object, "webhooks") {
			if webhook, isMap := element.(map[string]any); isMap {
				webhook["failurePolicy"] = value(".Values.webhook.failurePolicy")
			}
		}
		err = set(p.Object, optional(`include "altershield-operator.webhookAnnotations" . | fromYaml`), "metadata", "annotations")
	case "ConfigMap":
		err = set(p.Object, nil, "metadata", "labels", more(".Values.dashboard.labels"))
		p.conditions = append(p.conditions, ".Values.dashboard.enabled")
	case "ServiceMonitor":
		err = set(p.Object, nil, "metadata", "labels", more(".Values.serviceMonitor.labels"))
		p.conditions = append(p.conditions, ".Values.serviceMonitor.enabled")
	case "PrometheusRule":
		err = set(p.Object, nil, "metadata", "labels", more(".Values.prometheusRule.labels"))
		p.conditions = append(p.conditions, ".Values.prometheusRule.enabled")
	}
	if err != nil {
		return part{}, fmt.Errorf("%s %s: %w", p.GetKind(), p.GetName(), err)
	}
	return p, nil
}

func parametrizeNetworkPolicy(p part) (part, error) {
	p.conditions = append(p.conditions, ".Values.networkPolicy.enabled")
	switch p.GetName() {
	case "altershieldoperator-default-deny":
		// In a namespace that isn't the operator's own it would cut off others.
		p.conditions = append(p.conditions, `eq .Release.Namespace "`+namespace+`"`)
	case "altershieldoperator-allow-server":
		toServer := map[string]any{"ports": []any{map[string]any{"port": value(".Values.networkPolicy.serverPort")}}}
		return p, set(p.Object, []any{toServer}, "spec", "egress")
	}
	return p, nil
}

func parametrizeDeployment(object *unstructured.Unstructured) error {
	opened, err := openDeployment(object)
	if err != nil {
		return err
	}
	for _, field := range []string{"nodeSelector", "tolerations", "affinity", "topologySpreadConstraints", "priorityClassName"} {
		opened.pod[field] = optional(".Values." + field)
	}
	opened.pod["imagePullSecrets"] = optional(".Values.image.pullSecrets")

	manager := opened.manager
	manager["image"] = value(`include "altershield-operator.image" .`)
	manager["imagePullPolicy"] = value(".Values.image.pullPolicy")
	manager["resources"] = optional(".Values.resources")
	manager["env"] = optional(".Values.env")
	manager["args"] = append(list(manager, "args"), more(`include "altershield-operator.args" . | fromYamlArray`), more(".Values.extraArgs"))

	return errors.Join(
		set(object.Object, value(".Values.replicas"), "spec", "replicas"),
		set(opened.template, nil, "metadata", "labels", more(".Values.podLabels")),
		set(opened.template, nil, "metadata", "annotations", more(".Values.podAnnotations")),
	)
}

// set puts a value where a path leads; maps that the path lacks are made.
func set(object map[string]any, value any, path ...string) error {
	return unstructured.SetNestedField(object, value, path...)
}

// replace puts values in the place of single strings in a tree, which is what stands behind the key.
func replace(key string, tree any) any {
	switch tree := tree.(type) {
	case map[string]any:
		for key, child := range tree {
			tree[key] = replace(key, child)
		}
	case []any:
		for i, child := range tree {
			tree[i] = replace(key, child)
		}
	case string:
		return replaceString(key, tree)
	}
	return tree
}

func replaceString(key, text string) string {
	if expression, found := settings()[key+": "+text]; found {
		return value(expression)
	}
	for flag, expression := range flags() {
		if strings.HasPrefix(text, flag) {
			return value(fmt.Sprintf(`printf "%s%%s" %s | quote`, flag, expression))
		}
	}
	return strings.ReplaceAll(text, namespace, value(".Release.Namespace"))
}
