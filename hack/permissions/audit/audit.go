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

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/traas-stack/altershield-operator/hack/permissions/grant"
)

// ownGroup is the API group of the operator.
const ownGroup = "app.ops.cloud.alipay.com"

// admissionGroup is the API group of webhook configurations.
const admissionGroup = "admissionregistration.k8s.io"

// maxLine is the maximum length of a line in an audit log at level Metadata, in bytes.
const maxLine = 1 << 20

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

// Exceptions returns the permissions of the operator that its requests never show, or only by chance.
func Exceptions() []Exception {
	const enforced = "The admission plugin OwnerReferencesPermissionEnforcement requires it when an object with this owner is created."
	return []Exception{
		{grant.Permission{Group: "apps", Resource: "deployments/finalizers", Verb: "update"}, enforced},
		{grant.Permission{Group: "apps", Resource: "statefulsets/finalizers", Verb: "update"}, enforced},
		{grant.Permission{Group: "apps", Resource: "daemonsets/finalizers", Verb: "update"}, enforced},
		{grant.Permission{Group: "batch", Resource: "cronjobs/finalizers", Verb: "update"}, enforced},
		{grant.Permission{Group: "batch", Resource: "jobs/finalizers", Verb: "update"}, enforced},
		{grant.Permission{Group: ownGroup, Resource: "changeworkloads/finalizers", Verb: "update"}, enforced},
		{
			grant.Permission{Group: ownGroup, Resource: "changepods", Verb: "delete"},
			"It is used when a ChangePod left by a deleted release is in the way, and is neither deleted yet nor in the cache.",
		},
		{
			grant.Permission{Group: ownGroup, Resource: "changerecords", Verb: "delete"},
			"It is used when a workload has had more than 100 releases, or after 90 days.",
		},
	}
}

// StreamedLists returns the permissions that only older API servers require: newer ones stream the first list of a watch.
func StreamedLists() []Exception {
	var exceptions []Exception
	for resource, group := range map[string]string{
		"namespaces": "", "pods": "", "deployments": "apps", "statefulsets": "apps", "daemonsets": "apps", "replicasets": "apps",
		"cronjobs": "batch", "jobs": "batch",
		"changeworkloads": ownGroup, "changepods": ownGroup, "changeverdicts": ownGroup, "opsconfiginfoes": ownGroup, "controlledkinds": ownGroup, "releasegates": ownGroup,
		"customresourcedefinitions": "apiextensions.k8s.io",
		"secrets":                   "", "mutatingwebhookconfigurations": admissionGroup, "validatingwebhookconfigurations": admissionGroup,
	} {
		exceptions = append(exceptions, Exception{
			grant.Permission{Group: group, Resource: resource, Verb: "list"},
			"API servers that don't stream the first list of a watch require it.",
		})
	}
	return exceptions
}

// SelfManagedCertificate returns the permissions that the operator uses only if it issues the certificate of its webhooks itself.
func SelfManagedCertificate() []Exception {
	const (
		secret        = "webhook-server-cert"
		configuration = "altershieldoperator-%s-webhook-configuration"
		reason        = "It is used with --webhook-cert-secret."
	)
	exceptions := []Exception{{grant.Permission{Resource: "secrets", Name: secret, Verb: "update"}, reason}}
	for _, verb := range []string{"get", "list", "watch"} {
		exceptions = append(exceptions, Exception{grant.Permission{Resource: "secrets", Verb: verb}, reason})
	}
	for _, kind := range []string{"mutating", "validating"} {
		permission := grant.Permission{Group: admissionGroup, Resource: kind + "webhookconfigurations"}
		for _, verb := range []string{"list", "watch"} {
			permission.Verb = verb
			exceptions = append(exceptions, Exception{permission, reason})
		}
		permission.Verb, permission.Name = "update", fmt.Sprintf(configuration, kind)
		exceptions = append(exceptions, Exception{permission, reason})
	}
	return exceptions
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
