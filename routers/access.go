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
	"crypto/sha256"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// access authenticates and authorizes callers by the API server.
type access struct {
	client client.Writer
	clock  clock.PassiveClock
	tokens *reviewedTokens
}

const (
	// reviewTimeout bounds a request to the API server.
	reviewTimeout = 5 * time.Second
	// reviewsPerSecond and reviewBurst limit the reviews of tokens that weren't accepted lately.
	reviewsPerSecond, reviewBurst = 10, 50
	// unknownFor is the time for which an unknown token isn't reviewed again.
	unknownFor = 10 * time.Second
	// knownFor is the time after a review that accepts a token in which further ones of it aren't limited.
	knownFor = time.Minute
)

func newAccess(client client.Writer, clock clock.PassiveClock) access {
	return access{client: client, clock: clock, tokens: &reviewedTokens{
		reviews:  flowcontrol.NewTokenBucketPassiveRateLimiterWithClock(reviewsPerSecond, reviewBurst, clock),
		outcomes: map[[sha256.Size]byte]review{},
	}}
}

// reviewedTokens limits the token reviews that unauthenticated callers can cause. It remembers the hashes of tokens and the outcomes of their last
// reviews for a short time; the rate of reviews bounds their number.
type reviewedTokens struct {
	reviews flowcontrol.PassiveRateLimiter

	mutex    sync.Mutex
	outcomes map[[sha256.Size]byte]review
}

// review is the outcome of one, which counts until a time.
type review struct {
	known bool
	until time.Time
}

// isUnknown reports whether a token was rejected lately.
func (r *reviewedTokens) isUnknown(token string, now time.Time) bool {
	last, counts := r.last(token, now)
	return counts && !last.known
}

// mayReview reports whether a token may be reviewed now.
func (r *reviewedTokens) mayReview(token string, now time.Time) bool {
	last, counts := r.last(token, now)
	return counts && last.known || r.reviews.TryAccept()
}

// last returns the outcome of the last review of a token, and whether it still counts.
func (r *reviewedTokens) last(token string, now time.Time) (last review, counts bool) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	last = r.outcomes[sha256.Sum256([]byte(token))]
	return last, now.Before(last.until)
}

// remember remembers the outcome of a review, and forgets those that don't count any more.
func (r *reviewedTokens) remember(token string, known bool, now time.Time) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	lasts := unknownFor
	if known {
		lasts = knownFor
	}
	maps.DeleteFunc(r.outcomes, func(_ [sha256.Size]byte, last review) bool { return !now.Before(last.until) })
	r.outcomes[sha256.Sum256([]byte(token))] = review{known, now.Add(lasts)}
}

// denial is the error of a request that the caller may not make, or must change.
type denial struct {
	code    int
	message string
}

func (d *denial) Error() string { return d.message }

func (d *denial) answer(w http.ResponseWriter) (int, any) {
	switch d.code {
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", "Bearer")
	case http.StatusTooManyRequests:
		w.Header().Set("Retry-After", "1")
	}
	return d.code, reply{Message: d.message}
}

// check returns the user name of the caller if its bearer token allows the action. The error is a denial, unless the API server
// could not be reached.
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
		return "", fmt.Errorf("reviewing the access of user %q: %w", user.Username, err)
	}
	if !review.Status.Allowed {
		return "", &denial{http.StatusForbidden, forbidden(user.Username, action)}
	}
	return user.Username, nil
}

// refuse rejects requests without a token, or with one that was unknown a moment ago.
func (a access) refuse(w http.ResponseWriter, request *http.Request) (int, any) {
	if _, denied := a.tokenOf(request); denied != nil {
		return denied.answer(w)
	}
	return 0, nil
}

// tokenOf returns the bearer token of a request.
func (a access) tokenOf(request *http.Request) (string, *denial) {
	scheme, token, _ := strings.Cut(request.Header.Get("Authorization"), " ")
	token = strings.TrimSpace(token)
	switch {
	case !strings.EqualFold(scheme, "Bearer") || token == "":
		return "", &denial{http.StatusUnauthorized, "the header Authorization must hold a bearer token of the cluster"}
	case a.tokens.isUnknown(token, a.clock.Now()):
		return "", unknownToken()
	}
	return token, nil
}

func unknownToken() *denial {
	return &denial{http.StatusUnauthorized, "the cluster doesn't accept the bearer token"}
}

func (a access) authenticate(request *http.Request) (authenticationv1.UserInfo, error) {
	token, denied := a.tokenOf(request)
	if denied != nil {
		return authenticationv1.UserInfo{}, denied
	}
	if !a.tokens.mayReview(token, a.clock.Now()) {
		return authenticationv1.UserInfo{}, &denial{http.StatusTooManyRequests, "too many requests with bearer tokens: try again in a moment"}
	}
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}
	if err := a.create(request.Context(), review); err != nil {
		return authenticationv1.UserInfo{}, fmt.Errorf("reviewing a token: %w", err)
	}
	a.tokens.remember(token, review.Status.Authenticated, a.clock.Now())
	if !review.Status.Authenticated {
		return authenticationv1.UserInfo{}, unknownToken()
	}
	return review.Status.User, nil
}

// create doesn't record the write for later reads: the cache would try to watch reviews, which is impossible.
func (a access) create(ctx context.Context, review client.Object) error {
	ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	return a.client.Create(ctx, review, client.DisableReadYourWritesConsistency)
}

// forbidden returns the message in the words of the API server.
func forbidden(user string, action authorizationv1.ResourceAttributes) string {
	resource := fmt.Sprintf("resource %q", strings.TrimSuffix(action.Resource+"/"+action.Subresource, "/"))
	if action.Name != "" {
		resource += fmt.Sprintf(" named %q", action.Name)
	}
	return fmt.Sprintf("user %q cannot %s %s in API group %q in the namespace %q", user, action.Verb, resource, action.Group, action.Namespace)
}
