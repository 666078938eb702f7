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

import "k8s.io/apimachinery/pkg/types"

// PodSummary identifies one pod and, once it was checked, has its verdict.
type PodSummary struct {
	// app is the application, which is the name of the workload.
	// +optional
	App string `json:"app,omitempty"`
	// hostName is the host name inside the pod.
	// +optional
	HostName string `json:"hostName,omitempty"`
	// ip is the pod's address when it finished.
	// +optional
	IP string `json:"ip,omitempty"`
	// namespace is the pod's namespace.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// pod is the pod's name; "change order" for the check of a whole release.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Pod string `json:"pod"`
	// uid is the pod's UID. It distinguishes the pod from one recreated with the same name. Summaries from before v0.2 have none.
	// +kubebuilder:validation:Type=string
	// +optional
	UID types.UID `json:"uid,omitempty"`
	// finishTimeUnix is the time at which the pod was seen finished, in Unix seconds.
	// +optional
	FinishTimeUnix int64 `json:"finishTimeUnix,omitempty"`
	// restarts is how often the containers of the pod had been restarted when it was seen finished.
	// +optional
	Restarts int32 `json:"restarts,omitempty"`
	// workSpace is the AlterShield work space, "default" unless the server has others.
	// +optional
	WorkSpace string `json:"workSpace,omitempty"`
	// verdict is the result of the check: pass or unpass.
	// +optional
	Verdict Verdict `json:"verdict,omitempty"`
	// message is the reason of the verdict.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Message string `json:"message,omitempty"`
}
