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
	"fmt"
	"net/http"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// access asks the API server who a caller is and what they may do, as the API server itself would.
type access struct {
	client client.Writer
}

// reviewTimeout is how long the API server gets to answer.
const reviewTimeout = 5 * time.Second

// denial says why a caller doesn't get what they ask for.
type denial struct {
	code    int
	message string
}

func (d *denial) Error() string { return d.message }

func (d *denial) answer(w http.ResponseWriter) (int, any) {
	if d.code == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	return d.code, reply{Message: d.message}
}

// check says whether the caller of a request, who shows a token of the cluster, may do what action says, and which name the
// API server knows them by. The error is a denial, unless the API server could not be asked.
func (a access) check(request *http.Request, action authorizationv1.ResourceAttributes) (name string, err error) {
	user, err := a.authenticate(request)
	if err != nil {
		return "", err
	}
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user.Username, UID: user.UID, Groups: user.Groups, Extra: map[string]authorizationv1.ExtraValue{}, ResourceAttributes: &action,
	}}
	for key, values := range user.Extra {
		review.Spec.Extra[key] = authorizationv1.ExtraValue(values)
	}
	if err := a.create(request.Context(), review); err != nil {
		return "", fmt.Errorf("asking the API server for the rights of user %q: %w", user.Username, err)
	}
	if !review.Status.Allowed {
		return "", &denial{http.StatusForbidden, forbidden(user.Username, action)}
	}
	return user.Username, nil
}

func (a access) authenticate(request *http.Request) (authenticationv1.UserInfo, error) {
	scheme, token, _ := strings.Cut(request.Header.Get("Authorization"), " ")
	token = strings.TrimSpace(token)
	if !strings.EqualFold(scheme, "Bearer") || token == "" {
		return authenticationv1.UserInfo{}, &denial{http.StatusUnauthorized, "show a token of the cluster in the header Authorization: Bearer"}
	}
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}
	if err := a.create(request.Context(), review); err != nil {
		return authenticationv1.UserInfo{}, fmt.Errorf("asking the API server for the user of a token: %w", err)
	}
	if !review.Status.Authenticated {
		return authenticationv1.UserInfo{}, &denial{http.StatusUnauthorized, "the cluster doesn't know the token"}
	}
	return review.Status.User, nil
}

// create doesn't record the write for later reads: that would make the cache watch reviews, which nobody can.
func (a access) create(ctx context.Context, review client.Object) error {
	ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	return a.client.Create(ctx, review, client.DisableReadYourWritesConsistency)
}

// forbidden is worded as the API server would.
func forbidden(user string, action authorizationv1.ResourceAttributes) string {
	resource := fmt.Sprintf("resource %q", action.Resource)
	if action.Name != "" {
		resource += fmt.Sprintf(" named %q", action.Name)
	}
	return fmt.Sprintf("user %q cannot %s %s in API group %q in the namespace %q", user, action.Verb, resource, action.Group, action.Namespace)
}
