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

package proxy

import (
	"cmp"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
)

// Write is a request that changes an object.
type Write struct {
	// Namespace is the namespace of the object, or the name of one without a namespace. Faults are planned for one at a time.
	Namespace string
	// Verb and Resource are those of RBAC, such as "patch" and "changepods/status".
	Verb, Resource string
}

// Position is a write among those of a namespace, or of an object without one: the n-th of its verb and resource, from 1. Reconciles of several objects
// run concurrently, so the order of all writes differs between runs; the order of writes of one kind is far more stable.
type Position struct {
	Verb     string `json:"verb"`
	Resource string `json:"resource"`
	Nth      int    `json:"nth"`
}

// String returns a position in the format of ParsePosition.
func (p Position) String() string { return fmt.Sprintf("%s %s#%d", p.Verb, p.Resource, p.Nth) }

// ParsePosition parses a position such as "patch changepods/status#2".
func ParsePosition(text string) (Position, error) {
	what, number, numbered := strings.Cut(text, "#")
	verb, resource, named := strings.Cut(what, " ")
	nth, err := strconv.Atoi(number)
	if !numbered || !named || err != nil || nth < 1 {
		return Position{}, fmt.Errorf("%q is not a position: expected one like \"patch changepods/status#2\"", text)
	}
	return Position{Verb: verb, Resource: resource, Nth: nth}, nil
}

// KubernetesWrite returns the write of a request to an API server, if it is a position: it changes an object. Objects without a namespace
// that it creates are excluded because their names are not in the path, events and leases are excluded because nothing depends on them, and reviews of tokens and accesses because they store nothing.
func KubernetesWrite(request *http.Request) (Write, bool) {
	info := infoOf(request)
	ledger := cmp.Or(info.Namespace, info.Name)
	if !slices.Contains([]string{"create", "update", "patch", "delete"}, info.Verb) || ledger == "" || slices.Contains([]string{"events", "leases"}, info.Resource) {
		return Write{}, false
	}
	return Write{Namespace: ledger, Verb: info.Verb, Resource: path.Join(info.Resource, info.Subresource)}, true
}

// infoOf reads a request as the API server does. It is empty for one that makes no sense.
func infoOf(request *http.Request) *apirequest.RequestInfo {
	prefixes := apirequest.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}
	info, err := prefixes.NewRequestInfo(request)
	if err != nil {
		return &apirequest.RequestInfo{}
	}
	return info
}
