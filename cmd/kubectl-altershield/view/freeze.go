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

package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// FreezeList is a list of ChangeFreezes, those first that are on.
type FreezeList struct {
	Kind       string   `json:"kind"`
	APIVersion string   `json:"apiVersion"`
	Items      []Freeze `json:"items"`
}

// Freeze is a ChangeFreeze.
type Freeze struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Lock reports whether it is an incident lock, which begins with its creation and ends once.
	Lock   bool   `json:"lock"`
	Action string `json:"action"`
	Active bool   `json:"active"`
	// Until is when the active freeze ends, Next when the next one begins.
	Until *metav1.Time `json:"until,omitempty"`
	Next  *metav1.Time `json:"next,omitempty"`
	// Parked is how many releases wait for its end.
	Parked int32  `json:"parked"`
	Reason string `json:"reason,omitempty"`
}

// FreezesOf returns ChangeFreezes as their reconciler sees them.
func FreezesOf(freezes []appv1alpha1.ChangeFreeze) FreezeList {
	list := FreezeList{Kind: "FreezeList", APIVersion: APIVersion, Items: []Freeze{}}
	for i := range freezes {
		list.Items = append(list.Items, freezeOf(&freezes[i]))
	}
	slices.SortFunc(list.Items, func(a, b Freeze) int {
		if a.Active != b.Active {
			return map[bool]int{true: -1, false: 1}[a.Active]
		}
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return list
}

func freezeOf(freeze *appv1alpha1.ChangeFreeze) Freeze {
	status := freeze.Status
	return Freeze{
		Namespace: freeze.Namespace, Name: freeze.Name, Lock: freeze.Spec.Expires != nil, Action: string(freeze.Spec.Action), Active: status.Active,
		Until: status.Until, Next: status.Next, Parked: status.Parked, Reason: freeze.Spec.Reason,
	}
}

// Lock is an incident lock that a user wants.
type Lock struct {
	Namespace, Name string
	// Workloads are those that are frozen; all of the namespace if there are none.
	Workloads []appv1alpha1.WorkloadReference
	Expires   time.Duration
	Action    appv1alpha1.FreezeAction
	Running   appv1alpha1.FreezeRunning
	Reason    string
}

// LockOf returns the request that freezes releases from now on, and its object.
func LockOf(lock Lock) (Request, *appv1alpha1.ChangeFreeze) {
	request := Request{
		Kind: LockRequest, APIVersion: APIVersion, Namespace: lock.Namespace, Object: "changefreeze/" + lock.Name, Reason: lock.Reason,
		Changes: append(workloadLines(lock.Workloads), "action: "+string(lock.Action), "running: "+string(lock.Running), "expires: "+lock.Expires.String()),
	}
	return request, &appv1alpha1.ChangeFreeze{
		ObjectMeta: metav1.ObjectMeta{Namespace: lock.Namespace, Name: lock.Name},
		Spec: appv1alpha1.ChangeFreezeSpec{
			Workloads: selectorsOf(lock.Workloads), Expires: &metav1.Duration{Duration: lock.Expires}, Action: lock.Action, Running: lock.Running, Reason: lock.Reason,
		},
	}
}

// UnlockOf returns the request that ends an incident lock.
func UnlockOf(freeze *appv1alpha1.ChangeFreeze) (Request, error) {
	request := Request{Kind: UnlockRequest, APIVersion: APIVersion, Namespace: freeze.Namespace, Object: "changefreeze/" + freeze.Name}
	if freeze.Spec.Expires == nil {
		return Request{}, fmt.Errorf("%s is a calendar and no lock: kubectl delete %s -n %s ends it for good", request.Object, request.Object, freeze.Namespace)
	}
	// Its status changes with each release that it parks.
	request.At = fmt.Sprintf("%s/%d", freeze.UID, freeze.Generation)
	request.Changes = []string{fmt.Sprintf("parked: %d", freeze.Status.Parked)}
	return request, nil
}

// Glass is what a user wants to pass.
type Glass struct {
	Namespace string
	Workloads []appv1alpha1.WorkloadReference
	Overrides []string
	For       time.Duration
	Uses      int32
	Reason    string
}

// BreakGlassOf returns the request that lets releases pass, and its object.
func BreakGlassOf(glass Glass) (Request, *appv1alpha1.BreakGlass, error) {
	known := []string{
		string(appv1alpha1.OverrideFreeze), string(appv1alpha1.OverrideSuspension), string(appv1alpha1.OverrideApproval), string(appv1alpha1.OverridePace),
	}
	var overrides []appv1alpha1.BreakGlassOverride
	for _, override := range glass.Overrides {
		if !slices.Contains(known, override) {
			return Request{}, nil, fmt.Errorf("%q can't be overridden: use %s", override, strings.Join(known, ", "))
		}
		overrides = append(overrides, appv1alpha1.BreakGlassOverride(override))
	}
	request := Request{
		Kind: BreakGlassRequest, APIVersion: APIVersion, Namespace: glass.Namespace, Object: "breakglass", Reason: glass.Reason,
		Changes: append(workloadLines(glass.Workloads), "overrides: "+strings.Join(glass.Overrides, ", "), "for: "+glass.For.String(), fmt.Sprintf("uses: %d", glass.Uses)),
	}
	return request, &appv1alpha1.BreakGlass{
		ObjectMeta: metav1.ObjectMeta{Namespace: glass.Namespace, GenerateName: prefixOf("break-glass")},
		Spec: appv1alpha1.BreakGlassSpec{
			Reason: glass.Reason, Workloads: selectorsOf(glass.Workloads), Overrides: overrides, For: metav1.Duration{Duration: glass.For}, Uses: glass.Uses,
		},
	}, nil
}

func selectorsOf(references []appv1alpha1.WorkloadReference) []appv1alpha1.WorkloadSelector {
	var selectors []appv1alpha1.WorkloadSelector
	for _, reference := range references {
		selectors = append(selectors, appv1alpha1.WorkloadSelector{Kind: reference.GroupKind().String(), Name: reference.Name})
	}
	return selectors
}

func workloadLines(references []appv1alpha1.WorkloadReference) []string {
	if len(references) == 0 {
		return []string{"workloads: all"}
	}
	var names []string
	for _, reference := range references {
		names = append(names, Argument(reference))
	}
	return []string{"workloads: " + strings.Join(names, ", ")}
}
