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
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"github.com/traas-stack/altershield-operator/hack/altershield"
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
	Verb, Resource string
	Nth            int
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

const (
	// VerbCall is the verb of positions that are calls to AlterShield Server, or queries of a source.
	VerbCall = "call"
	// actionQuery is the call by which a check looks at metrics.
	actionQuery = "query_range"
)

// Call returns the write of a request that changes state at AlterShield Server, or of a query of a source. The id of the order in a call begins
// with the cluster and the namespace; a query selects series of one namespace.
func Call(request *http.Request) (Write, bool) {
	_, action, _ := strings.Cut(request.URL.Path, "/openapi/v1/exe/")
	isQuery := path.Base(request.URL.Path) == actionQuery
	if !isQuery && (action == "" || action == altershield.ActionRetrieveCheck) {
		return Write{}, false
	}
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return Write{}, false
	}
	request.Body = io.NopCloser(bytes.NewReader(body))
	namespace := ""
	if isQuery {
		action = actionQuery
		form, _ := url.ParseQuery(string(body)) // one that can't be parsed has no query
		_, after, _ := strings.Cut(form.Get("query"), `namespace="`)
		namespace, _, _ = strings.Cut(after, `"`)
	} else {
		var named struct {
			BizExecOrderID string `json:"bizExecOrderId"`
		}
		_ = json.Unmarshal(body, &named) // one that can't be parsed has no order
		_, after, _ := strings.Cut(named.BizExecOrderID, "/")
		namespace, _, _ = strings.Cut(after, "/")
	}
	return Write{Namespace: namespace, Verb: VerbCall, Resource: action}, namespace != ""
}

// BeginsCheck reports whether a call begins a check, of a batch or of an order. Each such call begins another one.
func (p Position) BeginsCheck() bool {
	return p.Resource == altershield.ActionStartBatch || p.Resource == altershield.ActionStartOrder
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

// Mode is a kind of failure of a write.
type Mode string

const (
	// KilledBefore kills the client once it has sent the write, which isn't forwarded.
	KilledBefore Mode = "killed-before"
	// KilledAfter forwards the write and kills the client before it receives the answer.
	KilledAfter Mode = "killed-after"
	// Conflict answers 409; the write isn't forwarded.
	Conflict Mode = "conflict"
	// Timeout forwards the write and answers 504, as if the answer had not come in time.
	Timeout Mode = "timeout"
	// Failed answers 500; the write isn't forwarded.
	Failed Mode = "500"
)

// Modes returns all modes.
func Modes() []Mode { return []Mode{KilledBefore, KilledAfter, Conflict, Timeout, Failed} }

// ParseMode parses a mode.
func ParseMode(text string) (Mode, error) {
	if !slices.Contains(Modes(), Mode(text)) {
		return "", fmt.Errorf("%q is not one of the faults %v", text, Modes())
	}
	return Mode(text), nil
}

// Kills reports whether the mode kills the client.
func (m Mode) Kills() bool { return m == KilledBefore || m == KilledAfter }

// passesOn reports whether the write is forwarded.
func (m Mode) passesOn() bool { return m == "" || m == KilledAfter || m == Timeout }

// Fault is a planned failure of one write.
type Fault struct {
	Position
	Mode Mode
}

// answer returns the answer to the client instead of the real one.
func (m Mode) answer(write Write) *apierrors.StatusError {
	resource, _, _ := strings.Cut(write.Resource, "/")
	group := schema.GroupResource{Resource: resource}
	switch m {
	case Conflict:
		return apierrors.NewConflict(group, "object", fmt.Errorf("a fault of the harness"))
	case Timeout:
		return apierrors.NewTimeoutError("a fault of the harness: the answer didn't come in time", 0)
	default:
		return apierrors.NewInternalError(fmt.Errorf("a fault of the harness"))
	}
}

// refuse answers with an error, like an API server.
func refuse(w http.ResponseWriter, refusal *apierrors.StatusError) {
	status := refusal.Status()
	status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(int(status.Code))
	_ = json.NewEncoder(w).Encode(status) // fails only if the client is gone
}
