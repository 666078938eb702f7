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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

// Name is what a user calls a workload: web, deployment/web, shop/web or shop/deployment/web.
type Name struct {
	// Namespace and Kind are empty where the user named none.
	Namespace, Kind, Name string
}

// String returns the name as kind/name, or as the name alone.
func (n Name) String() string {
	if n.Kind == "" {
		return n.Name
	}
	return n.Kind + "/" + n.Name
}

// ParseName returns what an argument may name, likelier readings first: before one slash stands a kind or a namespace.
func ParseName(argument string) ([]Name, error) {
	parts := strings.Split(argument, "/")
	if slices.Contains(parts, "") || len(parts) > 3 {
		return nil, fmt.Errorf("%q names no workload: use NAME, KIND/NAME or NAMESPACE/NAME", argument)
	}
	switch {
	case len(parts) == 1:
		return []Name{{Name: parts[0]}}, nil
	case len(parts) == 3:
		return []Name{{Namespace: parts[0], Kind: parts[1], Name: parts[2]}}, nil
	}
	byKind := Name{Kind: parts[0], Name: parts[1]}
	if len(BuiltIn(parts[0])) > 0 || strings.Contains(parts[0], ".") { // no namespace has a dot
		return []Name{byKind}, nil
	}
	return []Name{byKind, {Namespace: parts[0], Name: parts[1]}}, nil
}

// builtInKind is a kind that is known without asking the API server.
type builtInKind struct {
	apiVersion, kind, resource string
	short                      []string
}

func builtInKinds() []builtInKind {
	return []builtInKind{
		{"apps/v1", "Deployment", "deployments", []string{"deploy"}},
		{"apps/v1", "StatefulSet", "statefulsets", []string{"sts"}},
		{"apps/v1", "DaemonSet", "daemonsets", []string{"ds"}},
		{"batch/v1", "CronJob", "cronjobs", []string{"cj"}},
		{"batch/v1", "Job", "jobs", nil},
	}
}

// BuiltIn returns the built-in kinds that a word names, all for an empty one.
func BuiltIn(word string) []appv1alpha1.WorkloadReference {
	resource, group, _ := strings.Cut(word, ".")
	var found []appv1alpha1.WorkloadReference
	for _, known := range builtInKinds() {
		named := strings.EqualFold(known.kind, resource) || strings.EqualFold(known.resource, resource) || slices.Contains(known.short, strings.ToLower(resource))
		inGroup := group == "" || strings.HasPrefix(known.apiVersion, group+"/") || known.apiVersion == group
		if word == "" || named && inGroup {
			found = append(found, appv1alpha1.WorkloadReference{APIVersion: known.apiVersion, Kind: known.kind})
		}
	}
	return found
}

// Labels returns the values of LabelDeploymentName and of LabelWorkload that the records of a workload of a built-in kind may have.
func (n Name) Labels() (deployments, others []string) {
	for _, known := range builtInKinds() {
		if !n.mayBe(known.resource) {
			continue
		}
		if known.kind == "Deployment" {
			deployments = append(deployments, decide.LabelValue(n.Name))
		} else {
			others = append(others, decide.LabelValue(known.resource+"."+n.Name))
		}
	}
	return deployments, others
}

// Argument returns a workload as an argument of kubectl. Of a declared kind it has the group as well: another kind may have its name, and kubectl
// takes any of them.
func Argument(reference appv1alpha1.WorkloadReference) string {
	if !IsBuiltIn(reference) {
		return FullArgument(reference)
	}
	return strings.ToLower(reference.Kind) + "/" + reference.Name
}

// Arguments returns the workload as arguments of the plugin, which name it in whatever namespace a user works.
func (f Facts) Arguments() string { return Argument(f.Reference) + " -n " + f.Namespace }

// FullArgument returns a workload as an argument of kubectl that no other kind of the same name takes.
func FullArgument(reference appv1alpha1.WorkloadReference) string {
	return strings.ToLower(reference.GroupKind().String()) + "/" + reference.Name
}

// ResourceOf returns the resource of a workload: the label of its records has it, and those of Deployments have none.
func ResourceOf(facts Facts) string {
	if facts.Resource != "" {
		return facts.Resource
	}
	for i := range facts.Records {
		if resource, _, found := strings.Cut(facts.Records[i].Labels[appv1alpha1.LabelWorkload], "."); found {
			return resource
		}
	}
	for _, known := range builtInKinds() {
		if known.kind == facts.Reference.Kind && known.apiVersion == facts.Reference.APIVersion {
			return known.resource
		}
	}
	return strings.ToLower(facts.Reference.Kind) + "s"
}

// Selector returns the labels that the records of a workload have in common with those of a record.
func Selector(record metav1.Object) map[string]string {
	for _, label := range []string{appv1alpha1.LabelWorkload, appv1alpha1.LabelDeploymentName} {
		if value, found := record.GetLabels()[label]; found {
			return map[string]string{label: value}
		}
	}
	return nil
}

// mayBe reports whether a resource is of the kind that a user named.
func (n Name) mayBe(resource string) bool {
	if n.Kind == "" {
		return true
	}
	word, _, _ := strings.Cut(strings.ToLower(n.Kind), ".")
	for _, known := range builtInKinds() {
		if slices.Contains(known.short, word) {
			return known.resource == resource
		}
	}
	return word == resource || word+"s" == resource || word+"es" == resource || strings.TrimSuffix(word, "y")+"ies" == resource
}

// isGroup reports whether a user may name an API version by GROUP or VERSION.GROUP, as kubectl takes them; any if there is none.
func isGroup(named, apiVersion string) bool {
	group, version, _ := strings.Cut(apiVersion, "/")
	return named == "" || strings.EqualFold(named, group) || strings.EqualFold(named, version+"."+group)
}

// Of returns the records of the workloads that a name may mean, by their kinds: the API of a declared kind may have changed its version since.
func (n Name) Of(records []appv1alpha1.ChangeWorkload) map[schema.GroupKind][]appv1alpha1.ChangeWorkload {
	found := map[schema.GroupKind][]appv1alpha1.ChangeWorkload{}
	for i := range records {
		reference := records[i].Workload()
		resource, _, _ := strings.Cut(records[i].Labels[appv1alpha1.LabelWorkload], ".")
		if resource == "" {
			resource = "deployments"
		}
		word, group, _ := strings.Cut(n.Kind, ".")
		isKind := strings.EqualFold(word, reference.Kind) || n.mayBe(resource)
		if reference.Name == n.Name && isKind && isGroup(group, reference.APIVersion) {
			found[reference.GroupKind()] = append(found[reference.GroupKind()], records[i])
		}
	}
	return found
}
