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

// Package witness watches the releases of a namespace in tests, and tells from all that it saw which pods ran, or got traffic, too early.
package witness

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

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

const versionLabel = "admission-webhook-altershield.antgroup.com/version"

// Witness is what was seen of a namespace. The API server numbers the writes to objects of all kinds in one order.
type Witness struct {
	mutex sync.Mutex
	seen  []Sighting

	cancel context.CancelFunc
	done   sync.WaitGroup
}

// Sighting is a write that was seen. What was there already counts as added.
type Sighting struct {
	Object client.Object
	Event  watch.EventType
	// At is when it was seen.
	At time.Time

	revision uint64
}

// Watch watches the pods and records of a namespace until Stop, and further objects. What is there already counts from the time of its list,
// not of its last write: a pod may be older than the last write of the record that lets it run, which is listed first, and the EndpointSlice
// that shows a pod comes after it.
func Watch(ctx context.Context, kube client.WithWatch, namespace string, others ...client.ObjectList) (*Witness, error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	w := &Witness{cancel: cancel}
	for _, list := range append([]client.ObjectList{&appv1alpha1.ChangeWorkloadList{}, &corev1.PodList{}}, others...) {
		if err := w.watch(ctx, kube, namespace, list); err != nil {
			w.Stop()
			return nil, fmt.Errorf("watching %T in namespace %s: %w", list, namespace, err)
		}
	}
	return w, nil
}

func (w *Witness) watch(ctx context.Context, kube client.WithWatch, namespace string, list client.ObjectList) error {
	if err := kube.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return err
	}
	version := list.GetResourceVersion()
	if err := meta.EachListItem(list, func(object runtime.Object) error { return w.note(version, watch.Added, object) }); err != nil {
		return err
	}
	stream, err := kube.Watch(ctx, list, client.InNamespace(namespace), &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: version}})
	if err != nil {
		return err
	}
	w.done.Go(func() {
		for event := range stream.ResultChan() {
			if object, ok := event.Object.(client.Object); ok {
				_ = w.note(object.GetResourceVersion(), event.Type, object)
			}
		}
	})
	return nil
}

// Stop ends the watches.
func (w *Witness) Stop() {
	w.cancel()
	w.done.Wait()
}

func (w *Witness) note(version string, event watch.EventType, seen runtime.Object) error {
	object, ok := seen.(client.Object)
	if !ok {
		return errors.New("not an object")
	}
	revision, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		return err
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.seen = append(w.seen, Sighting{object, event, time.Now(), revision})
	return nil
}

// Ordered returns the writes in their order.
func (w *Witness) Ordered() []Sighting {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return slices.SortedStableFunc(slices.Values(w.seen), func(a, b Sighting) int { return cmp.Compare(a.revision, b.revision) })
}

// Replay calls visit after each write, in their order, with the pods by name and the records by version that there were.
func (w *Witness) Replay(visit func(last Sighting, pods map[string]*corev1.Pod, records map[string]*appv1alpha1.ChangeWorkload)) {
	pods, records := map[string]*corev1.Pod{}, map[string]*appv1alpha1.ChangeWorkload{}
	for _, each := range w.Ordered() {
		switch object := each.Object.(type) {
		case *corev1.Pod:
			if pods[object.Name] = object; each.Event == watch.Deleted {
				delete(pods, object.Name)
			}
		case *appv1alpha1.ChangeWorkload:
			records[object.Spec.Reversion] = object
		}
		visit(each, pods, records)
	}
}

// Most returns how many pods of a version counted at the same time.
func (w *Witness) Most(version string, counts func(*corev1.Pod) bool) (most int) {
	w.Replay(func(_ Sighting, pods map[string]*corev1.Pod, _ map[string]*appv1alpha1.ChangeWorkload) {
		present := 0
		for _, pod := range pods {
			if pod.Labels[versionLabel] == version && counts(pod) {
				present++
			}
		}
		most = max(most, present)
	})
	return most
}

// Excess returns how many pods ran a version at the same time beyond the step that its record showed, and how many ran at most by version.
// Versions in without may run anywhere.
func (w *Witness) Excess(without ...string) (excess []string, most map[string]int) {
	most = map[string]int{}
	w.Replay(func(_ Sighting, pods map[string]*corev1.Pod, records map[string]*appv1alpha1.ChangeWorkload) {
		counts := map[string]int{}
		for _, pod := range pods {
			if Runs(pod) {
				counts[pod.Labels[versionLabel]]++
			}
		}
		for version, count := range counts {
			most[version] = max(most[version], count)
			if allowed, limited := allowedOf(records[version]); limited && count > allowed && !slices.Contains(without, version) {
				excess = append(excess, fmt.Sprintf("%d pods of %s ran in a step of %d", count, version, allowed))
			}
		}
	})
	return slices.Compact(excess), most
}

// Runs reports whether a pod runs. The workers of a LeaderWorkerSet count with their leader.
func Runs(pod *corev1.Pod) bool {
	index := pod.Labels["leaderworkerset.sigs.k8s.io/worker-index"]
	return pod.Status.Phase == corev1.PodRunning && (index == "" || index == "0")
}

// allowedOf returns how many pods of a release its record lets run.
func allowedOf(record *appv1alpha1.ChangeWorkload) (allowed int, limited bool) {
	switch {
	case record == nil:
		return 0, true
	case meta.IsStatusConditionFalse(record.Status.Conditions, "Paced"):
		return 0, false
	case record.Status.Pace == nil:
		return 0, true
	}
	return int(record.Status.Pace.Target), true
}

// Unverified returns the pods that an EndpointSlice showed as ready before their batch had passed, and how many pods it showed in all. It
// needs ChangePods and EndpointSlices to be watched. Pods of the versions in without don't count.
func (w *Witness) Unverified(without ...string) (unverified []string, served int) {
	passed, shown := map[string]bool{}, map[string]bool{}
	w.Replay(func(last Sighting, pods map[string]*corev1.Pod, _ map[string]*appv1alpha1.ChangeWorkload) {
		switch object := last.Object.(type) {
		case *appv1alpha1.ChangePod:
			for _, pod := range object.Spec.PodInfos {
				passed[pod.Pod] = passed[pod.Pod] || object.Status.Status == "ExecuteDone"
			}
		case *discoveryv1.EndpointSlice:
			for _, name := range ready(object) {
				if pod := pods[name]; pod != nil && slices.Contains(without, pod.Labels[versionLabel]) {
					continue
				}
				if shown[name] = true; !passed[name] {
					unverified = append(unverified, name)
				}
			}
		}
	})
	return slices.Compact(unverified), len(shown)
}

// ready returns the names of the pods that an EndpointSlice shows as ready.
func ready(slice *discoveryv1.EndpointSlice) (pods []string) {
	for _, endpoint := range slice.Endpoints {
		if endpoint.TargetRef != nil && ptr.Deref(endpoint.Conditions.Ready, true) {
			pods = append(pods, endpoint.TargetRef.Name)
		}
	}
	return pods
}
