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

// Package plugin asks plug-ins about releases, awaits their verdicts, reads conditions of objects and runs Jobs, for the checks of the types HTTP,
// Condition and Job.
package plugin

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/plugin"
	"github.com/traas-stack/altershield-operator/controllers/looks"
	"github.com/traas-stack/altershield-operator/controllers/platform/tracing"
	"github.com/traas-stack/altershield-operator/controllers/source"
)

// Asker asks questions in the background, each once.
type Asker struct {
	// Sources are the plug-ins.
	Sources *source.Sources
	// Client creates ChangeVerdicts, and reads them from the cache.
	Client client.Client
	// Live reads objects of any kind from the API server.
	Live client.Reader
	// Jobs creates and deletes Jobs.
	Jobs client.Writer
	// Looks ask the questions.
	Looks *looks.Background
	// Tracer is nil if tracing is off.
	Tracer *tracing.Tracer
}

// Answer returns the answer to a question about a release with a record, if it is there: else the record is reconciled again once it is. The
// answer says why if there is none; the error is one of the operator itself.
func (a *Asker) Answer(
	ctx context.Context, record types.NamespacedName, release *checks.Scene, asked *plugin.Question,
) (answer plugin.Answer, there bool, err error) {
	switch {
	case asked.Verdict != nil:
		answer, there, err = a.await(ctx, record, release, asked)
	case asked.HTTP != nil:
		answer, there, err = a.ask(record, release, asked, a.post)
	case asked.Job != nil:
		answer, there, err = a.ask(record, release, asked, a.run)
	default:
		answer, there, err = a.ask(record, release, asked, a.read)
	}
	if err != nil {
		return plugin.Answer{}, false, fmt.Errorf("making the check %s of %s: %w", asked.Check, asked.Policy, err)
	}
	return answer, there, nil
}

// ask asks a question, or returns the answer to it.
func (a *Asker) ask(
	record types.NamespacedName, release *checks.Scene, asked *plugin.Question,
	ask func(context.Context, *checks.Scene, *plugin.Question) (plugin.Answer, error),
) (answer plugin.Answer, there bool, err error) {
	respondent, reason := respondentOf(asked)
	look := looks.Look{
		Record: record, Release: release.Number, Check: decide.CheckID{Policy: asked.Policy, Name: asked.Check}, Source: respondent,
		At: asked.At, Until: asked.Until, Last: asked.Last,
	}
	nothing := func(last error) plugin.Answer {
		return plugin.Broken(reason, source.NoAnswer(respondent, looks.Patience, last))
	}
	return looks.Read(a.Looks, look, nothing, func(ctx context.Context) (plugin.Answer, error) { return ask(ctx, release, asked) })
}

// respondentOf names who is asked, and returns the reason why there is no answer if it gives none.
func respondentOf(asked *plugin.Question) (name, reason string) {
	switch {
	case asked.HTTP != nil:
		return "VerificationSource " + asked.HTTP.SourceRef.Name, appv1alpha1.ReasonSourceUnavailable
	case asked.Job != nil:
		return "Jobs", plugin.ReasonReadFailed
	default: // which an API server of others may serve
		return asked.Condition.Kind + " of " + asked.Condition.APIVersion, plugin.ReasonReadFailed
	}
}

// post asks a plug-in. The answer of one that only takes the question is that there is no verdict yet.
func (a *Asker) post(ctx context.Context, release *checks.Scene, asked *plugin.Question) (plugin.Answer, error) {
	body, err := plugin.Request(release, asked)
	if err != nil {
		return plugin.Answer{}, err
	}
	ctx = a.Tracer.OfRelease(ctx, tracing.Release{
		Workload: release.UID, Kind: release.Kind, Namespace: release.Namespace, Name: release.Name, Version: release.Version, Number: release.Number,
	})
	to, err := a.Sources.Plugin(ctx, asked.HTTP.SourceRef.Name, release.Namespace)
	switch {
	case err != nil:
	case asked.Verdict != nil:
		err = to.Submit(ctx, asked.ID, body)
	default:
		body, err = to.Ask(ctx, asked.ID, body)
	}
	if failure, ok := errors.AsType[*source.Error](err); ok {
		answer := plugin.Broken(string(failure.Kind), failure.Error())
		answer.Unsent = failure.Unsent()
		return answer, nil
	}
	if err != nil {
		return plugin.Answer{}, err
	}
	if asked.Verdict != nil {
		return plugin.OfVerdict(release, asked.Verdict), nil
	}
	return plugin.Parse(release, body), nil
}

// read reads a condition. What serves the object may be away, and must not keep a release from being decided about.
func (a *Asker) read(ctx context.Context, release *checks.Scene, asked *plugin.Question) (plugin.Answer, error) {
	check, object := asked.Condition, &unstructured.Unstructured{}
	key := types.NamespacedName{Namespace: release.Namespace, Name: plugin.ObjectName(release, asked.Condition)}
	object.SetGroupVersionKind(schema.FromAPIVersionAndKind(check.APIVersion, check.Kind))
	err := a.Live.Get(ctx, key, object)
	what := fmt.Sprintf("%s %s in namespace %s", check.Kind, key.Name, key.Namespace)
	switch {
	case err == nil && object.GetNamespace() == "": // a policy of one namespace tells nothing of the cluster
		return missing(fmt.Sprintf("objects of the kind %s are in no namespace", check.Kind)), nil
	case err == nil:
		return plugin.OfCondition(object, check), nil
	case ctx.Err() != nil:
		return plugin.Answer{}, fmt.Errorf("reading %s: %w", what, err)
	case apierrors.IsNotFound(err):
		return missing("there is no " + what), nil
	case meta.IsNoMatchError(err):
		return missing(fmt.Sprintf("the API server has no kind %s of %s", check.Kind, check.APIVersion)), nil
	case apierrors.IsForbidden(err):
		return plugin.Broken(appv1alpha1.ReasonPermissionMissing, permission(err)), nil
	default:
		return plugin.Broken(plugin.ReasonReadFailed, fmt.Sprintf("%s can't be read: %v", what, err)), nil
	}
}

func missing(message string) plugin.Answer {
	return plugin.Answer{Verdict: appv1alpha1.CheckInconclusive, Reason: plugin.ReasonObjectMissing, Message: message}
}

// permission returns the rule that the operator lacks.
func permission(forbidden error) string {
	var of apierrors.APIStatus
	if !errors.As(forbidden, &of) || of.Status().Details == nil {
		return forbidden.Error()
	}
	details := of.Status().Details // whose kind is the resource
	return fmt.Sprintf("grant the operator a ClusterRole with {apiGroups: [%q], resources: [%s], verbs: [get]}", details.Group, details.Kind)
}
