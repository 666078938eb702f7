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

package workload

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

// Observed is a Kind in the mode Observe. Its workloads are untyped, in a cache of their own with all of them, and never written to. They carry
// none of the operator's labels and annotations.
type Observed interface {
	Kind
	// Sighting returns what a cached workload shows of its release.
	Sighting(workload client.Object) decide.Sighting
	// At returns a copy of a cached workload with the labels and annotations that it would have at a release that began at a time. It must
	// not be written.
	At(workload client.Object, release decide.Release, since time.Time) client.Object
	// Identify returns the revision of the recorded release of a workload, read from the API server; nil while there is none, or if the
	// workload has moved on.
	Identify(ctx context.Context, live client.Reader, record *appv1alpha1.ChangeWorkload) (*decide.Revision, error)
}

// Labelled is an Identifier whose pods may have no version label but the one that the operator sets on each of them.
type Labelled interface {
	Identifier
	// LabelsPods reports whether the operator sets the version label on pods, as nothing else does.
	LabelsPods() bool
}

// Identifier is a Kind that finds a release without its version label.
type Identifier interface {
	// Identify returns the revision of a workload with a version, read from the API server; nil while there is none. since is when the
	// release began.
	Identify(ctx context.Context, live client.Reader, workload *unstructured.Unstructured, version string, since time.Time) (*decide.Revision, error)
}
