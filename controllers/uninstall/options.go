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

// Package uninstall removes AlterShield Operator, or the remains of it, from a cluster and lists what stays. Workloads keep running.
package uninstall

import (
	"errors"
	"flag"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// defaultPatience exceeds the minute for which the operator keeps a record while AlterShield Server doesn't close its order.
const defaultPatience = 90 * time.Second

// Options configures the removal.
type Options struct {
	// Namespace is the namespace of the operator.
	Namespace string
	// Patience is the time that a running operator gets to release its records.
	Patience time.Duration
	// RecordsOnly removes only the CRDs with all their objects.
	RecordsOnly bool
	// KeepRecords keeps the CRDs with all their objects, and everything that a package manager removes by itself.
	KeepRecords bool
}

// Bind defines the flags.
func (o *Options) Bind(flags *flag.FlagSet) {
	flags.StringVar(&o.Namespace, "namespace", appv1alpha1.SystemNamespace, "Namespace of the operator. It is deleted if it was made for the operator, unless the records are kept.")
	flags.DurationVar(&o.Patience, "patience", defaultPatience, "How long a running operator may take to release its records (finalizers).")
	flags.BoolVar(&o.RecordsOnly, "records-only", false, "Remove the CRDs with all their objects, and nothing else.")
	flags.BoolVar(&o.KeepRecords, "keep-records", false,
		"Remove only what must not outlive the operator: webhook configurations and admission policies, the operator's Deployment, "+
			"and its finalizers. Helm runs this before it removes the rest.")
}

// Validate returns one error that names every invalid flag.
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
