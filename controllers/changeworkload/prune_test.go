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

package changeworkload

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// deaf finds what it is asked for, and deletes it without getting to know that.
type deaf struct{ client.Client }

func (deaf) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return nil
}

func (deaf) Delete(context.Context, client.Object, ...client.DeleteOption) error {
	return apierrors.NewTimeoutError("no answer", 0)
}

func TestTheNumbersOfARecordAreForgottenAlthoughTheAnswerToItsDeletionIsLost(t *testing.T) {
	g := NewWithT(t)
	older := appv1alpha1.ChangeWorkload{}
	older.Namespace, older.Name = "shop", "web--x--c6c45d23c098bdf181853a85b60b5d74"
	reconciler := &Reconciler{Client: deaf{}, numbers: newNumbers()}
	reconciler.numbers.raise(recordOf(&older), 2)
	g.Expect(reconciler.prune(t.Context(), []appv1alpha1.ChangeWorkload{older})).To(MatchError(ContainSubstring(
		"removing ChangeWorkload shop/web--x--c6c45d23c098bdf181853a85b60b5d74 of an older version")))
	g.Expect(reconciler.numbers.raise(recordOf(&older), 0)).To(BeZero(), "the version begins at 1 when it is released again")
}
