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

package scope_test

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
)

func TestReadNode(t *testing.T) {
	node := func(name string, conditions ...corev1.NodeCondition) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{Conditions: conditions}}
	}
	kube := fake.NewClientBuilder().WithObjects(
		node("ready", corev1.NodeCondition{Type: "DiskPressure", Status: "True"}, corev1.NodeCondition{Type: "Ready", Status: "True", LastTransitionTime: now}),
		node("away", corev1.NodeCondition{Type: "Ready", Status: "Unknown", LastTransitionTime: now}),
		node("new"),
	).Build()
	for name, expected := range map[string]checks.Node{"ready": {Ready: true, Since: now.Time}, "away": {}, "new": {}, "gone": {}} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			read, err := scope.ReadNode(t.Context(), kube, name)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(read.Ready).To(Equal(expected.Ready))
			g.Expect(read.Since).To(BeTemporally("==", expected.Since))
		})
	}
	away := interceptor.NewClient(kube, interceptor.Funcs{Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
		return errors.New("timeout")
	}})
	_, err := scope.ReadNode(t.Context(), away, "ready")
	NewWithT(t).Expect(err).To(MatchError("reading node ready: timeout"))
}
