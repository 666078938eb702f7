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

// Package audit compares what a user asked a Kubernetes API server for with what RBAC grants it.
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

// maxLine is the longest line of an audit log at level Metadata, in bytes.
const maxLine = 1 << 20

// Read returns the requests of one user in an audit log: JSON, an event a line, in the order of the log. The log must have
// every request of that user, at level Metadata at least.
func Read(log io.Reader, user string) ([]auditv1.Event, error) {
	var found []auditv1.Event
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, maxLine)
	for number := 1; lines.Scan(); number++ {
		if !bytes.Contains(lines.Bytes(), []byte(user)) { // most lines are of others, and decoding them takes long
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

// Forbidden says in a sentence each what was answered with 403, and how often. It leaves out what was refused because a
// namespace or a CustomResourceDefinition is being deleted: no permission would change that.
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
		strings.Contains(message, "while custom resource definition is terminating")
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

// Exception is a permission that is needed although no request may show it.
type Exception struct {
	grant.Permission
	// Reason is a sentence.
	Reason string
}

// Exceptions are the permissions of the operator that no request may show, or only one that chance makes.
func Exceptions() []Exception {
	const enforced = "The admission plugin OwnerReferencesPermissionEnforcement asks for it when an object with this owner is created."
	return []Exception{
		{grant.Permission{Group: "apps", Resource: "deployments/finalizers", Verb: "update"}, enforced},
		{grant.Permission{Group: ownGroup, Resource: "changeworkloads/finalizers", Verb: "update"}, enforced},
		{
			grant.Permission{Group: ownGroup, Resource: "changepods", Verb: "delete"},
			"It is asked for when a ChangePod that a deleted release left is in the way, and neither removed yet nor in the cache.",
		},
	}
}

// StreamedLists are the permissions that only older API servers are asked for: newer ones stream the first list of a watch.
func StreamedLists() []Exception {
	var exceptions []Exception
	for resource, group := range map[string]string{
		"namespaces": "", "pods": "", "deployments": "apps", "replicasets": "apps",
		"changeworkloads": ownGroup, "changepods": ownGroup, "opsconfiginfoes": ownGroup,
		"secrets": "", "mutatingwebhookconfigurations": admissionGroup, "validatingwebhookconfigurations": admissionGroup,
	} {
		exceptions = append(exceptions, Exception{
			grant.Permission{Group: group, Resource: resource, Verb: "list"},
			"API servers that don't stream the first list of a watch are asked for it.",
		})
	}
	return exceptions
}

// SelfManagedCertificate are the permissions that only an operator asks for that makes the certificate of its webhooks itself.
func SelfManagedCertificate() []Exception {
	const (
		secret        = "webhook-server-cert"
		configuration = "altershieldoperator-%s-webhook-configuration"
		reason        = "It is asked for with --webhook-cert-secret."
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

// Unused says in a sentence each what is granted and was never asked for, but for the exceptions; and which exception is for
// something that isn't granted.
func Unused(granted []grant.Grant, requests []auditv1.Event, exceptions []Exception) []string {
	var sentences []string
	for _, grant := range granted {
		used := slices.ContainsFunc(requests, func(request auditv1.Event) bool { return needs(request, grant) })
		if !used && !slices.ContainsFunc(exceptions, func(e Exception) bool { return e.Permission == grant.Permission }) {
			sentences = append(sentences, fmt.Sprintf("%s is granted and was never asked for", grant))
		}
	}
	for _, exception := range exceptions {
		if !slices.ContainsFunc(granted, func(g grant.Grant) bool { return g.Permission == exception.Permission }) {
			sentences = append(sentences, fmt.Sprintf("%s is an exception and is not granted", exception.Permission))
		}
	}
	return sentences
}

// needs reports whether a grant allows a request. A wildcard allows nothing here: what is granted by it can't be told.
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
