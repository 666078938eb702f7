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

package declared

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/expressions"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// health determines the health of a workload.
type health struct {
	failed, inProgress, current *expression
	counts                      counts
}

// counts are paths to numbers of pods, empty if unknown.
type counts struct{ desired, total, updated, ready Path }

// Health returns the health of the current release of a workload, and the reason.
func (h health) Health(object client.Object) (workload.Health, string) {
	fields := raw(object)
	variables := map[string]any{varObject: fields, varRelease: releaseOf(object)}
	allowed := expressions.NewBudget()
	for _, rule := range []struct {
		name       string
		expression *expression
		health     workload.Health
	}{{"failed", h.failed, workload.HealthFailed}, {"inProgress", h.inProgress, workload.HealthInProgress}, {"current", h.current, workload.HealthCurrent}} {
		if rule.expression == nil {
			continue
		}
		matches, err := rule.expression.Holds(variables, allowed)
		if err != nil {
			return workload.HealthUnknown, fmt.Sprintf("evaluating spec.health.%s: %v", rule.name, err)
		}
		if matches {
			return rule.health, fmt.Sprintf("spec.health.%s is true", rule.name)
		}
	}
	switch {
	case h.current == nil:
		return h.usual(object)
	case h.inProgress == nil:
		return workload.HealthInProgress, "spec.health.current is false"
	default:
		return workload.HealthUnknown, "no expression of spec.health is true"
	}
}

// releaseOf is the variable release.
func releaseOf(object client.Object) map[string]any {
	release := decide.ReleaseOf(object)
	began := time.Unix(0, 0).UTC()
	if record, found := appv1alpha1.ReleaseRecordOf(object.GetAnnotations()); found && record.Release == release.Number {
		began = record.Time.UTC()
	}
	return map[string]any{"time": began, "number": release.Number, "version": release.Version}
}

// usual evaluates the conditions and the generation as kstatus does, and the counts. Unlike kstatus, it returns Unknown for an object
// without any of them.
func (h health) usual(object client.Object) (workload.Health, string) {
	fields := raw(object)
	conditions := conditionsOf(object)
	lags, complete := h.counts.compare(fields)
	switch {
	case object.GetDeletionTimestamp() != nil:
		return workload.HealthInProgress, "the object is being deleted"
	case workload.IsBehind(object):
		return workload.HealthInProgress, "the controller has not observed the latest generation"
	case conditions["Stalled"].status == "True":
		return workload.HealthFailed, conditions["Stalled"].text("Stalled")
	case conditions["Reconciling"].status == "True":
		return workload.HealthInProgress, conditions["Reconciling"].text("Reconciling")
	case lags != "":
		return workload.HealthInProgress, lags
	case conditions["Ready"].status == "True":
		return workload.HealthCurrent, conditions["Ready"].text("Ready")
	case conditions["Ready"].status != "":
		return workload.HealthInProgress, conditions["Ready"].text("Ready")
	case complete:
		return workload.HealthCurrent, "all pods are updated and ready"
	case fields["status"] == nil:
		return workload.HealthUnknown, "the object has no status"
	default:
		return workload.HealthUnknown, "the object has neither a condition Ready nor counts of updated and ready pods"
	}
}

type condition struct{ status, message string }

func (c condition) text(name string) string {
	if c.message == "" {
		return fmt.Sprintf("condition %s is %s", name, c.status)
	}
	return fmt.Sprintf("condition %s is %s: %s", name, c.status, c.message)
}

// conditionsOf returns the conditions of an object. Those with an earlier generation are Unknown: not every object has status.observedGeneration.
func conditionsOf(object client.Object) map[string]condition {
	list, _, _ := unstructured.NestedSlice(raw(object), "status", "conditions")
	conditions := make(map[string]condition, len(list))
	for _, element := range list {
		fields, _ := element.(map[string]any)
		name, _ := fields["type"].(string)
		status, _ := fields["status"].(string)
		message, _ := fields["message"].(string)
		if observed, _ := number(fields["observedGeneration"]); observed > 0 && observed < object.GetGeneration() {
			status, message = "Unknown", fmt.Sprintf("it was %s at generation %d", status, observed)
		}
		conditions[name] = condition{status: status, message: message}
	}
	return conditions
}

// compare describes a count that is behind, and reports whether all counts are known and complete.
func (c counts) compare(object map[string]any) (lags string, complete bool) {
	desired, hasDesired := number(c.desired.find(object))
	total, hasTotal := number(c.total.find(object))
	updated, hasUpdated := c.of(c.updated, object)
	ready, hasReady := c.of(c.ready, object)
	switch {
	case hasDesired && hasUpdated && updated < desired:
		return fmt.Sprintf("%d of %d pods are updated", updated, desired), false
	case hasTotal && hasUpdated && total > updated:
		return fmt.Sprintf("%d of %d pods are old", total-updated, total), false
	case hasDesired && hasReady && ready < desired:
		return fmt.Sprintf("%d of %d pods are ready", ready, desired), false
	default:
		return "", hasDesired && hasUpdated && hasReady
	}
}

// of returns the number of updated or ready pods. In an object that shows the total, one that is missing is 0: many controllers leave it out then.
func (c counts) of(pods Path, object map[string]any) (count int64, known bool) {
	if count, known = number(pods.find(object)); !known && !pods.isZero() {
		_, known = number(c.total.find(object))
	}
	return count, known
}

// isRolling reports whether there are pods of earlier releases beside those that a user keeps; known is false if the counts don't show it.
func (c counts) isRolling(object map[string]any, kept int64) (rolling, known bool) {
	total, hasTotal := number(c.total.find(object))
	updated, hasUpdated := c.of(c.updated, object)
	return total > updated+kept, hasTotal && hasUpdated
}
