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

package routers

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/go-logr/logr"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/rollback"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// Roller rolls workloads back to an earlier version, or parks their releases.
type Roller interface {
	// RollBack writes the rollback. The error is a *rollback.Obstacle if another attempt would not help, a conflict if the
	// workload has changed meanwhile, and otherwise the error of the API server.
	RollBack(ctx context.Context, request rollback.Request) (*appv1alpha1.Rollback, error)
	// Park records that a release is parked. The errors are those of RollBack, and *rollback.NotStuck if it is to be tried again.
	Park(ctx context.Context, request rollback.Request) error
}

// maxRollbackAttempts limits the attempts on a workload that changes: controllers may write its status at any time.
const maxRollbackAttempts = 3

// rollbacks rolls workloads back, or parks their releases, for users who may patch them.
type rollbacks struct {
	kinds workload.Kinds
	// live reads from the API server.
	live   client.Reader
	roller Roller
	access access
}

// rollbackResponse describes a rollback that was written, or a park, which has no target.
type rollbackResponse struct {
	reply
	Kind        string `json:"kind"`
	Namespace   string `json:"namespace"`
	Name        string `json:"name"`
	FromVersion string `json:"fromVersion"`
	FromRelease int64  `json:"fromRelease"`
	ToVersion   string `json:"toVersion,omitempty"`
	ToRelease   int64  `json:"toRelease,omitempty"`
}

// refuse rejects requests without a token, or with too large a body.
func (r *rollbacks) refuse(w http.ResponseWriter, request *http.Request) (int, any) {
	if request.ContentLength > maxRollbackBytes {
		return rollbackRequestTooLarge().answer(w)
	}
	return r.access.refuse(w, request)
}

func (r *rollbacks) handle(w http.ResponseWriter, request *http.Request, _ func()) (int, any) {
	wanted, err := r.receive(w, request)
	made := &appv1alpha1.Rollback{}
	if err == nil {
		made, err = r.rollBack(request.Context(), wanted)
	}
	var denied *denial
	switch {
	case errors.As(err, &denied):
		if wanted.User != "" { // callers without access leave no trace in the log of decisions
			noun, reason := actionOf(wanted)
			logOf(request, wanted).Info("Denied a requested "+noun+": "+denied.message, "reason", reason)
		}
		return denied.answer(w)
	case err != nil:
		noun, _ := actionOf(wanted)
		logOf(request, wanted).Error(err, "A requested "+noun+" failed")
		// It may be written all the same, if only the response of the API server was lost.
		return http.StatusInternalServerError, reply{Message: fmt.Sprintf(
			"the %s of %s may have failed: check the %s before you try again; the operator's log has the error",
			noun, phrase(wanted), wanted.Kind.GroupVersionKind().Kind)}
	}
	return http.StatusOK, responseOf(wanted, made)
}

// actionOf returns what a request asks for, and the reason of the Event where it can't be done.
func actionOf(wanted rollback.Request) (noun, obstacle string) {
	if wanted.Park {
		return "park", appv1alpha1.EventReleaseNotParked
	}
	return "rollback", appv1alpha1.EventReleaseNotRolledBack
}

// phrase names the workload of a request for users, as deployment default/sleep.
func phrase(wanted rollback.Request) string {
	return workload.Phrase(wanted.Kind, wanted.Workload.String())
}

func logOf(request *http.Request, wanted rollback.Request) logr.Logger {
	return ctrl.LoggerFrom(request.Context()).WithValues(
		"namespace", wanted.Workload.Namespace, workload.Noun(wanted.Kind), wanted.Workload.Name, "user", wanted.User)
}

// receive reads the request and checks whether the caller may make it. The error is a denial, unless the API server could not be
// reached.
func (r *rollbacks) receive(w http.ResponseWriter, request *http.Request) (rollback.Request, error) {
	asked, err := readRollbackRequest(w, request)
	if err != nil {
		return rollback.Request{}, err
	}
	kind, err := r.access.kindOf(request, r.kinds, asked.Kind)
	if err != nil {
		return rollback.Request{}, err
	}
	wanted := rollback.Request{
		Kind: kind, Workload: client.ObjectKey{Namespace: asked.Namespace, Name: asked.Name}, To: asked.Version, Park: asked.Park,
		Reason: appv1alpha1.RollbackRequested,
	}
	wanted.User, err = r.access.check(request, authorizationv1.ResourceAttributes{
		Verb: "patch", Group: kind.GroupVersionKind().Group, Resource: kind.Resource(), Namespace: asked.Namespace, Name: asked.Name,
	})
	wanted.Message = wanted.User + " asked for it"
	return wanted, err
}

func responseOf(wanted rollback.Request, made *appv1alpha1.Rollback) rollbackResponse {
	message := fmt.Sprintf("%s goes back from version %s (release %d) to version %s (release %d)",
		phrase(wanted), made.Version, made.Release, made.To, made.ToRelease)
	if wanted.Park {
		message = fmt.Sprintf("release %d of %s, version %s, is parked", made.Release, phrase(wanted), made.Version)
	}
	return rollbackResponse{
		reply: reply{Success: true, Message: message},
		Kind:  wanted.Kind.GroupVersionKind().Kind, Namespace: wanted.Workload.Namespace, Name: wanted.Workload.Name,
		FromVersion: made.Version, FromRelease: made.Release, ToVersion: made.To, ToRelease: made.ToRelease,
	}
}

// rollBack makes the rollback or the park, and retries if the workload changes meanwhile. The error is a denial if the caller can act on it.
func (r *rollbacks) rollBack(ctx context.Context, wanted rollback.Request) (*appv1alpha1.Rollback, error) {
	object := wanted.Kind.New()
	if err := r.live.Get(ctx, wanted.Workload, object); err != nil {
		return nil, refusal(wanted, fmt.Errorf("reading %s: %w", wanted, err))
	}
	// A retry after a conflict must not roll back a newer release, which may be a repair.
	wanted.From = decide.ReleaseOf(object)
	made, err := r.try(ctx, wanted)
	for attempt := 1; attempt < maxRollbackAttempts && apierrors.IsConflict(err); attempt++ {
		made, err = r.try(ctx, wanted)
	}
	return made, refusal(wanted, err)
}

func (r *rollbacks) try(ctx context.Context, wanted rollback.Request) (*appv1alpha1.Rollback, error) {
	if wanted.Park {
		return &appv1alpha1.Rollback{Version: wanted.From.Version, Release: wanted.From.Number}, r.roller.Park(ctx, wanted)
	}
	return r.roller.RollBack(ctx, wanted)
}

// refusal turns errors that the caller can act on into a denial.
func refusal(wanted rollback.Request, err error) error {
	var obstacle *rollback.Obstacle
	var early *rollback.NotStuck
	switch {
	case errors.As(err, &obstacle):
		return &denial{http.StatusConflict, obstacle.Message}
	case apierrors.IsNotFound(err):
		return &denial{http.StatusNotFound, phrase(wanted) + " does not exist or is not under change control"}
	case apierrors.IsConflict(err), errors.As(err, &early):
		return &denial{http.StatusConflict, fmt.Sprintf("the %s is changing: try again", wanted.Kind.GroupVersionKind().Kind)}
	}
	return err
}
