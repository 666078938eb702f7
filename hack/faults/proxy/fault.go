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
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

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
