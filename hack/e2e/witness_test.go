//go:build e2e

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

package e2e_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// witness watches a namespace. The API server numbers the writes to objects of all kinds in one order.
type witness struct {
	mutex  sync.Mutex
	writes []write

	pods map[string]*corev1.Pod
	// records are the ChangeWorkloads by their versions.
	records map[string]*appv1alpha1.ChangeWorkload
	// passed and served are the pods that passed their check, and that got traffic.
	passed, served map[string]bool
	// most is the largest number of pods that ran a version.
	most map[string]int
}

type write struct {
	revision uint64
	event    watch.EventType
	object   client.Object
}

// watchReleases watches a namespace until the end of the spec.
func watchReleases(ctx context.Context, namespace string) *witness {
	GinkgoHelper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	w, done := &witness{}, sync.WaitGroup{}
	DeferCleanup(func() { cancel(); done.Wait() })
	for _, list := range []client.ObjectList{
		&corev1.PodList{}, &appv1alpha1.ChangeWorkloadList{}, &appv1alpha1.ChangePodList{}, &discoveryv1.EndpointSliceList{},
	} {
		Expect(kube.List(ctx, list, client.InNamespace(namespace))).To(Succeed())
		Expect(meta.EachListItem(list, func(object runtime.Object) error {
			w.note(watch.Added, object)
			return nil
		})).To(Succeed())
		since := &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: list.GetResourceVersion()}}
		stream, err := kube.Watch(ctx, list, client.InNamespace(namespace), since)
		Expect(err).NotTo(HaveOccurred())
		done.Go(func() {
			for event := range stream.ResultChan() {
				w.note(event.Type, event.Object)
			}
		})
	}
	return w
}

func (w *witness) note(event watch.EventType, seen runtime.Object) {
	object, ok := seen.(client.Object)
	if !ok {
		return
	}
	revision, err := strconv.ParseUint(object.GetResourceVersion(), 10, 64)
	if err != nil {
		return
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.writes = append(w.writes, write{revision, event, object})
}

// faults replays what was seen, and returns what must not be: more pods of a version than its step has, and traffic for a pod that hasn't
// passed. The versions that were there before may run anywhere.
func (w *witness) faults(before []string) (faults []string) {
	w.mutex.Lock()
	writes := slices.Clone(w.writes)
	w.mutex.Unlock()
	slices.SortStableFunc(writes, func(a, b write) int { return cmp.Compare(a.revision, b.revision) })
	w.pods, w.records = map[string]*corev1.Pod{}, map[string]*appv1alpha1.ChangeWorkload{}
	w.passed, w.served, w.most = map[string]bool{}, map[string]bool{}, map[string]int{}
	for _, write := range writes {
		switch object := write.object.(type) {
		case *corev1.Pod:
			if w.pods[object.Name] = object; write.event == watch.Deleted {
				delete(w.pods, object.Name)
			}
			faults = append(faults, w.excess(object.Labels[versionLabel], before)...)
		case *appv1alpha1.ChangeWorkload:
			w.records[object.Spec.Reversion] = object
		case *appv1alpha1.ChangePod:
			for _, pod := range object.Spec.PodInfos {
				w.passed[pod.Pod] = w.passed[pod.Pod] || object.Status.Status == appv1alpha1.ChangePodExecuteDone
			}
		case *discoveryv1.EndpointSlice:
			faults = append(faults, w.serve(object, before)...)
		}
	}
	return slices.Compact(faults)
}

// excess returns whether more pods run a version than its record lets run.
func (w *witness) excess(version string, before []string) []string {
	running := 0
	for _, pod := range w.pods {
		if pod.Status.Phase == corev1.PodRunning && pod.Labels[versionLabel] == version {
			running++
		}
	}
	if slices.Contains(before, version) {
		return nil
	}
	w.most[version] = max(w.most[version], running)
	allowed, record := 0, w.records[version]
	switch {
	case record != nil && meta.IsStatusConditionFalse(record.Status.Conditions, "Paced"):
		return nil
	case record != nil && record.Status.Pace != nil:
		allowed = int(record.Status.Pace.Target)
	}
	if running <= allowed {
		return nil
	}
	return []string{fmt.Sprintf("%d pods ran version %s in a step of %d", running, version, allowed)}
}

// serve notes the pods that get traffic, and returns those that haven't passed.
func (w *witness) serve(slice *discoveryv1.EndpointSlice, before []string) (faults []string) {
	for _, endpoint := range slice.Endpoints {
		if endpoint.TargetRef == nil || !ptr.Deref(endpoint.Conditions.Ready, false) {
			continue
		}
		name := endpoint.TargetRef.Name
		if pod := w.pods[name]; pod != nil && slices.Contains(before, pod.Labels[versionLabel]) {
			continue
		}
		if w.served[name] = true; !w.passed[name] {
			faults = append(faults, fmt.Sprintf("pod %s got traffic before it passed", name))
		}
	}
	return faults
}

// String summarizes what was replayed.
func (w *witness) String() string {
	return fmt.Sprintf("%d writes seen; %d versions ran %d pods at most, each within its step; %d pods got traffic, each after it passed",
		len(w.writes), len(w.most), slices.Max(append(slices.Collect(maps.Values(w.most)), 0)), len(w.served))
}
