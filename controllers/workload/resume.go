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
	"encoding/json"
	"fmt"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ResumeCommand returns the kubectl command that resumes the paused rollout of a workload, by the originals from before the pause. It
// is empty where the pause has been changed since.
func ResumeCommand(kind Kind, workload client.Object, originals string) (string, error) {
	if resumable, ok := kind.(Resumable); ok {
		return fmt.Sprintf("kubectl -n %s %s %s/%s", workload.GetNamespace(), resumable.ResumeSubcommand(), Noun(kind), workload.GetName()), nil
	}
	pauser, ok := kind.(Pauser)
	if !ok {
		return "", fmt.Errorf("rollouts of kind %s can't be paused", kind.GroupVersionKind().Kind)
	}
	operations := pauser.Resume(workload, originals)
	if len(operations) == 0 {
		return "", nil
	}
	patch, err := json.Marshal(operations)
	if err != nil {
		return "", fmt.Errorf("encoding the patch that resumes %s: %w", Phrase(kind, workload.GetName()), err)
	}
	quoted := strings.ReplaceAll(string(patch), "'", `\u0027`) // within JSON, a quotation mark is in a string
	return fmt.Sprintf("kubectl -n %s patch %s %s --type=json -p '%s'", workload.GetNamespace(), Argument(kind), workload.GetName(), quoted), nil
}
