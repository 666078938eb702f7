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

package scope

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"
)

func TestNotAtStartPassesWhatComesLater(t *testing.T) {
	g, namespace := NewWithT(t), &corev1.Namespace{}
	g.Expect(NotAtStart().Create(event.CreateEvent{Object: namespace, IsInInitialList: true})).To(BeFalse())
	g.Expect(NotAtStart().Create(event.CreateEvent{Object: namespace})).To(BeTrue())
	g.Expect(NotAtStart().Update(event.UpdateEvent{ObjectOld: namespace, ObjectNew: namespace})).To(BeTrue())
	g.Expect(NotAtStart().Delete(event.DeleteEvent{Object: namespace})).To(BeTrue())
}
