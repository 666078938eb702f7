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

package verificationpolicy

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	review "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/rule"
	"github.com/traas-stack/altershield-operator/controllers/platform/bounded"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
)

func newRules(t *testing.T) *rule.Compiler {
	t.Helper()
	rules, err := rule.NewCompiler()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return rules
}

// ruled is a spec with a check of pods, and one by a rule.
func ruled(expression string) appv1alpha1.VerificationPolicySpec {
	return appv1alpha1.VerificationPolicySpec{VerificationTerms: appv1alpha1.VerificationTerms{Mode: "Warn", Checks: []appv1alpha1.VerificationCheck{
		{Name: "pods", Type: "PodHealth"}, {Name: "own", Type: "Rule", Rule: &appv1alpha1.RuleCheck{Expression: expression}},
	}}}
}

// query makes a check one of a query.
func query(check *appv1alpha1.VerificationCheck) {
	check.Type, check.Query = "Query", &appv1alpha1.QueryCheck{Query: "up", Max: "1"}
}

func TestValidator(t *testing.T) {
	with := func(change func(*appv1alpha1.VerificationPolicySpec)) appv1alpha1.VerificationPolicySpec {
		spec := ruled("true")
		change(&spec)
		return spec
	}
	confined, open := &appv1alpha1.VerificationSource{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: "confined"}}, &appv1alpha1.VerificationSource{}
	confined.Spec.Prometheus = &appv1alpha1.PrometheusSource{EnforceNamespace: true}
	open.Namespace, open.Name = system, "open"
	for _, row := range []struct {
		name, namespace string
		spec            appv1alpha1.VerificationPolicySpec
		denial          string
		warnings        []string
	}{
		{"usable checks", "shop", ruled("newPods.size() < 3"), "", nil},
		{"a rule with a mistake", "shop", ruled("newPods.all(p,\n p.nde == 'a')"),
			"VerificationPolicy careful: spec.checks[1].rule.expression: line 2, column 3: undefined field 'nde'", nil},
		{"a matcher that is none", "shop", with(func(spec *appv1alpha1.VerificationPolicySpec) {
			spec.Checks[0].Type, spec.Checks[0].Ratio = "Ratio", &appv1alpha1.RatioCheck{Bad: appv1alpha1.MetricSelector{Matchers: []string{"code"}}}
		}), `VerificationPolicy careful: spec.checks[0].ratio.bad.matchers[0]: "code" is not one label matcher, such as code=~"5.."`, nil},
		{"counters, without the time for four looks", "shop", with(func(spec *appv1alpha1.VerificationPolicySpec) {
			spec.BakeSeconds, spec.WarmupSeconds, spec.IntervalSeconds = 134, 60, 15
			spec.Checks[0].Type, spec.Checks[0].Ratio = "Ratio", &appv1alpha1.RatioCheck{}
		}), "", []string{"spec.checks[0].ratio never fails: it needs 135 seconds, and bakeSeconds and watchSeconds give it 134"}},
		{"counters of the past, without the time for thirteen looks", "shop", with(func(spec *appv1alpha1.VerificationPolicySpec) {
			spec.BakeSeconds, spec.WarmupSeconds, spec.IntervalSeconds = 269, 60, 15
			spec.Checks[0].Type, spec.Checks[0].Ratio = "Ratio", &appv1alpha1.RatioCheck{}
			spec.Checks[0].Ratio.Comparison = &appv1alpha1.RatioComparison{Baseline: "Before"}
		}), "", []string{"spec.checks[0].ratio never fails: it needs 270 seconds, and bakeSeconds and watchSeconds give it 269"}},
		{"counters that nothing waits for, with the time for four looks only in both times together", "shop", with(func(spec *appv1alpha1.VerificationPolicySpec) {
			spec.BakeSeconds, spec.WatchSeconds, spec.WarmupSeconds, spec.IntervalSeconds = 60, 100, 60, 15
			spec.Checks[0].Type, spec.Checks[0].Ratio = "Ratio", &appv1alpha1.RatioCheck{}
		}), "", []string{"spec.checks[0].ratio never fails: it needs 135 seconds, and bakeSeconds and watchSeconds give it 100"}},
		{"counters beside a check for which pods wait", "shop", with(func(spec *appv1alpha1.VerificationPolicySpec) {
			spec.Mode, spec.BakeSeconds, spec.WatchSeconds, spec.WarmupSeconds, spec.IntervalSeconds = "Enforce", 60, 100, 60, 15
			spec.Checks[0].Type, spec.Checks[0].Mode, spec.Checks[0].Ratio = "Ratio", "Observe", &appv1alpha1.RatioCheck{}
		}), "", nil},
		{"counters, with the time for two looks", "shop", with(func(spec *appv1alpha1.VerificationPolicySpec) {
			spec.Mode, spec.BakeSeconds, spec.WatchSeconds, spec.WarmupSeconds, spec.IntervalSeconds = "Enforce", 50, 55, 60, 15
			spec.Checks[0].Type, spec.Checks[0].Ratio = "Ratio", &appv1alpha1.RatioCheck{}
			spec.Checks[0].Ratio.Threshold = &appv1alpha1.RatioThreshold{Consecutive: 2}
		}), "", nil},
		{"a script with less time than it may take", "shop", with(func(spec *appv1alpha1.VerificationPolicySpec) {
			spec.Mode, spec.BakeSeconds, spec.WatchSeconds = "Enforce", 60, 30
			spec.Checks[0].Type, spec.Checks[0].Job = "Job", &appv1alpha1.JobCheck{TimeoutSeconds: 91}
		}), "", []string{"spec.checks[0].job is Inconclusive if it takes longer than bakeSeconds and watchSeconds give it, 90: timeoutSeconds is 91"}},
		{"a script that nothing waits for with less time than it may take", "shop", with(func(spec *appv1alpha1.VerificationPolicySpec) {
			spec.BakeSeconds, spec.WatchSeconds = 60, 30
			spec.Checks[0].Type, spec.Checks[0].Job = "Job", &appv1alpha1.JobCheck{TimeoutSeconds: 61}
		}), "", []string{"spec.checks[0].job is Inconclusive if it takes longer than bakeSeconds and watchSeconds give it, 60: timeoutSeconds is 61"}},
		{"a script with enough time", "shop", with(func(spec *appv1alpha1.VerificationPolicySpec) {
			spec.Mode, spec.BakeSeconds, spec.WatchSeconds = "Enforce", 60, 30
			spec.Checks[0].Type, spec.Checks[0].Job = "Job", &appv1alpha1.JobCheck{TimeoutSeconds: 90}
		}), "", nil},
		{"a query of one's own", "shop", with(func(spec *appv1alpha1.VerificationPolicySpec) { query(&spec.Checks[0]) }), "",
			[]string{"spec.checks[0].query is answered only by a source with spec.prometheus.enforceNamespace"}},
		{"a query of a source that is confined", "shop", with(func(spec *appv1alpha1.VerificationPolicySpec) {
			query(&spec.Checks[0])
			spec.Checks[0].Query.SourceRef.Name = "confined"
		}), "", nil},
		{"a query of a source that isn't confined", "shop", with(func(spec *appv1alpha1.VerificationPolicySpec) {
			query(&spec.Checks[0])
			spec.Checks[0].Query.SourceRef.Name = "open"
		}), "", []string{"spec.checks[0].query is answered only by a source with spec.prometheus.enforceNamespace"}},
		{"a query of the platform", system, with(func(spec *appv1alpha1.VerificationPolicySpec) {
			query(&spec.Checks[0])
			spec.NamespaceSelector = &metav1.LabelSelector{}
		}), "", nil},
		{"the server", "shop", with(func(spec *appv1alpha1.VerificationPolicySpec) { spec.Checks[0].Type = "Server" }),
			"VerificationPolicy careful: spec.checks[0].type: only a VerificationPolicy in namespace altershieldoperator-system may have checks of the type Server", nil},
		{"the server of the platform", system, with(func(spec *appv1alpha1.VerificationPolicySpec) {
			spec.Checks[0].Type, spec.NamespaceSelector = "Server", &metav1.LabelSelector{}
		}), "", nil},
		{"a failWhen", "shop", with(func(spec *appv1alpha1.VerificationPolicySpec) {
			spec.FailWhen = "checks.pods == 'Fail' && checks.own != 'Pass'"
		}), "", nil},
		{"a failWhen of a check that is missing", "shop", with(func(spec *appv1alpha1.VerificationPolicySpec) { spec.FailWhen = "checks.owm == 'Fail'" }),
			"VerificationPolicy careful: spec.failWhen: no check is named owm, only pods, own", nil},
		{"other namespaces", "shop", with(func(spec *appv1alpha1.VerificationPolicySpec) { spec.NamespaceSelector = &metav1.LabelSelector{} }),
			"VerificationPolicy careful: spec.namespaceSelector: only a VerificationPolicy in namespace altershieldoperator-system may select other namespaces", nil},
		{"workloads of the operator's namespace only", system, ruled("true"), "",
			[]string{"VerificationPolicy careful concerns only workloads in namespace altershieldoperator-system: to select others, set spec.namespaceSelector"}},
		{"a kind that isn't under change control", "shop", with(func(spec *appv1alpha1.VerificationPolicySpec) {
			spec.Workloads = []appv1alpha1.WorkloadSelector{{Kind: "Deployment.apps"}, {Kind: "Gadget.example.com"}}
		}), "", []string{"VerificationPolicy careful concerns no Gadget.example.com: the kind isn't under change control"}},
		{"a mode above that of the policy", "shop", with(func(spec *appv1alpha1.VerificationPolicySpec) {
			spec.Checks[0].Mode, spec.Checks[1].Mode = "Observe", "Enforce"
		}), "", []string{"spec.checks[1].mode has no effect: the mode of the policy, Warn, is lower than Enforce"}},
		{"a hold of a check that only warns", "shop", with(func(spec *appv1alpha1.VerificationPolicySpec) {
			spec.Checks[0].OnInconclusive = "Hold"
		}), "", []string{"spec.checks[0] holds no pods: its mode is Warn, not Enforce"}},
		{"a phase of a check that only warns", "shop", with(func(spec *appv1alpha1.VerificationPolicySpec) {
			spec.Checks[1].Phase = "Before"
		}), "", []string{"spec.checks[1] holds no release: its mode is Warn, not Enforce"}},
		{"alerts after the last pod, which need no look before", "shop", with(func(spec *appv1alpha1.VerificationPolicySpec) {
			spec.Mode, spec.WarmupSeconds, spec.IntervalSeconds = "Enforce", 60, 15
			spec.Checks[0].Type, spec.Checks[0].Phase, spec.Checks[0].Alerts = "Alerts", "After", &appv1alpha1.AlertsCheck{}
		}), "", nil},
		{"a script before the first pod with less time than it may take", "shop", with(func(spec *appv1alpha1.VerificationPolicySpec) {
			spec.Mode = "Enforce"
			spec.Checks[0].Type, spec.Checks[0].Phase, spec.Checks[0].TimeoutSeconds, spec.Checks[0].Job = "Job", "Before", 60, &appv1alpha1.JobCheck{TimeoutSeconds: 61}
		}), "", []string{"spec.checks[0].job has no verdict in time if it takes longer than timeoutSeconds of the check, 60: its own is 61"}},
		{"a script before the first pod with enough time", "shop", with(func(spec *appv1alpha1.VerificationPolicySpec) {
			spec.Mode = "Enforce"
			spec.Checks[0].Type, spec.Checks[0].Phase, spec.Checks[0].TimeoutSeconds, spec.Checks[0].Job = "Job", "Before", 60, &appv1alpha1.JobCheck{TimeoutSeconds: 60}
		}), "", nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			raw, err := json.Marshal(&appv1alpha1.VerificationPolicy{ObjectMeta: metav1.ObjectMeta{Name: "careful"}, Spec: row.spec})
			g.Expect(err).NotTo(HaveOccurred())
			validator := &Validator{Kinds: testkit.Kinds(), Namespace: system, Rules: newRules(t), Live: testkit.NewFake(t, confined, open)}
			response := validator.Handle(t.Context(), review.Request{AdmissionRequest: admissionv1.AdmissionRequest{
				Operation: "CREATE", Namespace: row.namespace, Name: "careful", Object: runtime.RawExtension{Raw: raw},
			}})
			g.Expect(response.Allowed).To(Equal(row.denial == ""))
			g.Expect(response.Warnings).To(Equal(row.warnings))
			if row.denial != "" {
				g.Expect(response.Result.Message).To(Equal(row.denial))
			}
		})
	}
}

func TestValidatorWarnsOfNoQueryWhileItCantListSources(t *testing.T) {
	g := NewWithT(t)
	spec := ruled("true")
	query(&spec.Checks[0])
	spec.Checks[0].Query.SourceRef.Name = "confined"
	raw, err := json.Marshal(&appv1alpha1.VerificationPolicy{ObjectMeta: metav1.ObjectMeta{Name: "careful"}, Spec: spec})
	g.Expect(err).NotTo(HaveOccurred())
	for _, row := range []struct {
		err  error
		logs int
	}{{errors.New("no leader"), 1}, {bounded.ErrTooManyReads, 0}} { // any caller who reaches the port can cause the latter
		live := interceptor.NewClient(testkit.NewFake(t), interceptor.Funcs{
			List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return row.err },
		})
		var logs int
		log := funcr.New(func(string, string) { logs++ }, funcr.Options{})
		validator := &Validator{Kinds: testkit.Kinds(), Namespace: system, Rules: newRules(t), Live: live}
		response := validator.Handle(ctrl.LoggerInto(t.Context(), log), review.Request{AdmissionRequest: admissionv1.AdmissionRequest{
			Operation: "CREATE", Namespace: "shop", Name: "careful", Object: runtime.RawExtension{Raw: raw},
		}})
		g.Expect(response.Allowed).To(BeTrue())
		g.Expect(response.Warnings).To(BeEmpty())
		g.Expect(logs).To(Equal(row.logs), row.err.Error())
	}
}

func TestValidatorLetsAnInvalidPolicyBeDeleted(t *testing.T) {
	g := NewWithT(t)
	validator := &Validator{Kinds: testkit.Kinds(), Namespace: system, Rules: newRules(t), Live: testkit.NewFake(t)}
	handle := func(metadata string) review.Response {
		return validator.Handle(t.Context(), review.Request{AdmissionRequest: admissionv1.AdmissionRequest{
			Operation: "UPDATE", Namespace: "shop", Name: "careful",
			Object: runtime.RawExtension{Raw: []byte(`{"metadata":{` + metadata + `},"spec":{"failWhen":"checks.owm == 'Fail'"}}`)},
		}})
	}
	g.Expect(handle(`"name":"careful"`).Allowed).To(BeFalse())
	g.Expect(handle(`"name":"careful","deletionTimestamp":"2026-11-27T15:00:00Z"`).Allowed).To(BeTrue())
}

func TestValidatorSaysWhatItCantDecode(t *testing.T) {
	response := (&Validator{}).Handle(t.Context(), review.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		Name: "careful", Object: runtime.RawExtension{Raw: []byte(`{"spec":7}`)},
	}})
	NewWithT(t).Expect(response.Result.Message).To(HavePrefix("decoding VerificationPolicy careful: "))
}
