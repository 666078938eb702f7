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

// Package audit compares the requests of a user to a Kubernetes API server with the user's RBAC permissions.
package audit

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/traas-stack/altershield-operator/hack/permissions/grant"
)

const (
	// ownGroup is the API group of the operator.
	ownGroup = "app.ops.cloud.alipay.com"
	// admissionGroup is the API group of webhook configurations.
	admissionGroup        = "admissionregistration.k8s.io"
	webhookConfigurations = "mutatingwebhookconfigurations validatingwebhookconfigurations"
	// maxLine is the maximum length of a line in an audit log at level Metadata, in bytes.
	maxLine = 1 << 20
)

// Read returns the requests of one user in an audit log, which has a JSON event per line, in the order of the log. The log must have
// every request of that user, at least at level Metadata.
func Read(log io.Reader, user string) ([]auditv1.Event, error) {
	var found []auditv1.Event
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, maxLine)
	for number := 1; lines.Scan(); number++ {
		if !bytes.Contains(lines.Bytes(), []byte(user)) { // skips most lines without decoding them, which is slow
			continue
		}
		var event auditv1.Event
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			return nil, fmt.Errorf("reading line %d of the audit log: %w", number, err)
		}
		if event.User.Username == user {
			found = append(found, event)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("reading the audit log: %w", err)
	}
	return found, nil
}

// Forbidden returns a sentence for each kind of request that was answered with 403, with the number of times. It leaves out rejections
// because a namespace or a CustomResourceDefinition is being deleted, or the kind of an owner is so new that the admission plugin
// OwnerReferencesPermissionEnforcement doesn't know it yet: no permission would change these.
func Forbidden(requests []auditv1.Event) []string {
	counts := map[string]int{}
	for _, request := range requests {
		status := request.ResponseStatus
		if status == nil || status.Code != http.StatusForbidden || ending(status.Message) {
			continue
		}
		counts[fmt.Sprintf("%s was answered with 403: %s", describe(request), status.Message)]++
	}
	sentences := make([]string, 0, len(counts))
	for sentence, count := range counts {
		sentences = append(sentences, fmt.Sprintf("%s (%d times)", sentence, count))
	}
	slices.Sort(sentences)
	return sentences
}

func ending(message string) bool {
	return strings.Contains(message, "because it is being terminated") ||
		strings.Contains(message, "while custom resource definition is terminating") ||
		strings.Contains(message, "because cannot find RESTMapping for")
}

func describe(request auditv1.Event) string {
	object := request.ObjectRef
	if object == nil {
		return request.Verb + " " + request.RequestURI
	}
	asked := grant.Permission{Group: object.APIGroup, Resource: resource(object), Name: object.Name, Verb: request.Verb}.String()
	if object.Namespace != "" {
		asked += " in namespace " + object.Namespace
	}
	return asked
}

func resource(object *auditv1.ObjectReference) string {
	if object.Subresource == "" {
		return object.Resource
	}
	return object.Resource + "/" + object.Subresource
}

// Exception is a permission that is needed although the requests may not show it.
type Exception struct {
	grant.Permission
	// Reason is a sentence that explains it.
	Reason string
}

// excepted returns the permissions of rules as exceptions for one reason.
func excepted(reason string, rules ...rbacv1.PolicyRule) []Exception {
	var exceptions []Exception
	for _, rule := range rules {
		for _, permission := range grant.Permissions(rule) {
			exceptions = append(exceptions, Exception{permission, reason})
		}
	}
	return exceptions
}

// rule returns a rule of resources of a group; these and verbs are separated by spaces.
func rule(group, resources, verbs string, names ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: strings.Fields(resources), Verbs: strings.Fields(verbs), ResourceNames: names}
}

// Exceptions returns the permissions of the operator that its requests never show, or only by chance.
func Exceptions() []Exception {
	return slices.Concat(
		excepted("The admission plugin OwnerReferencesPermissionEnforcement requires it when an object with this owner is created.",
			rule("apps", "deployments/finalizers statefulsets/finalizers daemonsets/finalizers", "update"),
			rule("batch", "cronjobs/finalizers jobs/finalizers", "update"),
			rule(ownGroup, "changeworkloads/finalizers", "update")),
		excepted("It is used when a ChangePod left by a deleted release is in the way, and is neither deleted yet nor in the cache.",
			rule(ownGroup, "changepods", "delete")),
		excepted("It is used when a workload has had more than 100 releases, or after 90 days.",
			rule(ownGroup, "changerecords", "delete")))
}

// StreamedLists returns the permissions that only older API servers require: newer ones stream the first list of a watch.
func StreamedLists() []Exception {
	return excepted("API servers that don't stream the first list of a watch require it.",
		rule("", "namespaces pods secrets", "list"),
		rule("apps", "deployments statefulsets daemonsets replicasets", "list"),
		rule("batch", "cronjobs jobs", "list"),
		rule(ownGroup, "changeworkloads changepods changeverdicts opsconfiginfoes controlledkinds releasegates", "list"),
		rule("apiextensions.k8s.io", "customresourcedefinitions", "list"),
		rule(admissionGroup, webhookConfigurations, "list"))
}

// SelfManagedCertificate returns the permissions that the operator uses only if it issues the certificate of its webhooks itself.
func SelfManagedCertificate() []Exception {
	return excepted("It is used with --webhook-cert-secret.",
		rule("", "secrets", "update", "webhook-server-cert"),
		rule("", "secrets", "get list watch"),
		rule(admissionGroup, webhookConfigurations, "list watch"),
		rule(admissionGroup, "mutatingwebhookconfigurations", "update", "altershieldoperator-mutating-webhook-configuration"),
		rule(admissionGroup, "validatingwebhookconfigurations", "update", "altershieldoperator-validating-webhook-configuration"))
}

// Unused returns a sentence for each granted permission that was never used and is not an exception, and for each exception
// that is not granted.
func Unused(granted []grant.Grant, requests []auditv1.Event, exceptions []Exception) []string {
	var sentences []string
	for _, grant := range granted {
		used := slices.ContainsFunc(requests, func(request auditv1.Event) bool { return needs(request, grant) })
		if !used && !slices.ContainsFunc(exceptions, func(e Exception) bool { return e.Permission == grant.Permission }) {
			sentences = append(sentences, fmt.Sprintf("%s is granted and was never used", grant))
		}
	}
	for _, exception := range exceptions {
		if !slices.ContainsFunc(granted, func(g grant.Grant) bool { return g.Permission == exception.Permission }) {
			sentences = append(sentences, fmt.Sprintf("%s is an exception and is not granted", exception.Permission))
		}
	}
	return sentences
}

// needs reports whether a request uses a grant. A wildcard is never used: the permissions behind it are unknown.
func needs(request auditv1.Event, granted grant.Grant) bool {
	object := request.ObjectRef
	switch {
	case request.Verb != granted.Verb:
		return false
	case object == nil:
		path, _, _ := strings.Cut(request.RequestURI, "?")
		return granted.URL == path
	}
	return granted.Group == object.APIGroup && granted.Resource == resource(object) &&
		(granted.Name == "" || granted.Name == object.Name) && (granted.Namespace == "" || granted.Namespace == object.Namespace)
}
