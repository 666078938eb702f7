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

package declared

import (
	"net"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// listing reads the units that are reported in place of pods.
type listing struct {
	// list leads to the units. If it is empty, the workload is the only unit.
	list Path
	name string
}

// Units returns the units that are reported in place of pods.
func (l listing) Units(object client.Object) []appv1alpha1.PodSummary {
	if l.list.isZero() {
		return []appv1alpha1.PodSummary{unit(object, object.GetName(), object.GetUID())}
	}
	elements, _ := l.list.find(raw(object)).([]any)
	units := make([]appv1alpha1.PodSummary, 0, len(elements))
	for _, element := range elements {
		fields, _ := element.(map[string]any)
		name, _ := fields[l.name].(string)
		known := slices.ContainsFunc(units, func(other appv1alpha1.PodSummary) bool { return other.Pod == name })
		if name != "" && !known {
			units = append(units, unit(object, name, object.GetUID()+types.UID("/"+name)))
		}
	}
	return units
}

func unit(object client.Object, name string, uid types.UID) appv1alpha1.PodSummary {
	summary := appv1alpha1.PodSummary{
		App: object.GetName(), HostName: name, Namespace: object.GetNamespace(), Pod: name, UID: uid, WorkSpace: "default",
	}
	if net.ParseIP(name) != nil {
		summary.IP = name
	}
	return summary
}
