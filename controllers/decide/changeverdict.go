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

package decide

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// ChangeVerdictName returns <changeworkload>--x--<release>-<hash>, with a hash of what asks: a policy may be created again under its name. A long
// name of a ChangeWorkload is shortened as by ShortName.
func ChangeVerdictName(changeWorkload string, release int64, policy types.UID, check string) string {
	sum := sha256.Sum256([]byte(string(policy) + "/" + check))
	ending := separator + strconv.FormatInt(release, 10) + "-" + hex.EncodeToString(sum[:])[:hashLength]
	return ShortName(changeWorkload, validation.DNS1123SubdomainMaxLength-len(ending)) + ending
}

// awaited returns the ChangeVerdict of an asynchronous check of a release, as the operator creates it. It goes with the record of the release.
func awaited(
	record *appv1alpha1.ChangeWorkload, policy *appv1alpha1.AppliedPolicy, check *appv1alpha1.VerificationCheck,
) *appv1alpha1.ChangeVerdict {
	return &appv1alpha1.ChangeVerdict{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: record.Namespace, Name: ChangeVerdictName(record.Name, record.Spec.Release, policy.UID, check.Name),
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: appv1alpha1.GroupVersion.String(), Kind: "ChangeWorkload", Name: record.Name, UID: record.UID,
			}},
		},
		Spec: appv1alpha1.ChangeVerdictSpec{
			Workload: appv1alpha1.ReleasedWorkload{Kind: record.Workload().GroupKind().String(), Name: record.Spec.AppName},
			Release:  record.Spec.Release, Version: record.Spec.Reversion, Policy: policy.Policy, Check: check.Name,
			Mode: LowerMode(policy.Mode, check.Mode),
		},
	}
}

// isAsynchronous reports whether the verdict of a check is awaited in a ChangeVerdict.
func isAsynchronous(check *appv1alpha1.VerificationCheck) bool {
	return check.HTTP != nil && check.HTTP.Answer == appv1alpha1.AnswerAsynchronous
}
