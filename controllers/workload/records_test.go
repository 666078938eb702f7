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

package workload_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/controllers/workload/daemonset"
	"github.com/traas-stack/altershield-operator/controllers/workload/deployment"
	"github.com/traas-stack/altershield-operator/controllers/workload/statefulset"
)

const version = "c6c45d23c098bdf181853a85b60b5d74"

func TestRecordNameDiffersBetweenKinds(t *testing.T) {
	g := NewWithT(t)
	g.Expect(workload.RecordName(deployment.Kind{}, "web", version)).To(Equal("web--x--c6c45d23c098bdf181853a85b60b5d74"), "as documented")
	g.Expect(workload.RecordName(statefulset.Kind{}, "web", version)).To(Equal("statefulsets.web--x--c6c45d23c098bdf181853a85b60b5d74"))
	g.Expect(workload.RecordName(daemonset.Kind{}, "web", version)).To(Equal("daemonsets.web--x--c6c45d23c098bdf181853a85b60b5d74"))
}

func TestRecordLabels(t *testing.T) {
	g := NewWithT(t)
	g.Expect(workload.RecordLabel(deployment.Kind{}, "web")).To(Equal(client.MatchingLabels{"app.kubernetes.io/deployment-name": "web"}))
	g.Expect(workload.RecordLabel(statefulset.Kind{}, "web")).To(Equal(client.MatchingLabels{"altershield.defense.antgroup.com/workload": "statefulsets.web"}))
	g.Expect(workload.RecordLabels(daemonset.Kind{}, "web", version)).To(Equal(client.MatchingLabels{
		"altershield.defense.antgroup.com/workload":          "daemonsets.web",
		"admission-webhook-altershield.antgroup.com/version": version,
	}))
	for _, kind := range []workload.Kind{deployment.Kind{}, statefulset.Kind{}} {
		for _, value := range workload.RecordLabel(kind, strings.Repeat("a", 253)) {
			g.Expect(len(value)).To(BeNumerically("<=", 63), "a label value")
		}
	}
}
