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

import corev1 "k8s.io/api/core/v1"

// JobCheck runs a script in a pod, once a release, in the namespace of the workload: exit code 0 passes, any other one fails. The pod has no
// token of a ServiceAccount and conforms to the Pod Security Standard restricted. The operator needs the permission to create Jobs.
type JobCheck struct {
	// image is the image of the container.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Image string `json:"image"`
	// command is the entrypoint, that of the image if there is none. $(NAME) in it is the value of a variable of env.
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=4096
	// +kubebuilder:validation:XValidation:rule="self.map(part, size(part)).sum() <= 4096",message="command has at most 4096 characters in all"
	// +listType=atomic
	// +optional
	Command []string `json:"command,omitempty"`
	// args are the arguments of the entrypoint, those of the image if there are none and no command. $(NAME) in them is the value of a variable
	// of env.
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=4096
	// +kubebuilder:validation:XValidation:rule="self.map(part, size(part)).sum() <= 4096",message="args have at most 4096 characters in all"
	// +listType=atomic
	// +optional
	Args []string `json:"args,omitempty"`
	// env are environment variables.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	// +optional
	Env []JobVariable `json:"env,omitempty"`
	// runAsUser is the UID of the process, which isn't root.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=2147483647
	// +kubebuilder:default=65532
	// +optional
	RunAsUser int64 `json:"runAsUser,omitempty"`
	// timeoutSeconds is how long the Job may take, with the time in which its pod is scheduled and its image is pulled.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3600
	// +kubebuilder:default=300
	// +optional
	TimeoutSeconds int32 `json:"timeoutSeconds,omitempty"`
	// resources are those of the container.
	// +optional
	Resources *JobResources `json:"resources,omitempty"`
}

// JobVariable is an environment variable of a script.
type JobVariable struct {
	// name is the name of the variable.
	// +kubebuilder:validation:Pattern=`^[A-Za-z_][A-Za-z0-9_]*$`
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// value is a text, or one of the variables $namespace, $workload, $kind, $version and $release, which are those of the release.
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('$') || self.startsWith('$(') || self in ['$namespace', '$workload', '$kind', '$version', '$release']",message="the variables of env are $namespace, $workload, $kind, $version and $release, each a value of its own"
	// +optional
	Value ParameterValue `json:"value,omitempty"`
}

// JobResources are the resources of a container.
type JobResources struct {
	// requests are what is reserved for the container.
	// +kubebuilder:validation:MaxProperties=8
	// +optional
	Requests corev1.ResourceList `json:"requests,omitempty"`
	// limits are the most that the container gets.
	// +kubebuilder:validation:MaxProperties=8
	// +optional
	Limits corev1.ResourceList `json:"limits,omitempty"`
}
