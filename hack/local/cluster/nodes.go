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

package cluster

import (
	"context"
	"fmt"
	"runtime"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// startNodes creates the fake nodes and waits until they are ready and the default service account exists.
func (c *Cluster) startNodes(ctx context.Context) error {
	c.logf("waiting for %d nodes", c.options.Nodes)
	for i := range c.options.Nodes {
		node := fakeNode(fmt.Sprintf("node-%d", i+1))
		_, err := c.clients.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create node %s: %w", node.Name, err)
		}
	}
	return c.await(ctx, "nodes and the default service account", c.nodesReady(c.options.Nodes))
}

// NodesReady returns nil once the real nodes have joined and pods can run on all of them, otherwise the reason.
func (c *Cluster) NodesReady(ctx context.Context) error {
	return c.nodesReady(len(c.options.Real.Names))(ctx)
}

// nodesReady returns a condition that holds once the given number of nodes exist and pods can run on all of them.
func (c *Cluster) nodesReady(count int) func(context.Context) error {
	return func(ctx context.Context) error {
		nodes, err := c.clients.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		if len(nodes.Items) < count {
			return fmt.Errorf("there are %d of %d nodes", len(nodes.Items), count)
		}
		for _, node := range nodes.Items {
			if !accepts(&node) {
				return fmt.Errorf("node %s is not ready", node.Name)
			}
		}
		_, err = c.clients.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
		return err
	}
}

// accepts reports whether the scheduler may place pods on the node.
func accepts(node *corev1.Node) bool {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue && len(node.Spec.Taints) == 0
		}
	}
	return false
}

func fakeNode(name string) *corev1.Node {
	capacity := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("1000"),
		corev1.ResourceMemory: resource.MustParse("1Ti"),
		corev1.ResourcePods:   resource.MustParse("10000"),
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			corev1.LabelHostname:   name,
			corev1.LabelOSStable:   "linux",
			corev1.LabelArchStable: runtime.GOARCH,
		}},
		Status: corev1.NodeStatus{Capacity: capacity, Allocatable: capacity},
	}
}
