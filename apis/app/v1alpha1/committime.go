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

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CommitTimeOf returns the time of the commit that the release of a workload deploys, in the annotations of the workload, nil without a usable
// one. It has whole seconds.
func CommitTimeOf(annotations map[string]string) *metav1.Time {
	at, err := time.Parse(time.RFC3339, annotations[AnnotationCommitTime])
	if err != nil || at.Unix() <= 0 || !isWritable(at) {
		return nil
	}
	return &metav1.Time{Time: at.UTC().Truncate(time.Second)}
}
