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
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/index"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

const (
	defaultLimit = 100
	maxLimit     = 500
	// maxFailedPods limits the list of failed pods of a version. Their count stays exact.
	maxFailedPods = 20
	// lastSecond is the last second of the year 9999, after which RFC 3339 ends.
	lastSecond = 253_402_300_799
)

// suspended lists the suspended workloads of a kind in a namespace, and why they are.
type suspended struct {
	kinds workload.Kinds
	// reader reads from the cache.
	reader client.Reader
	access access
}

// page is a page of the suspended workloads of a kind in a namespace, sorted by name.
type page struct {
	Items []suspension `json:"items"`
	// Continue requests the next page; empty on the last one.
	Continue string `json:"continue"`
}

// suspension is a workload whose releases are denied.
type suspension struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Version and Release are the current ones of the workload.
	Version string `json:"version"`
	Release int64  `json:"release"`
	// SuspendedSince is in RFC 3339; empty if the label holds no time.
	SuspendedSince string `json:"suspendedSince"`
	// FailedVersions are the reasons of the suspension, newest first.
	FailedVersions []failedVersion `json:"failedVersions"`
	// LastVerifiedVersion is the newest verified version; empty if there is none.
	LastVerifiedVersion string `json:"lastVerifiedVersion"`
}

// failedVersion is a release with pods that failed their check.
type failedVersion struct {
	ChangeWorkload string `json:"changeWorkload"`
	Version        string `json:"version"`
	// Order is the bizExecOrderId of its change order; empty if it has none.
	Order string `json:"order"`
	// FailedPods lists the first failed pods, FailedPodCount counts all of them.
	FailedPods     []failedPod `json:"failedPods"`
	FailedPodCount int32       `json:"failedPodCount"`
}

type failedPod struct {
	Pod     string `json:"pod"`
	Message string `json:"message"`
}

// question is the query of a caller.
type question struct {
	// kind is the name of a kind; empty for the default.
	kind      string
	namespace string
	limit     int
	// after is the last name on the previous page.
	after string
}

// handle responds to callers who may list the workloads.
func (s *suspended) handle(w http.ResponseWriter, request *http.Request, _ func()) (int, any) {
	asked, err := parseQuestion(request.URL.Query())
	if err != nil {
		return http.StatusBadRequest, reply{Message: err.Error()}
	}
	var answer page
	name := "workload" // as long as the kind isn't known
	kind, err := s.access.kindOf(request, s.kinds, asked.kind)
	if err == nil {
		name = kind.GroupVersionKind().Kind
		answer, err = s.answer(request, kind, asked)
	}
	var denied *denial
	switch {
	case errors.As(err, &denied):
		return denied.answer(w)
	case err != nil:
		ctrl.LoggerFrom(request.Context()).Error(err, "The suspended workloads can't be listed", "kind", name, "namespace", asked.namespace)
		return http.StatusInternalServerError, reply{Message: fmt.Sprintf("the suspended %ss can't be listed: the operator's log has the error", name)}
	}
	return http.StatusOK, answer
}

// answer returns the page that a caller asks for, who may list the workloads.
func (s *suspended) answer(request *http.Request, kind workload.Kind, asked question) (page, error) {
	if _, once := kind.(workload.Once); once {
		return page{}, &denial{http.StatusBadRequest, fmt.Sprintf("a %s is one release, so that it is never suspended", kind.GroupVersionKind().Kind)}
	}
	if _, err := s.access.check(request, authorizationv1.ResourceAttributes{
		Verb: "list", Group: kind.GroupVersionKind().Group, Resource: kind.Resource(), Namespace: asked.namespace,
	}); err != nil {
		return page{}, err
	}
	return s.list(request.Context(), kind, asked)
}

func parseQuestion(query url.Values) (question, error) {
	asked := question{kind: query.Get("kind"), namespace: query.Get("namespace"), limit: defaultLimit}
	if asked.namespace == "" {
		return question{}, errors.New("the parameter namespace is missing")
	}
	if faults := validation.IsDNS1123Label(asked.namespace); len(faults) > 0 {
		return question{}, fmt.Errorf("%q is not the name of a namespace", asked.namespace)
	}
	if text := query.Get("limit"); text != "" {
		limit, err := strconv.Atoi(text)
		if err != nil || limit < 1 || limit > maxLimit {
			return question{}, fmt.Errorf("the parameter limit must be from 1 to %d", maxLimit)
		}
		asked.limit = limit
	}
	after, err := base64.RawURLEncoding.DecodeString(query.Get("continue"))
	if err != nil {
		return question{}, errors.New("the parameter continue must be the one of the previous page")
	}
	asked.after = string(after)
	return asked, nil
}

func (s *suspended) list(ctx context.Context, kind workload.Kind, asked question) (page, error) {
	found, err := index.List(ctx, s.reader, kind, client.InNamespace(asked.namespace), client.HasLabels{appv1alpha1.LabelSuspend})
	if err != nil {
		return page{}, fmt.Errorf("listing the suspended workloads of kind %s in namespace %s: %w", kind.GroupVersionKind().Kind, asked.namespace, err)
	}
	slices.SortFunc(found, func(a, b client.Object) int { return strings.Compare(a.GetName(), b.GetName()) })
	answer := page{Items: []suspension{}}
	for _, object := range found {
		switch {
		case object.GetName() <= asked.after:
			continue
		case len(answer.Items) == asked.limit:
			answer.Continue = base64.RawURLEncoding.EncodeToString([]byte(answer.Items[asked.limit-1].Name))
			return answer, nil
		}
		workloads, err := index.ChangeWorkloadsOf(ctx, s.reader, object.GetNamespace(), object.GetUID())
		if err != nil {
			return page{}, err
		}
		item := describe(object, workloads)
		item.Kind = kind.GroupVersionKind().Kind
		answer.Items = append(answer.Items, item)
	}
	return answer, nil
}

func describe(object client.Object, workloads []appv1alpha1.ChangeWorkload) suspension {
	release := decide.ReleaseOf(object)
	result := suspension{
		Namespace: object.GetNamespace(), Name: object.GetName(), Version: release.Version, Release: release.Number,
		FailedVersions: []failedVersion{}, LastVerifiedVersion: decide.NewestVerified(workloads),
	}
	if since, err := strconv.ParseInt(object.GetLabels()[appv1alpha1.LabelSuspend], 10, 64); err == nil && since >= 0 && since <= lastSecond {
		result.SuspendedSince = time.Unix(since, 0).UTC().Format(time.RFC3339)
	}
	for _, workload := range decide.Failed(workloads, release.Version) {
		result.FailedVersions = append(result.FailedVersions, failed(workload))
	}
	return result
}

func failed(workload *appv1alpha1.ChangeWorkload) failedVersion {
	result := failedVersion{
		ChangeWorkload: workload.Name, Version: workload.Spec.Reversion, FailedPods: []failedPod{}, FailedPodCount: workload.Status.Counts.Failed,
	}
	if order := workload.Status.Order; order != nil {
		result.Order = order.BizExecOrderID
	}
	pods := workload.Status.DefenseCheckFailPods
	for _, pod := range pods[:min(len(pods), maxFailedPods)] {
		result.FailedPods = append(result.FailedPods, failedPod{Pod: pod.Pod, Message: pod.Message})
	}
	return result
}
