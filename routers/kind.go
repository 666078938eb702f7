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

package routers

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// defaultKind is the kind that requests without one mean.
const defaultKind = "Deployment"

// kindOf returns the kind that a request names, in any case, or by its resource. The error for another one lists the kinds under change control, so
// callers whom the cluster doesn't know get that of their token.
func (a access) kindOf(request *http.Request, kinds workload.Kinds, name string) (workload.Kind, error) {
	if name == "" {
		name = defaultKind
	}
	if kind := kinds.Snapshot().Named(name); kind != nil {
		return kind, nil
	}
	if _, err := a.authenticate(request); err != nil {
		return nil, err
	}
	var known []string
	for _, kind := range kinds.Snapshot() {
		known = append(known, kind.GroupVersionKind().Kind)
	}
	return nil, &denial{http.StatusBadRequest, fmt.Sprintf("the kind %q is not under change control: it must be one of %s", name, strings.Join(known, ", "))}
}
