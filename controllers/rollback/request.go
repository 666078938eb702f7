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

package rollback

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

// Request asks for a rollback.
type Request struct {
	// Deployment is what goes back.
	Deployment client.ObjectKey
	// From is the release to leave; its zero value is whichever the Deployment is at.
	From decide.Release
	// To is the version to go back to. Empty: the newest healthy ReplicaSet where the reason is that pods don't run, else the
	// newest verified version.
	To string
	// Reason is why.
	Reason appv1alpha1.RollbackReason
	// Message says more, for people.
	Message string
	// Patience is what the pods are judged by once more, where the reason is that they don't run.
	Patience decide.Patience
	// User asks for it; empty where the operator decided.
	User string
	// Annotation is the value of the annotation that asks for it; empty where nobody asked in this way. Once the Deployment has
	// another one, that is another request.
	Annotation string
}
