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
	"context"
	"encoding/json"
	"errors"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/traas-stack/altershield-operator/controllers/testkit"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/controllers/workload/daemonset"
	"github.com/traas-stack/altershield-operator/controllers/workload/statefulset"
)

func first(selector string) edit {
	return annotation("altershield.defense.antgroup.com/first-nodes", selector)
}

// setDefaulter is a defaulter of a kind, at an API server with a node in zone a.
func setDefaulter(t *testing.T, kind workload.Kind, refusal error) *defaulter {
	t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1", Labels: map[string]string{"zone": "a"}}}
	live := interceptor.NewClient(testkit.NewFake(t, node), interceptor.Funcs{
		List: func(ctx context.Context, kube client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if refusal != nil {
				return refusal
			}
			return kube.List(ctx, list, options...)
		},
	})
	accounts := accountsOf(t, readerOf(t, interceptor.Funcs{})).of(kind)
	return &defaulter{kind: kind, operator: operator, clock: accounts.clock, accounts: accounts, past: pastOf(live, accounts).of(kind), freezes: freezesOf(t, accounts, kind),
		paces: pacesOf(t, pastOf(live, accounts).of(kind), kind)}
}

func TestDefaulterStartsAReleaseOnTheFirstNodes(t *testing.T) {
	const (
		held = "add /metadata/annotations/altershield.defense.antgroup.com~1held"
		kept = "replace /metadata/annotations/altershield.defense.antgroup.com~1held"
		stop = "replace /spec/updateStrategy/type"
	)
	rolling, stopped := set("DaemonSet", object{"type": "RollingUpdate"}), set("DaemonSet", object{"type": "OnDelete"})
	holding := all(suspended, annotation("altershield.defense.antgroup.com/held", "4"))
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "nodes"}, "", nil)
	for _, row := range []struct {
		name     string
		kind     workload.Kind
		release  edit
		updated  edit
		user     string
		refusal  error
		held     bool
		stop     bool
		warnings []string
	}{
		{"of the annotation", daemonset.Kind{}, all(rolling, first("zone=a")), repaired, "alice", nil, true, true, nil},
		{"of an annotation that comes with it", daemonset.Kind{}, rolling, all(repaired, first("zone in (a)")), "alice", nil, true, true, nil},
		{"also a repair, whose workload is held already", daemonset.Kind{}, all(stopped, holding, first("zone=a")), all(repaired, ignoring), "alice", nil, true, false, nil},
		{"also a repair that brings RollingUpdate", daemonset.Kind{}, all(stopped, holding, first("zone=a")), all(rolling, repaired, ignoring), "alice", nil, true, true, nil},
		{"not without the annotation", daemonset.Kind{}, rolling, repaired, "alice", nil, false, false, nil},
		{"not where the template stays", daemonset.Kind{}, rolling, first("zone=a"), "alice", nil, false, false, nil},
		{"not of a StatefulSet", statefulset.Kind{}, all(set("StatefulSet", object{"type": "RollingUpdate"}), first("zone=a")), repaired, "alice", nil, false, false, nil},
		{"not a rollback of the operator", daemonset.Kind{}, all(rolling, first("zone=a")), repaired, operator, nil, false, false, nil},
		{"not where a user paused it", daemonset.Kind{}, all(stopped, first("zone=a")), repaired, "alice", nil, false, false,
			[]string{"the annotation altershield.defense.antgroup.com/first-nodes has no effect, since a user has paused the rollout"}},
		{"not where no node matches", daemonset.Kind{}, all(rolling, first("zone=b")), repaired, "alice", nil, false, false,
			[]string{"the release starts on all nodes: no node matches the annotation altershield.defense.antgroup.com/first-nodes: zone=b"}},
		{"not where it can't be read", daemonset.Kind{}, all(rolling, first("zone in a")), repaired, "alice", nil, false, false,
			[]string{"the release starts on all nodes: the annotation altershield.defense.antgroup.com/first-nodes must be a label selector of nodes " +
				"such as zone=a: unable to parse requirement: found 'a' expected: '('"}},
		{"where the reconciler reports that it may not", daemonset.Kind{}, all(rolling, first("zone=a")), repaired, "alice", forbidden, true, true,
			[]string{"the release starts on all nodes: the operator may list nodes only with the ClusterRole of config/components/pod-deletion (chart: podDeletion.enabled)"}},
		{"where nodes can't be read now", daemonset.Kind{}, all(rolling, first("zone=a")), repaired, "alice", errors.New("timeout"), true, true, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			release := all(stamped(versionOf123, "4"), row.release)
			request := requestOf(t, deployment(t, release), deployment(t, release, row.updated))
			request.UserInfo.Username = row.user
			response := setDefaulter(t, row.kind, row.refusal).Handle(t.Context(), request)
			patch := operations(response.Patches)
			g.Expect(response.Warnings).To(Equal(row.warnings))
			g.Expect(patch[held] == "5-first-nodes" || patch[kept] == "5-first-nodes" || patch[held] == nil && !row.held).To(BeTrue(), "%v", patch)
			g.Expect(patch[held] != nil).To(Equal(row.held), "%v", patch)
			if row.stop {
				g.Expect(patch).To(HaveKeyWithValue(stop, BeEquivalentTo("OnDelete")))
			} else {
				g.Expect(patch).NotTo(HaveKeyWithValue(stop, BeEquivalentTo("OnDelete")))
			}
		})
	}
}

// The API server calls the webhook again for an object that another webhook has changed since.
func TestDefaulterStartsAReleaseOnTheFirstNodesOnce(t *testing.T) {
	rolling := set("DaemonSet", object{"type": "RollingUpdate"})
	for _, row := range []struct {
		name     string
		old      edit
		reverted bool
		strategy string
	}{
		{"with the same object", rolling, false, "OnDelete"},
		{"with a template that was reverted", rolling, true, "RollingUpdate"},
		{"where it was held, with the same object",
			all(set("DaemonSet", object{"type": "OnDelete"}), suspended, annotation("altershield.defense.antgroup.com/held", "4")), false, "OnDelete"},
		{"where it was held, with a template that was reverted",
			all(set("DaemonSet", object{"type": "OnDelete"}), suspended, annotation("altershield.defense.antgroup.com/held", "4")), true, "OnDelete"},
	} {
		t.Run(row.name, func(t *testing.T) {
			g, d := NewWithT(t), setDefaulter(t, daemonset.Kind{}, nil)
			release := all(stamped(versionOf123, "4"), first("zone=a"), row.old)
			old, updated := deployment(t, release), deployment(t, release, repaired, ignoring)
			updated = patched(t, updated, d.Handle(t.Context(), requestOf(t, old, updated)))
			g.Expect(at(updated, "metadata", "annotations")).To(HaveKeyWithValue("altershield.defense.antgroup.com/held", "5-first-nodes"))
			g.Expect(at(updated, "spec", "updateStrategy")).To(HaveKeyWithValue("type", "OnDelete"))
			if row.reverted {
				at(updated, "spec")["template"] = at(old, "spec")["template"]
			}
			again := patched(t, updated, d.Handle(t.Context(), requestOf(t, old, updated)))
			g.Expect(at(again, "spec", "updateStrategy")).To(HaveKeyWithValue("type", row.strategy))
			if row.reverted {
				g.Expect(at(again, "metadata", "annotations")).To(Equal(at(old, "metadata", "annotations")))
				return
			}
			g.Expect(again).To(Equal(updated))
		})
	}
}

func patched(t *testing.T, before object, response admission.Response) object {
	t.Helper()
	g := NewWithT(t)
	text, err := json.Marshal(response.Patches)
	g.Expect(err).NotTo(HaveOccurred())
	patch, err := jsonpatch.DecodePatch(text)
	g.Expect(err).NotTo(HaveOccurred())
	text, err = patch.Apply(raw(t, before).Raw)
	g.Expect(err).NotTo(HaveOccurred())
	after := object{}
	g.Expect(json.Unmarshal(text, &after)).To(Succeed())
	return after
}

func TestDefaulterWarnsOfAnInvalidSelectorWhereItIsGiven(t *testing.T) {
	const warning = "releases start on all nodes: the annotation altershield.defense.antgroup.com/first-nodes must be a label selector of nodes " +
		"such as zone=a: unable to parse requirement: found 'a' expected: '('"
	rolling := set("DaemonSet", object{"type": "RollingUpdate"})
	release := all(rolling, stamped(versionOf123, "4"))
	for _, row := range []struct {
		name         string
		kind         workload.Kind
		old, updated object
		want         []string
	}{
		{"with a new DaemonSet", daemonset.Kind{}, nil, deployment(t, rolling, first("zone in a")), []string{warning}},
		{"by itself", daemonset.Kind{}, deployment(t, release), deployment(t, release, first("zone in a")), []string{warning}},
		{"not later", daemonset.Kind{}, deployment(t, release, first("zone in a")), deployment(t, release, first("zone in a"), label("a", "b")), nil},
		{"not of another kind", statefulset.Kind{}, deployment(t, release), deployment(t, release, first("zone in a")), nil},
		{"not of a valid one", daemonset.Kind{}, deployment(t, release), deployment(t, release, first("zone=c")), nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			response := setDefaulter(t, row.kind, nil).Handle(t.Context(), requestOf(t, row.old, row.updated))
			NewWithT(t).Expect(response.Warnings).To(Equal(row.want))
		})
	}
}
