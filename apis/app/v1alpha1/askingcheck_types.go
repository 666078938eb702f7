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

// ParameterValue is a text, or a variable.
//
// +kubebuilder:validation:MaxLength=256
type ParameterValue string

// HTTPAnswer is how a plug-in answers.
//
// +kubebuilder:validation:Enum=Synchronous;Asynchronous
type HTTPAnswer string

const (
	// AnswerSynchronous means that the response has the verdict.
	AnswerSynchronous HTTPAnswer = "Synchronous"
	// AnswerAsynchronous means that the plug-in reports the verdict later, in a ChangeVerdict.
	AnswerAsynchronous HTTPAnswer = "Asynchronous"
)

// HTTPCheck asks a plug-in: an HTTP server that answers whether a release passes.
type HTTPCheck struct {
	// sourceRef names the VerificationSource of the type HTTP that is asked.
	SourceRef SourceReference `json:"sourceRef"`
	// answer is how the plug-in answers: Synchronous in the response, Asynchronous in the status of a ChangeVerdict that the operator creates
	// and names in the question. That verdict is final.
	// +kubebuilder:default=Synchronous
	// +optional
	Answer HTTPAnswer `json:"answer,omitempty"`
	// parameters are sent along. A value is a text, or one of the variables $namespace, $workload, $kind and $version, which are those of the
	// release.
	// +kubebuilder:validation:MaxProperties=16
	// +kubebuilder:validation:XValidation:rule="self.all(name, size(name) <= 63)",message="parameters have names of at most 63 characters"
	// +kubebuilder:validation:XValidation:rule="self.all(name, !self[name].startsWith('$') || self[name] in ['$namespace', '$workload', '$kind', '$version'])",message="the variables of parameters are $namespace, $workload, $kind and $version, each a value of its own"
	// +optional
	Parameters map[string]ParameterValue `json:"parameters,omitempty"`
}

// ConditionCheck reads a condition of an object in the namespace of the workload, such as the result of somebody's tests: True passes, False
// fails. The operator needs the permission to get it.
type ConditionCheck struct {
	// apiVersion is that of the object, such as tests.example.com/v1.
	// +kubebuilder:validation:Pattern=`^([a-z0-9.-]+/)?v[a-z0-9]+$`
	// +kubebuilder:validation:MaxLength=256
	APIVersion string `json:"apiVersion"`
	// kind is that of the object.
	// +kubebuilder:validation:Pattern=`^[A-Z][A-Za-z0-9]*$`
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
	// name is the name of the object. $workload and $version in it are those of the release.
	// +kubebuilder:validation:XValidation:rule="!self.replace('$workload', '').replace('$version', '').contains('$')",message="the variables of name are $workload and $version"
	// +kubebuilder:validation:Pattern=`^[a-z0-9$]([-a-zA-Z0-9.$]*[a-zA-Z0-9])?$`
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// type is the type of the condition.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=316
	Type string `json:"type"`
}
