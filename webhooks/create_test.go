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

package webhooks

import (
	"encoding/json"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/controllers/workload/daemonset"
	kind "github.com/traas-stack/altershield-operator/controllers/workload/deployment"
	"github.com/traas-stack/altershield-operator/controllers/workload/statefulset"
)

func TestDefaulterLetsAnExportOfAHeldWorkloadGo(t *testing.T) {
	const (
		heldFrom = "altershield.defense.antgroup.com/held-from"
		frozen   = "altershield.defense.antgroup.com/frozen"
	)
	partition := object{"type": "RollingUpdate", "rollingUpdate": object{"partition": int64(2147483647)}}
	paused := field(true, "paused", "spec")
	pinned := field(object{"type": "RollingUpdate", "rollingUpdate": object{"maxUnavailable": int64(0), "maxSurge": "25%"}}, "strategy", "spec")
	for _, row := range []struct {
		name   string
		kind   workload.Kind
		export edit
		fields string
	}{
		{"a Deployment", kind.Kind{}, all(stamped(versionOf123, "4"), held("4"), paused), "remove /spec/paused null"},
		{"one at its first release", kind.Kind{}, all(stamped(versionOf123, "1"), releasedBy("bob", versionOf123, "1"), held("1"), paused), "remove /spec/paused null"},
		{"one that was parked", kind.Kind{}, all(stamped(versionOf123, "4"), held("4"), annotation(frozen, `{"release":4,"by":["ops/friday"],"concurrent":5}`), paused),
			"remove /spec/paused null"},
		{"one in steps", kind.Kind{}, all(stamped(versionOf123, "2"), annotation(pacedKey, byGates), pinned),
			`add /spec/strategy/rollingUpdate/maxUnavailable "25%"`},
		{"a StatefulSet", statefulset.Kind{}, all(set("StatefulSet", partition), stamped(versionOf123, "4"), held("4"), annotation(heldFrom, `{"partition":3}`)),
			"replace /spec/updateStrategy/rollingUpdate/partition 3"},
		{"one in steps that is a StatefulSet", statefulset.Kind{}, all(set("StatefulSet", partition), stamped(versionOf123, "2"), annotation(pacedKey, byPartition)),
			"add /spec/updateStrategy/rollingUpdate/partition 2"},
		{"a DaemonSet", daemonset.Kind{}, all(set("DaemonSet", object{"type": "OnDelete"}), stamped(versionOf123, "4"), held("4")),
			`replace /spec/updateStrategy/type "RollingUpdate"`},
		{"one that a user paused", kind.Kind{}, all(stamped(versionOf123, "4"), paused), ""},
		{"one that a user resumed, and paused", kind.Kind{}, all(stamped(versionOf123, "4"), held("4-overridden"), paused), ""},
		{"one that was paced before", kind.Kind{}, all(stamped(versionOf123, "4"), annotation(pacedKey, byGates), pinned), ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			response, patch := admit(t, row.kind, requestOf(t, nil, deployment(t, row.export)))
			g.Expect(response.Allowed).To(BeTrue())
			var fields []string
			for path, value := range patch {
				if !strings.Contains(path, "/metadata/") {
					text, err := json.Marshal(value)
					g.Expect(err).NotTo(HaveOccurred())
					fields = append(fields, path+" "+string(text))
				}
			}
			g.Expect(strings.Join(fields, ", ")).To(Equal(row.fields))
		})
	}
}
