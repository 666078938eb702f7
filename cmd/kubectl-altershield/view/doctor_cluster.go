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
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/version"
)

const (
	// minServer is the oldest version of the API server that the operator supports.
	minServer = "1.30"
	// maxSkew is how much clocks may differ: the header Date has whole seconds, and an answer takes a while.
	maxSkew = 10 * time.Second
	// maxLease is how old the renewal of a Lease may be. The leader renews it every two seconds and gives up after ten.
	maxLease = 30 * time.Second
	// manager is the name of the Deployment of the operator.
	manager = "altershieldoperator-controller-manager"
	// upgrade installs the present manifests.
	upgrade = "kubectl apply -k config/default"
)

// server examines the version of the API server.
func (i Installation) server() []Finding {
	running, err := version.ParseGeneric(i.Server)
	switch {
	case err != nil:
		return []Finding{unknown(TopicServer, ServerUnknown, i.Server)}
	case running.LessThan(version.MustParseGeneric(minServer)):
		return []Finding{problem(TopicServer, "", ServerTooOld, i.Server, minServer)}
	}
	return []Finding{ok(TopicServer, ServerSupported, i.Server, minServer)}
}

// clock compares the clock of this machine with that of the API server.
func (i Installation) clock() []Finding {
	if i.Remote.IsZero() {
		return []Finding{unknown(TopicClock, ClockUnknown)}
	}
	if skew := i.Local.Sub(i.Remote).Abs(); skew > maxSkew {
		return []Finding{problem(TopicClock, "", ClocksDiffer, shortly(skew))}
	}
	return []Finding{ok(TopicClock, ClocksAgree, shortly(maxSkew))}
}

// crds examines the definitions of the operator's kinds.
func (i Installation) crds() []Finding {
	if findings := i.CRDs.unread(TopicCRDs); findings != nil {
		return findings
	}
	const apply = "kubectl apply -k config/crd"
	var findings []Finding
	for _, kind := range Kinds() {
		at := slices.IndexFunc(i.CRDs.Items, func(crd unstructured.Unstructured) bool { return crd.GetName() == kind.CRD() })
		if at < 0 {
			findings = append(findings, problem(TopicCRDs, apply, CRDMissing, kind.CRD()))
			continue
		}
		crd := &i.CRDs.Items[at]
		if why := notTrue(crd, "Established"); why != "" {
			findings = append(findings, problem(TopicCRDs, "kubectl describe crd "+kind.CRD(), CRDNotEstablished, kind.CRD(), why))
		}
		fields := kind.compare(crd)
		if len(fields.lacks) > 0 {
			findings = append(findings, problem(TopicCRDs, apply, CRDOlder, kind.CRD(), some(fields.lacks)))
		}
		if len(fields.adds) > 0 {
			findings = append(findings, note(TopicCRDs, "", CRDNewer, kind.CRD(), some(fields.adds)))
		}
	}
	if len(findings) == 0 {
		return []Finding{ok(TopicCRDs, CRDsCurrent, count(len(Kinds())))}
	}
	return findings
}

// notTrue returns why a condition of an object isn't True; empty if it is.
func notTrue(object *unstructured.Unstructured, condition string) string {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, entry := range conditions {
		fields, _ := entry.(map[string]any)
		if fields["type"] == condition && fields["status"] == string(metav1.ConditionTrue) {
			return ""
		}
		if fields["type"] == condition {
			return fmt.Sprintf("%v: %v", fields["reason"], fields["message"])
		}
	}
	return condition + ": ?"
}

// operator examines the pods of the operator, and its version.
func (i Installation) operator() []Finding {
	if findings := i.Operators.unread(TopicOperator); findings != nil {
		return findings
	}
	deployment := operatorOf(i.Operators.Items)
	switch {
	case deployment == nil && i.outside() != "":
		return []Finding{note(TopicOperator, "", OperatorOutside, i.Namespace)}
	case deployment == nil:
		return []Finding{problem(TopicOperator, "kubectl get deployments -A -l app.kubernetes.io/name=altershield-operator", OperatorMissing, i.Namespace)}
	}
	wanted, found, _ := unstructured.NestedInt64(deployment.Object, "spec", "replicas")
	if !found {
		wanted = 1
	}
	ready, _, _ := unstructured.NestedInt64(deployment.Object, "status", "readyReplicas")
	finding := ok(TopicOperator, OperatorReady, count(int(ready)), count(int(wanted)))
	if ready < wanted || wanted == 0 {
		finding = problem(TopicOperator, i.describe(), OperatorNotReady, count(int(ready)), count(int(wanted)))
	}
	return []Finding{finding, i.version(deployment)}
}

// version compares the versions of the plugin and of the operator.
func (i Installation) version(deployment *unstructured.Unstructured) Finding {
	image := imageOf(deployment)
	operator := versionOfImage(image)
	switch skewOf(i.Plugin, operator) {
	case SkewNone:
		return ok(TopicOperator, VersionsFit, i.Plugin, operator)
	case SkewTooFar:
		return problem(TopicOperator, "", VersionSkew, i.Plugin, operator)
	}
	return note(TopicOperator, "", VersionUnknown, i.Plugin, image)
}

// outside returns the URL at which the API server calls an operator outside the cluster; empty for one inside.
func (i Installation) outside() string {
	for _, webhook := range i.allWebhooks() {
		if webhook.client.URL != nil {
			return *webhook.client.URL
		}
	}
	return ""
}

// lease examines whether the operator has a leader that works.
func (i Installation) lease() []Finding {
	if findings := i.Leases.unread(TopicLease); findings != nil {
		return findings
	}
	logs := fmt.Sprintf("kubectl logs -n %s deployment/%s", i.Namespace, manager)
	if len(i.Leases.Items) == 0 && i.outside() != "" {
		return []Finding{note(TopicLease, "", LeaseMissing, i.Namespace)} // it may run without leader election
	}
	if len(i.Leases.Items) == 0 {
		return []Finding{problem(TopicLease, i.describe(), LeaseMissing, i.Namespace)}
	}
	spec := i.Leases.Items[0].Spec
	if spec.HolderIdentity == nil || *spec.HolderIdentity == "" || spec.RenewTime == nil {
		return []Finding{problem(TopicLease, i.describe(), LeaseFree)}
	}
	holder, _, _ := strings.Cut(*spec.HolderIdentity, "_")
	switch age := i.now().Sub(spec.RenewTime.Time); {
	case age > maxLease:
		return []Finding{problem(TopicLease, logs, LeaseStale, holder, shortly(age))}
	case age < -maxLease:
		return []Finding{problem(TopicLease, "", LeaseAhead, holder, shortly(-age))}
	default:
		return []Finding{ok(TopicLease, LeaseFresh, holder, shortly(max(age, 0)))}
	}
}
