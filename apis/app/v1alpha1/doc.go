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

// Package v1alpha1 holds the API of AlterShield Operator: its kinds, such as ChangeWorkload (one release of a workload) and ChangePod (one
// batch of its pods under check), and its labels and annotations.
//
// +kubebuilder:object:generate=true
// +groupName=app.ops.cloud.alipay.com
package v1alpha1
