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

package webhooks

import (
	"cmp"
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/history"
	"github.com/traas-stack/altershield-operator/controllers/platform/bounded"
	"github.com/traas-stack/altershield-operator/controllers/platform/index"
	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// Checks on the API server whether a suspended workload may return to a version that the cache shows as verified.
// +kubebuilder:rbac:groups=app.ops.cloud.alipay.com,resources=changeworkloads,verbs=list
// Finds the gate label of the pods of a version that a release returns to: the cache of a replica that doesn't lead has no revisions.
// +kubebuilder:rbac:groups=apps,resources=replicasets;controllerrevisions,verbs=list

// past reads the outcome of earlier releases of a workload from the API server.
type past struct {
	kind     workload.Kind
	live     client.Reader
	history  *history.Keeper
	accounts *accounts
}

func newPast(options Options, accounts *accounts) *past {
	live := bounded.NewReader(options.Live, options.Clock)
	return &past{live: live, history: &history.Keeper{Live: live}, accounts: accounts}
}

// of returns the past of workloads of one kind, whose live reads share the limit with those of all others.
func (p past) of(kind workload.Kind) *past {
	p.kind, p.accounts = kind, p.accounts.of(kind)
	return &p
}

// judgement is what the past of a workload makes of a release.
type judgement struct {
	decide.Admission
	// refused is the rollback that quarantined the version; nil if it isn't quarantined.
	refused *appv1alpha1.Rollback
}

// judge returns what the past of a workload makes of a release, beside what is known of it. Whether a release that would be denied returns
// to a verified version is read from the API server.
func (p *past) judge(
	ctx context.Context, known client.Object, old, updated marks, version string, facts decide.Admission, now time.Time,
) (judgement, error) {
	if facts.Own {
		return judgement{Admission: facts}, nil
	}
	made := judgement{facts, p.refusalOf(ctx, known, old.object, updated, version, now)}
	made.Suspended, made.Refused = old.suspended(), made.refused != nil
	if made.Refused || decide.Admit(made.Admission).Denied == "" {
		return made, nil
	}
	workloads, err := p.workloads(ctx, known)
	if err == nil {
		made.Verified, err = p.isReturn(ctx, known, old.object, updated, version, workloads)
	}
	return made, err
}

// sentence returns why a release is denied if nothing lets it through, empty if it isn't.
func (j judgement) sentence(phrase string) string {
	switch {
	case j.Suspended:
		return phrase + " is suspended"
	case j.Refused:
		return refusalSentence(phrase, j.refused)
	}
	return ""
}

// workloads returns the ChangeWorkloads of a workload in the cache. For an unconfirmed request it returns none, as they name pods.
func (p *past) workloads(ctx context.Context, known client.Object) ([]appv1alpha1.ChangeWorkload, error) {
	if known == nil {
		return nil, nil
	}
	return index.ChangeWorkloadsOf(ctx, p.accounts.cache, known.GetNamespace(), known.GetUID())
}

// warned tells the author of a release of the checks that only warned of the last one. It reads the cache alone, and if that fails tells nothing.
func (p *past) warned(ctx context.Context, phrase string, known client.Object, old marks, version string) []string {
	workloads, err := p.workloads(ctx, known)
	if err != nil {
		return nil
	}
	return decide.WarnedAdvice(phrase, workloads, old.release(), version)
}

// isReturn reports whether a release returns to a verified version, which a suspension admits unless the version is quarantined.
func (p *past) isReturn(
	ctx context.Context, known client.Object, object *unstructured.Unstructured, updated marks, version string, workloads []appv1alpha1.ChangeWorkload,
) (bool, error) {
	verified := p.verifiedAs(ctx, known, object, updated, version, workloads)
	if verified == "" {
		return false, nil
	}
	return p.isVerified(ctx, known, verified)
}

// verifiedAs returns the version under which the cache shows the template of a release as verified, empty if it doesn't: the
// version computed now, or the one that an earlier build of the operator computed for the same template.
func (p *past) verifiedAs(
	ctx context.Context, known client.Object, object *unstructured.Unstructured, updated marks, version string, workloads []appv1alpha1.ChangeWorkload,
) string {
	switch {
	case decide.IsVerified(workloads, version):
		return version
	case slices.ContainsFunc(workloads, func(workload appv1alpha1.ChangeWorkload) bool { return workload.Spec.Reversion == version }):
		return "" // its outcome is known
	}
	return p.versionOf(ctx, known, object, updated.content, decide.VerifiedVersions(workloads))
}

// isVerified reports whether a suspended workload may return to a version. It reads live: the cache of this replica may lag
// behind a verdict, and an admission is final.
func (p *past) isVerified(ctx context.Context, known client.Object, version string) (bool, error) {
	workloads, err := index.LiveChangeWorkloadsOf(ctx, p.live, p.kind, known)
	if err != nil {
		return false, err
	}
	return decide.IsVerified(workloads, version), nil
}

// wasVerified reports whether a version of a workload was verified, as isVerified does where the cache shows so. If that can't be read, it trusts the
// cache, unless the workload is suspended: steps would hold up the way out of an incident, and the pods are checked in any case.
func (p *past) wasVerified(ctx context.Context, known client.Object, old marks, version string) bool {
	workloads, err := p.workloads(ctx, known)
	if err != nil || !decide.IsVerified(workloads, version) {
		return false
	}
	verified, err := p.isVerified(ctx, known, version)
	if err != nil {
		return !old.suspended()
	}
	return verified
}

// gateOf returns the gate label of the pods of a version, which its revision has, too: with another one they would restart. It is empty if there is
// none, or if the revisions can't be read.
func (p *past) gateOf(ctx context.Context, object client.Object, version string) string {
	stamped, _, err := p.history.Stamped(ctx, p.kind, object, version)
	switch {
	case err != nil:
		if p.accounts.allow(object.GetUID()) {
			ctrl.LoggerFrom(ctx).Error(err, "Failed to read the revisions of a version: its pods restart if they have a gate label",
				"namespace", object.GetNamespace(), "name", object.GetName())
		}
		return ""
	case stamped == nil:
		return ""
	}
	return stamped.Gate
}

// versionOf returns which of the versions belongs to the same content: another build of the operator may have computed a different
// version of it. It returns none if the workload isn't confirmed or earlier contents can't be read; then versions alone decide.
func (p *past) versionOf(ctx context.Context, known client.Object, object *unstructured.Unstructured, content workload.Content, versions []string) string {
	if known == nil || len(versions) == 0 {
		return ""
	}
	contents, err := p.history.Contents(ctx, p.kind, object)
	if err != nil {
		if p.accounts.allow(known.GetUID()) {
			ctrl.LoggerFrom(ctx).Error(err, "Failed to read earlier pod templates: the release is judged by its version alone",
				"namespace", known.GetNamespace(), "name", known.GetName())
		}
		return ""
	}
	for _, version := range versions {
		if contents[version].Equal(content) {
			return version
		}
	}
	return ""
}

// refusalOf returns the rollback that quarantines a release of a workload at now; nil if there is none.
func (p *past) refusalOf(ctx context.Context, known client.Object, object *unstructured.Unstructured, updated marks, version string, now time.Time) *appv1alpha1.Rollback {
	rollbacks := appv1alpha1.RollbacksOf(object.GetAnnotations())
	if slices.ContainsFunc(rollbacks, func(rollback appv1alpha1.Rollback) bool { return rollback.Version == version }) {
		return decide.RefusalOf(rollbacks, version, now)
	}
	return decide.RefusalOf(rollbacks, p.versionOf(ctx, known, object, updated.content, refusedVersions(rollbacks, now)), now)
}

// orphan returns the version and the gate label of pods that a created workload may adopt: with others they would restart. It has the labels
// of such pods if it brings its own version. Otherwise they are those of an orphaned revision with the same pod template, which has the version
// that the workload brings or the computed one; empty if there is none.
func (p *past) orphan(ctx context.Context, namespace string, object *unstructured.Unstructured, created marks) (version, gate string) {
	brought := created.templateLabel(appv1alpha1.LabelVersion)
	computed, err := created.computedVersion()
	if err == nil && brought == computed {
		return computed, created.templateLabel(appv1alpha1.LabelGate)
	}
	restorer, ok := p.kind.(workload.Restorer)
	if err != nil || !ok {
		return "", ""
	}
	if optedIn, err := scope.OptedIn(ctx, p.accounts.cache, namespace); err != nil || !optedIn {
		return "", ""
	}
	var versions []string
	if isVersion(brought) {
		versions = append(versions, brought)
	}
	if p.hasGates(ctx, namespace) { // elsewhere a revision with this version has the labels that the workload gets anyway
		versions = append(versions, computed)
	}
	template := workload.TemplateOf(p.kind, created.content)
	for _, version := range versions {
		orphans, err := restorer.Orphans(ctx, p.live, object, version)
		if err != nil {
			if p.accounts.all.TryAccept() {
				ctrl.LoggerFrom(ctx).Error(err, "Failed to read orphaned revisions: pods that the created workload adopts may restart", "kind", p.kind.GroupVersionKind().Kind, "namespace", namespace)
			}
			return "", ""
		}
		orphans = slices.DeleteFunc(orphans, func(orphan decide.Revision) bool { return !template.Equal(orphan.Template) })
		if len(orphans) > 0 {
			return version, slices.MaxFunc(orphans, func(a, b decide.Revision) int { return cmp.Compare(a.Number, b.Number) }).Gate
		}
	}
	return "", ""
}

// hasGates reports whether the cache shows a ReleaseGate in a namespace: there is one as long as pods have a gate label.
func (p *past) hasGates(ctx context.Context, namespace string) bool {
	var gate appv1alpha1.ReleaseGate
	key := client.ObjectKey{Namespace: namespace, Name: appv1alpha1.ReleaseGateName}
	return p.accounts.cache.Get(ctx, key, &gate, client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency) == nil
}
