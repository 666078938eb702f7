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
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/settings"
)

// SettingList is the settings of the operator.
type SettingList struct {
	Kind       string    `json:"kind"`
	APIVersion string    `json:"apiVersion"`
	Items      []Setting `json:"items"`
}

// Setting is a setting of the operator.
type Setting struct {
	Name string `json:"name"`
	// Enable and Content are its value in effect.
	Enable  bool   `json:"enable"`
	Content string `json:"content,omitempty"`
	// Default reports whether that is the default.
	Default bool `json:"default"`
	// Problem is why the object has no effect; empty if it has.
	Problem string `json:"problem,omitempty"`
	Remark  string `json:"remark,omitempty"`
}

// SettingsOf returns the settings in effect, given the objects in the namespace of the operator: one of a name, or all if it is empty.
func SettingsOf(objects []appv1alpha1.OpsConfigInfo, name string) (SettingList, error) {
	list := SettingList{Kind: "SettingList", APIVersion: APIVersion, Items: []Setting{}}
	for _, known := range slices.Sorted(maps.Keys(settings.Defaults())) {
		if name == "" || name == known {
			list.Items = append(list.Items, settingOf(known, objectOf(objects, known)))
		}
	}
	if len(list.Items) == 0 {
		return SettingList{}, unknownSetting(name)
	}
	return list, nil
}

func unknownSetting(name string) error {
	return fmt.Errorf("there is no setting %s; the settings are %s", name, strings.Join(slices.Sorted(maps.Keys(settings.Defaults())), ", "))
}

func objectOf(objects []appv1alpha1.OpsConfigInfo, name string) *appv1alpha1.OpsConfigInfo {
	for i := range objects {
		if objects[i].Name == name {
			return &objects[i]
		}
	}
	return nil
}

func settingOf(name string, object *appv1alpha1.OpsConfigInfo) Setting {
	value, usual := settings.InEffect(name, object), settings.Defaults()[name]
	setting := Setting{
		Name: name, Enable: value.Enable, Content: value.Content, Remark: usual.Remark,
		Default: value == appv1alpha1.ConfigValue{Enable: usual.Enable, Content: usual.Content},
	}
	if object == nil {
		return setting
	}
	setting.Remark = object.Spec.Remark
	if problem := settings.Check(name, object.Spec); problem != nil {
		setting.Problem = problem.Error()
	}
	if effective := meta.FindStatusCondition(object.Status.Conditions, appv1alpha1.ConditionEffective); effective != nil &&
		effective.Status == metav1.ConditionFalse && effective.ObservedGeneration == object.Generation {
		setting.Problem = effective.Message
	}
	return setting
}

// Values of a setting that switch it on and off, and leave its content.
const (
	on  = "on"
	off = "off"
)

// SettingOf returns the request that changes a setting to on, off or a content, and the object with it. object is nil if there is none yet.
func SettingOf(namespace, name, value string, object *appv1alpha1.OpsConfigInfo) (Request, *appv1alpha1.OpsConfigInfo, error) {
	usual, known := settings.Defaults()[name]
	if !known {
		return Request{}, nil, unknownSetting(name)
	}
	request := Request{Kind: SettingRequest, APIVersion: APIVersion, Namespace: namespace, Object: "opsconfiginfo/" + name}
	changed := &appv1alpha1.OpsConfigInfo{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: usual}
	if object != nil {
		changed = object.DeepCopy()
	}
	before := changed.Spec
	switch value {
	case on, off:
		changed.Spec.Enable = value == on
	default:
		if usual.Content == "" {
			return Request{}, nil, fmt.Errorf("the setting %s is on or off: it has no other value", name)
		}
		changed.Spec.Enable, changed.Spec.Content = true, value
	}
	if err := settings.Check(name, changed.Spec); err != nil {
		return Request{}, nil, err
	}
	if before.Enable != changed.Spec.Enable {
		request.Changes = append(request.Changes, fmt.Sprintf("enable: %t -> %t", before.Enable, changed.Spec.Enable))
	}
	if before.Content != changed.Spec.Content {
		request.Changes = append(request.Changes, fmt.Sprintf("content: %s -> %s", before.Content, changed.Spec.Content))
	}
	if len(request.Changes) == 0 && object != nil {
		return Request{}, nil, fmt.Errorf("the setting %s has this value already", name)
	}
	return request, changed, nil
}
