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

package decide

import (
	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/alerts"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/gauge"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/latency"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/measure"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/query"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/ratio"
)

// Measured returns how a check looks at metrics, nil for a check that doesn't.
func Measured(check *appv1alpha1.VerificationCheck) measure.Check {
	switch {
	case check.Ratio != nil:
		return ratio.Check{Spec: check.Ratio}
	case check.Latency != nil:
		return latency.Check{Spec: check.Latency}
	case check.Gauge != nil:
		return gauge.Check{Spec: check.Gauge}
	case check.Alerts != nil:
		return alerts.Check{Spec: check.Alerts}
	case check.Query != nil:
		return query.Check{Spec: check.Query}
	default:
		return nil
	}
}

// SourceOf returns the name of the VerificationSource that a check asks, empty for none.
func SourceOf(check *appv1alpha1.VerificationCheck) string {
	if check.HTTP != nil {
		return check.HTTP.SourceRef.Name
	}
	if measured := Measured(check); measured != nil {
		return measured.Source()
	}
	return ""
}

// hasLooks reports whether checks of a type look at metrics, or at what others say. They have a verdict at the end of their time, others when
// a release is verified.
func hasLooks(check appv1alpha1.CheckType) bool {
	switch check {
	case appv1alpha1.CheckRatio, appv1alpha1.CheckLatency, appv1alpha1.CheckGauge, appv1alpha1.CheckAlerts, appv1alpha1.CheckQuery,
		appv1alpha1.CheckHTTP, appv1alpha1.CheckCondition, appv1alpha1.CheckJob:
		return true
	default:
		return false
	}
}
