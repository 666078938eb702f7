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

package decide_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/traas-stack/altershield-operator/controllers/decide"
)

func TestPodsOfMatch(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Labels:          map[string]string{"app": "web", "revision": "2"},
		OwnerReferences: []metav1.OwnerReference{{UID: "set-1", Controller: ptr.To(true)}},
	}}
	web := labels.SelectorFromSet(labels.Set{"app": "web"})
	for _, row := range []struct {
		name  string
		pods  decide.PodsOf
		match bool
	}{
		{"its owner", decide.PodsOf{Owner: "set-1"}, true},
		{"another owner", decide.PodsOf{Owner: "set-2"}, false},
		{"an owner between", decide.PodsOf{Owner: "set-2", Through: []types.UID{"set-3", "set-1"}}, true},
		{"its label", decide.PodsOf{Owner: "set-1", Label: "revision", Value: "2"}, true},
		{"another label", decide.PodsOf{Owner: "set-1", Label: "revision", Value: "1"}, false},
		{"its labels", decide.PodsOf{Selector: web}, true},
		{"its labels, of another revision", decide.PodsOf{Selector: web, Label: "revision", Value: "1"}, false},
		{"other labels", decide.PodsOf{Selector: labels.Nothing(), Label: "revision", Value: "2"}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			NewWithT(t).Expect(row.pods.Match(pod)).To(Equal(row.match))
		})
	}
	NewWithT(t).Expect(decide.PodsOf{Owner: "set-1"}.Match(&corev1.Pod{})).To(BeFalse(), "nothing owns it")
}
