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

package command

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
)

// warnings collects the warnings of the API server.
type warnings struct {
	lock  sync.Mutex
	texts []string
}

// warned is the key of the warnings that a context collects.
type warned struct{}

// HandleWarningHeaderWithContext keeps a warning: where the context of the request collects them, else here.
func (w *warnings) HandleWarningHeaderWithContext(ctx context.Context, _ int, _ string, text string) {
	if collected, is := ctx.Value(warned{}).(*warnings); is {
		w = collected
	}
	w.lock.Lock()
	defer w.lock.Unlock()
	w.texts = append(w.texts, text)
}

// take returns the warnings since the last call.
func (w *warnings) take() []string {
	w.lock.Lock()
	defer w.lock.Unlock()
	texts := w.texts
	w.texts = nil
	return texts
}

// statusOf returns the answer of the API server in an error.
func statusOf(err error) (metav1.Status, bool) {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) {
		return metav1.Status{}, false
	}
	return answer.Status(), true
}

// lacksRight reports whether a request failed because the user lacks the right.
func lacksRight(err error) bool {
	status, ok := statusOf(err)
	return ok && view.LacksRight(status)
}

// passes reports whether an error may pass by itself, so that what is followed is read again.
func passes(err error) bool {
	if status, answered := statusOf(err); answered {
		return status.Code >= 500 || status.Code == 429
	}
	return !meta.IsNoMatchError(err)
}

// explain returns an error as a sentence for the user: what failed, and what helps.
func explain(err error) error {
	var unknown *meta.NoKindMatchError
	switch {
	case lacksRight(err):
		status, _ := statusOf(err)
		return errors.New(missingRight(status.Message))
	case errors.As(err, &unknown) && unknown.GroupKind.Group != "" && unknown.GroupKind.Group != appv1alpha1.GroupVersion.Group:
		return fmt.Errorf("this cluster doesn't have the kind (%w)", err)
	case meta.IsNoMatchError(err):
		return fmt.Errorf("this cluster doesn't have the kind: is AlterShield Operator installed? (%w)", err)
	case isTimeout(err), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("the API server didn't answer in time; --request-timeout sets how long to wait (%w)", err)
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("the API server doesn't accept your credentials: log in again (%w)", err)
	}
	return err
}

// missingRight turns the sentence of the API server about a missing right into a shorter one.
func missingRight(message string) string {
	pattern := regexp.MustCompile(`User "(.*?)" cannot (\S+) resource "(.*?)" in API group "(.*?)"(?: in the namespace "(.*?)"| at the cluster scope)?`)
	found := pattern.FindStringSubmatch(message)
	if found == nil {
		return message
	}
	resource, subresource, _ := strings.Cut(found[3], "/")
	right := view.Right{Verb: found[2], Resource: resource, Subresource: subresource, Group: found[4]}
	where := "in all namespaces"
	if found[5] != "" {
		where = "in namespace " + found[5]
	}
	return fmt.Sprintf("you (%s) may not %s %s: ask an administrator for this right, or name another namespace with -n", found[1], right, where)
}
