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

// Package replaytool implements `manager replay` and the verb replay of the plugin: it reads a policy, the record of a release and the series
// that are stored, and finds what the checks of the policy that look at metrics would have said. It changes nothing.
package replaytool

import (
	"errors"
	"flag"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// Usage is how the command is used.
const Usage = `Usage:
  manager replay --policy <policy.yaml> --workload <namespace>/<name> --release <number>
        Print what the checks of a VerificationPolicy that look at metrics would have said about a past release.
  manager replay --policy <policy.yaml> --workload <namespace>/<name> --from <time> --to <time> --new-pods <regular expression>
        The same of any past, without a record: as if the pods whose names match had been released at a time.
Exits with 0 if no check would have failed, with 4 if one would have, and with 1 after an error. Nothing is changed in the cluster. The
checks have all false alarms that are allowed for a release: other policies that concern the workload are not known.
Flags:
`

// Options configures what is replayed.
type Options struct {
	// Policy is the file of the policy, Workload the workload as namespace/name, Kind its kind and group, Release the number of the release.
	Policy, Workload, Kind string
	Release                int64
	// From and To are the times of a release without a record, NewPods a pattern of the names of its pods.
	From, To, NewPods string
	// SourceURL is the address of the source to ask instead of the VerificationSources, Labels those of its series.
	SourceURL string
	Labels    appv1alpha1.SourceLabels
	// Namespace is the namespace of the operator.
	Namespace string
	// Output is how the report is printed: table or json.
	Output string
}

// Bind defines the flags.
func (o *Options) Bind(flags *flag.FlagSet) {
	flags.StringVar(&o.Policy, "policy", "", "File with the VerificationPolicy, in YAML.")
	flags.StringVar(&o.Workload, "workload", "", "Workload, as `namespace/name`.")
	flags.StringVar(&o.Kind, "kind", "Deployment.apps", "Kind and group of the workload.")
	flags.Int64Var(&o.Release, "release", 0, "Number of the release: the column RELEASE of kubectl get cw -o wide.")
	flags.StringVar(&o.From, "from", "", "Time at which a release without a record began, such as 2026-11-21T10:00:00Z.")
	flags.StringVar(&o.To, "to", "", "Time until which it is watched.")
	flags.StringVar(&o.NewPods, "new-pods", "", "Regular expression for the names of its pods.")
	flags.StringVar(&o.SourceURL, "source-url", "",
		"Address of a Prometheus to ask, without credentials, instead of the VerificationSources that the checks name.")
	flags.StringVar(&o.Labels.Pod, "pod-label", "pod", "Label with the name of the pod, for --source-url.")
	flags.StringVar(&o.Labels.Namespace, "namespace-label", "namespace", "Label with the namespace of the pod, for --source-url.")
	flags.StringVar(&o.Namespace, "namespace", appv1alpha1.SystemNamespace, "Namespace of the operator, which has the VerificationSources.")
	flags.StringVar(&o.Output, "o", outputTable, "Output: table or json.")
}

const outputTable, outputJSON = "table", "json"

// asked is what the options ask for.
type asked struct {
	namespace, name string
	kind            schema.GroupKind
	from, to        time.Time
	newPods         *regexp.Regexp
}

// Check returns an error that names every invalid option.
func (o *Options) Check() error {
	_, err := o.parse()
	return err
}

// parse returns what the options ask for, or one error that names every invalid flag.
func (o *Options) parse() (parsed asked, err error) {
	var problems []error
	var found bool
	if parsed.namespace, parsed.name, found = strings.Cut(o.Workload, "/"); !found || parsed.namespace == "" || parsed.name == "" {
		problems = append(problems, fmt.Errorf("--workload %q is not namespace/name", o.Workload))
	}
	parsed.kind = schema.ParseGroupKind(o.Kind)
	if o.Policy == "" {
		problems = append(problems, errors.New("--policy is needed"))
	}
	if o.Output != outputTable && o.Output != outputJSON {
		problems = append(problems, fmt.Errorf("-o %q is neither table nor json", o.Output))
	}
	if address, err := url.Parse(o.SourceURL); o.SourceURL != "" && (err != nil || address.Host == "") {
		problems = append(problems, fmt.Errorf("--source-url %q is not an address such as http://127.0.0.1:9090", o.SourceURL))
	}
	stored := o.From != "" || o.To != "" || o.NewPods != ""
	if stored == (o.Release > 0) {
		problems = append(problems, errors.New("either --release is needed, or --from, --to and --new-pods"))
	}
	if stored && o.Release <= 0 {
		problems = append(problems, o.parsePast(&parsed)...)
	}
	return parsed, errors.Join(problems...)
}

func (o *Options) parsePast(parsed *asked) (problems []error) {
	for _, of := range []struct {
		flag, value string
		at          *time.Time
	}{{"--from", o.From, &parsed.from}, {"--to", o.To, &parsed.to}} {
		at, err := time.Parse(time.RFC3339, of.value)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s %q is not a time such as 2026-11-21T10:00:00Z", of.flag, of.value))
		}
		*of.at = at
	}
	if len(problems) == 0 && !parsed.from.Before(parsed.to) {
		problems = append(problems, fmt.Errorf("--to %s is not after --from %s", o.To, o.From))
	}
	pattern, err := regexp.Compile(o.NewPods)
	if err != nil || o.NewPods == "" {
		problems = append(problems, fmt.Errorf("--new-pods %q is not a regular expression for the names of pods", o.NewPods))
	}
	parsed.newPods = pattern
	return problems
}
