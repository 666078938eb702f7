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

package history

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// credential is the API server's annotation for the token of a request: each manager has a token of its own.
const credential = "authentication.kubernetes.io/credential-id"

// watches are the open watches of the operator, by manager and resource. A watch with an expired resource version ends as soon
// as it begins, and after an outage of the API server the next attempt may take a minute.
type watches map[string]map[string]openWatch

type openWatch struct {
	id   types.UID
	from time.Time
}

func (w *watches) note(event *auditv1.Event) {
	if *w == nil {
		*w = watches{}
	}
	if event.ObjectRef == nil {
		return
	}
	manager, resource := strings.Join(event.User.Extra[credential], ""), event.ObjectRef.Resource
	if (*w)[manager] == nil {
		(*w)[manager] = map[string]openWatch{}
	}
	of := (*w)[manager]
	switch event.Stage {
	case auditv1.StageResponseStarted:
		of[resource] = openWatch{event.AuditID, event.StageTimestamp.Time}
	case auditv1.StageResponseComplete, auditv1.StagePanic:
		if of[resource].id == event.AuditID {
			delete(of, resource)
		}
	}
}

func (w *watches) since(resources []string, after time.Time) time.Time {
	var latest time.Time
	for _, of := range *w {
		for _, resource := range resources {
			open, found := of[resource]
			if !found || !open.from.After(after) {
				return time.Time{}
			}
			if open.from.After(latest) {
				latest = open.from
			}
		}
	}
	return latest
}
