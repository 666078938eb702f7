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

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/rollback"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// Roller rolls Deployments back to an earlier version.
type Roller interface {
	// RollBack writes the rollback. The error is a *rollback.Obstacle if another attempt would not help, a conflict if the
	// Deployment has changed meanwhile, and otherwise the error of the API server.
	RollBack(ctx context.Context, request rollback.Request) (*appv1alpha1.Rollback, error)
}

// maxRollbackAttempts limits the attempts on a Deployment that changes: controllers may write its status at any time.
const maxRollbackAttempts = 3

// rollbacks rolls workloads of one kind back for users who may patch them.
type rollbacks struct {
	kind workload.Kind
	// live reads from the API server.
	live   client.Reader
	roller Roller
	access access
}

// rollbackResponse describes a rollback that was written.
type rollbackResponse struct {
	reply
	Namespace   string `json:"namespace"`
	Name        string `json:"name"`
	FromVersion string `json:"fromVersion"`
	FromRelease int64  `json:"fromRelease"`
	ToVersion   string `json:"toVersion"`
	ToRelease   int64  `json:"toRelease"`
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
	log := ctrl.LoggerFrom(request.Context()).WithValues("namespace", wanted.Deployment.Namespace, "deployment", wanted.Deployment.Name, "user", wanted.User)
	var denied *denial
	switch {
	case errors.As(err, &denied):
		if wanted.User != "" { // callers without access leave no trace in the log of decisions
			log.Info("Denied a requested rollback: "+denied.message, "reason", appv1alpha1.EventReleaseNotRolledBack)
		}
		return denied.answer(w)
	case err != nil:
		log.Error(err, "A requested rollback failed")
		// The rollback may be written all the same, if only the response of the API server was lost.
		return http.StatusInternalServerError, reply{Message: fmt.Sprintf(
			"the rollback of deployment %s may have failed: check the Deployment before you try again; the operator's log has the error", wanted.Deployment)}
	}
	return http.StatusOK, responseOf(wanted.Deployment, made)
}

// receive reads the request and checks whether the caller may make it. The error is a denial, unless the API server could not be
// reached.
func (r *rollbacks) receive(w http.ResponseWriter, request *http.Request) (rollback.Request, error) {
	asked, err := readRollbackRequest(w, request)
	if err != nil {
		return rollback.Request{}, err
	}
	wanted := rollback.Request{
		Deployment: client.ObjectKey{Namespace: asked.Namespace, Name: asked.Name}, To: asked.Version, Reason: appv1alpha1.RollbackRequested,
	}
	wanted.User, err = r.access.check(request, authorizationv1.ResourceAttributes{
		Verb: "patch", Group: r.kind.GroupVersionKind().Group, Resource: r.kind.Resource(), Namespace: asked.Namespace, Name: asked.Name,
	})
	wanted.Message = wanted.User + " asked for it"
	return wanted, err
}

func responseOf(deployment client.ObjectKey, made *appv1alpha1.Rollback) rollbackResponse {
	return rollbackResponse{
		reply: reply{Success: true, Message: fmt.Sprintf("deployment %s goes back from version %s (release %d) to version %s (release %d)",
			deployment, made.Version, made.Release, made.To, made.ToRelease)},
		Namespace: deployment.Namespace, Name: deployment.Name,
		FromVersion: made.Version, FromRelease: made.Release, ToVersion: made.To, ToRelease: made.ToRelease,
	}
}

// rollBack makes the rollback, and retries if the Deployment changes meanwhile. The error is a denial if the caller can act on it.
func (r *rollbacks) rollBack(ctx context.Context, wanted rollback.Request) (*appv1alpha1.Rollback, error) {
	object := r.kind.New()
	if err := r.live.Get(ctx, wanted.Deployment, object); err != nil {
		return nil, refusal(wanted.Deployment, fmt.Errorf("reading %s %s: %w", r.kind.GroupVersionKind().Kind, wanted.Deployment, err))
	}
	// A retry after a conflict must not roll back a newer release, which may be a repair.
	wanted.From = decide.ReleaseOf(object)
	made, err := r.roller.RollBack(ctx, wanted)
	for attempt := 1; attempt < maxRollbackAttempts && apierrors.IsConflict(err); attempt++ {
		made, err = r.roller.RollBack(ctx, wanted)
	}
	return made, refusal(wanted.Deployment, err)
}

// refusal turns errors that the caller can act on into a denial.
func refusal(deployment client.ObjectKey, err error) error {
	var obstacle *rollback.Obstacle
	switch {
	case errors.As(err, &obstacle):
		return &denial{http.StatusConflict, obstacle.Message}
	case apierrors.IsNotFound(err):
		return &denial{http.StatusNotFound, fmt.Sprintf("deployment %s does not exist or is not under change control", deployment)}
	case apierrors.IsConflict(err):
		return &denial{http.StatusConflict, "the Deployment is changing: try again"}
	}
	return err
}
