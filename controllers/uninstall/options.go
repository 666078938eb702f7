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

// Package uninstall removes AlterShield Operator from a cluster, whatever of it is there, and lists what it leaves. Workloads
// run on.
package uninstall

import (
	"errors"
	"flag"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// defaultPatience is longer than the minute for which the operator keeps the record of a release of which AlterShield Server
// doesn't take the end.
const defaultPatience = 90 * time.Second

// Options are what to remove.
type Options struct {
	// Namespace is the one that the operator runs in.
	Namespace string
	// Patience is how long a running operator gets to let its records go.
	Patience time.Duration
	// RecordsOnly removes the CRDs with all their objects, and nothing else.
	RecordsOnly bool
	// KeepRecords leaves the CRDs with all their objects, and what a package manager removes by itself.
	KeepRecords bool
}

// Bind defines the flags.
func (o *Options) Bind(flags *flag.FlagSet) {
	flags.StringVar(&o.Namespace, "namespace", appv1alpha1.SystemNamespace, "Namespace of the operator. It is deleted, unless its records are kept.")
	flags.DurationVar(&o.Patience, "patience", defaultPatience, "How long a running operator may take to let its records go.")
	flags.BoolVar(&o.RecordsOnly, "records-only", false, "Remove the CRDs with all their objects, and nothing else.")
	flags.BoolVar(&o.KeepRecords, "keep-records", false,
		"Remove only what would act, or be waited for, without the operator: webhook configurations and admission policies, the operator's Deployment, "+
			"and its finalizers. Helm runs this before it removes the rest.")
}

// Validate returns what is wrong with the flags.
func (o *Options) Validate() error {
	var problems []error
	if faults := validation.IsDNS1123Label(o.Namespace); len(faults) > 0 {
		problems = append(problems, fmt.Errorf("--namespace %q is not the name of a namespace: %s", o.Namespace, faults[0]))
	}
	if o.Patience < 0 {
		problems = append(problems, fmt.Errorf("--patience %s is negative", o.Patience))
	}
	if o.RecordsOnly && o.KeepRecords {
		problems = append(problems, errors.New("--records-only and --keep-records exclude each other"))
	}
	return errors.Join(problems...)
}
