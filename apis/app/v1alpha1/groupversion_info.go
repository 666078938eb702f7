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

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group and version of every kind in this package.
var GroupVersion = schema.GroupVersion{Group: "app.ops.cloud.alipay.com", Version: "v1alpha1"}

// AddToScheme registers the kinds of this package.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&ChangeWorkload{}, &ChangeWorkloadList{},
		&ChangePod{}, &ChangePodList{},
		&OpsConfigInfo{}, &OpsConfigInfoList{},
		&ControlledKind{}, &ControlledKindList{},
		&ChangeFreeze{}, &ChangeFreezeList{},
		&BreakGlass{}, &BreakGlassList{},
		&ReleasePolicy{}, &ReleasePolicyList{},
		&ReleaseGate{}, &ReleaseGateList{},
		&ChangeApproval{}, &ChangeApprovalList{},
		&ChangeVerdict{}, &ChangeVerdictList{},
		&ChangeRecord{}, &ChangeRecordList{},
		&VerificationPolicy{}, &VerificationPolicyList{},
		&VerificationSource{}, &VerificationSourceList{},
		&ChangeSubscription{}, &ChangeSubscriptionList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
