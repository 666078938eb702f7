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
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// Installation is what doctor reads of a cluster: each part, or why it can't be read.
type Installation struct {
	// Namespace is that of the operator, Mine the one in which the rights of the user are reviewed.
	Namespace, Mine string
	// Plugin is the version of the plugin, Server that of the API server.
	Plugin, Server string
	// Local is the present time by this machine, Remote by the API server; zero if it doesn't tell.
	Local, Remote time.Time
	// Operators are the Deployments of the operator.
	Operators  Part[unstructured.Unstructured]
	CRDs       Part[unstructured.Unstructured]
	Mutating   Part[admissionregistrationv1.MutatingWebhookConfiguration]
	Validating Part[admissionregistrationv1.ValidatingWebhookConfiguration]
	Slices     Part[discoveryv1.EndpointSlice]
	Leases     Part[coordinationv1.Lease]
	Policies   Part[admissionregistrationv1.ValidatingAdmissionPolicy]
	Bindings   Part[admissionregistrationv1.ValidatingAdmissionPolicyBinding]
	// Namespaces are those with the label that opts in, Unstamped the Deployments without a version.
	Namespaces Part[metav1.PartialObjectMetadata]
	Unstamped  Part[metav1.PartialObjectMetadata]
	Trials     Part[TrialRelease]
	Records    Part[appv1alpha1.ChangeWorkload]
	// Objects are those of the kinds that have a condition.
	Objects Part[Conditioned]
	// NotBlocking reports whether the setting blocking is off.
	NotBlocking bool
	Unchecked   Part[corev1.Event]
	Rights      Part[Reviewed]
}

// Part is a part of what doctor reads.
type Part[T any] struct {
	Items []T
	// Lacks is the right that the user would need; nil if the part could be read.
	Lacks *Right
	// Failure is any other reason for which it couldn't be read.
	Failure string
	// Absent reports whether the cluster doesn't have the kind, More whether there are further objects.
	Absent, More bool
	// Rest is why those in the namespace of the operator couldn't be read beside others; empty if they could.
	Rest string
	// RestLacks is the right that those would take; nil if it isn't for that.
	RestLacks *Right
}

// TrialRelease is the answer to a dry run that creates a Deployment.
type TrialRelease struct {
	Namespace string
	Trial     Trial
	// Failure is the error where the API server could not answer.
	Failure string
	// NotEnforced reports whether Deployments are not enforced, so that nothing stamps one; false if that isn't known.
	NotEnforced bool
}

// Reviewed is a right of the user.
type Reviewed struct {
	// Verb is the one of the plugin that needs the right.
	Verb  string
	Right Right
	May   bool
}

// Diagnosis is what doctor found.
type Diagnosis struct {
	Kind       string `json:"kind"`
	APIVersion string `json:"apiVersion"`
	// Problems counts the findings whose result is Problem.
	Problems int       `json:"problems"`
	Items    []Finding `json:"items"`
}

// Finding is one fact about an installation.
type Finding struct {
	Topic   Topic   `json:"topic"`
	Result  Result  `json:"result"`
	Symptom Symptom `json:"symptom"`
	// Values are those of the sentence about the symptom.
	Values []string `json:"values,omitempty"`
	// Help is the command that helps; empty if there is none.
	Help string `json:"help,omitempty"`
}

// Result is what a finding means. The values are a contract.
type Result string

const (
	// ResultOK means that all is well.
	ResultOK Result = "OK"
	// ResultProblem means that something has to be done.
	ResultProblem Result = "Problem"
	// ResultNote means that something is worth knowing.
	ResultNote Result = "Note"
	// ResultUnknown means that it wasn't examined.
	ResultUnknown Result = "Unknown"
)

// DiagnosisOf examines an installation.
func DiagnosisOf(installation Installation) Diagnosis {
	diagnosis := Diagnosis{Kind: "Diagnosis", APIVersion: APIVersion, Items: []Finding{}}
	for _, examine := range []func(Installation) []Finding{
		Installation.server, Installation.clock, Installation.crds, Installation.operator, Installation.lease, Installation.webhooks,
		Installation.endpoints, Installation.policies, Installation.namespaces, Installation.trial, Installation.objects, Installation.order,
		Installation.blocking, Installation.suspended, Installation.finalizers, Installation.rights,
	} {
		diagnosis.Items = append(diagnosis.Items, examine(installation)...)
	}
	for _, finding := range diagnosis.Items {
		if finding.Result == ResultProblem {
			diagnosis.Problems++
		}
	}
	return diagnosis
}

func ok(topic Topic, symptom Symptom, values ...string) Finding {
	return Finding{Topic: topic, Result: ResultOK, Symptom: symptom, Values: values}
}

func note(topic Topic, help string, symptom Symptom, values ...string) Finding {
	return Finding{Topic: topic, Result: ResultNote, Symptom: symptom, Values: values, Help: help}
}

func problem(topic Topic, help string, symptom Symptom, values ...string) Finding {
	return Finding{Topic: topic, Result: ResultProblem, Symptom: symptom, Values: values, Help: help}
}

func unknown(topic Topic, symptom Symptom, values ...string) Finding {
	return Finding{Topic: topic, Result: ResultUnknown, Symptom: symptom, Values: values}
}

// unread returns why a part could not be read; none if it could. What the user may not read is no problem by itself.
func (p Part[T]) unread(topic Topic) []Finding {
	switch {
	case p.Lacks != nil:
		return []Finding{unknown(topic, MayNotRead, p.Lacks.String())}
	case p.Absent:
		return []Finding{unknown(topic, KindAbsent)}
	case p.Failure != "":
		return []Finding{problem(topic, "", CanNotRead, p.Failure)}
	}
	return nil
}

// now is the present time by the clock that the cluster goes by.
func (i Installation) now() time.Time {
	if i.Remote.IsZero() {
		return i.Local
	}
	return i.Remote
}

// describe is the command that shows the operator's own pods.
func (i Installation) describe() string {
	return fmt.Sprintf("kubectl describe pods -n %s -l app.kubernetes.io/name=altershield-operator", i.Namespace)
}

// some returns the first of some names, and how many others there are.
func some(names []string) string {
	const shown = 3
	if len(names) <= shown {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s, … (%d)", strings.Join(names[:shown], ", "), len(names))
}

func count(number int) string { return fmt.Sprint(number) }

// shortly returns a duration for people.
func shortly(duration time.Duration) string { return duration.Truncate(time.Second).String() }
