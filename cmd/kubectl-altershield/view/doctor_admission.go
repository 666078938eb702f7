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

package view

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// Names of the webhook configurations.
const (
	mutatingWebhooks        = "altershieldoperator-mutating-webhook-configuration"
	validatingWebhooks      = "altershieldoperator-validating-webhook-configuration"
	kindsMutatingWebhooks   = "altershieldoperator-kinds-mutating-webhook-configuration"
	kindsValidatingWebhooks = "altershieldoperator-kinds-validating-webhook-configuration"
)

// requiredPolicies are those that each installation has, optionalPolicies those of config/admission-policy.
func requiredPolicies() []string {
	return []string{"altershieldoperator-gate-opening", "altershieldoperator-kinds-webhooks"}
}

func optionalPolicies() []string {
	return []string{
		"altershieldoperator-deployment-keys", "altershieldoperator-pod-keys", "altershieldoperator-records", "altershieldoperator-suspension",
	}
}

// called is a webhook of the operator.
type called struct {
	name   string
	client admissionregistrationv1.WebhookClientConfig
}

// allWebhooks returns the webhooks of the operator.
func (i Installation) allWebhooks() []called {
	var all []called
	for _, configuration := range i.Mutating.Items {
		for _, webhook := range configuration.Webhooks {
			all = append(all, called{webhook.Name, webhook.ClientConfig})
		}
	}
	for _, configuration := range i.Validating.Items {
		for _, webhook := range configuration.Webhooks {
			all = append(all, called{webhook.Name, webhook.ClientConfig})
		}
	}
	return all
}

// webhooks examines the webhook configurations and the authorities in their caBundle. Only a trial tells whether the served certificate is theirs.
func (i Installation) webhooks() []Finding {
	if findings := slices.Concat(i.Mutating.unread(TopicWebhooks), i.Validating.unread(TopicWebhooks)); findings != nil {
		return findings[:1]
	}
	var names []string
	for _, configuration := range i.Mutating.Items {
		names = append(names, configuration.Name)
	}
	for _, configuration := range i.Validating.Items {
		names = append(names, configuration.Name)
	}
	var findings []Finding
	for _, name := range []string{mutatingWebhooks, validatingWebhooks, kindsMutatingWebhooks, kindsValidatingWebhooks} {
		if !slices.Contains(names, name) {
			findings = append(findings, problem(TopicWebhooks, upgrade, WebhooksMissing, name))
		}
	}
	var first time.Time
	for _, webhook := range i.allWebhooks() {
		restart := fmt.Sprintf("kubectl rollout restart -n %s deployment/%s", i.Namespace, manager)
		until, err := endOf(webhook.client.CABundle)
		switch {
		case len(webhook.client.CABundle) == 0:
			findings = append(findings, problem(TopicWebhooks, restart, BundleMissing, webhook.name))
		case err != nil:
			findings = append(findings, problem(TopicWebhooks, restart, BundleBroken, webhook.name, err.Error()))
		case !until.After(i.now()):
			findings = append(findings, problem(TopicWebhooks, restart, BundleExpired, webhook.name, until.UTC().Format(time.DateOnly)))
		case first.IsZero() || until.Before(first):
			first = until
		}
	}
	if len(findings) == 0 {
		return []Finding{ok(TopicWebhooks, WebhooksTrusted, count(len(i.allWebhooks())), first.UTC().Format(time.DateOnly))}
	}
	return findings
}

// endOf returns when the last certificate in a bundle expires: it may hold the authority before a renewal as well.
func endOf(bundle []byte) (time.Time, error) {
	var last time.Time
	for {
		var block *pem.Block
		if block, bundle = pem.Decode(bundle); block == nil {
			break
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return time.Time{}, err
		}
		if certificate.NotAfter.After(last) {
			last = certificate.NotAfter
		}
	}
	if last.IsZero() {
		return time.Time{}, errors.New("no certificate in PEM")
	}
	return last, nil
}

// endpoints examines whether pods answer the webhooks.
func (i Installation) endpoints() []Finding {
	if url := i.outside(); url != "" {
		return []Finding{note(TopicEndpoints, "", EndpointsOutside, url)}
	}
	if findings := i.Slices.unread(TopicEndpoints); findings != nil {
		return findings
	}
	service := "altershieldoperator-webhook-service"
	ready := 0
	for _, slice := range i.Slices.Items {
		if slice.Labels[discoveryv1.LabelServiceName] != service {
			continue
		}
		for _, endpoint := range slice.Endpoints {
			if endpoint.Conditions.Ready == nil || *endpoint.Conditions.Ready {
				ready += len(endpoint.Addresses)
			}
		}
	}
	if ready == 0 {
		return []Finding{problem(TopicEndpoints, i.describe(), EndpointsNone, service)}
	}
	return []Finding{ok(TopicEndpoints, EndpointsReady, count(ready))}
}

// policies examines the ValidatingAdmissionPolicies. Those for the time while the operator is down are an option, but of all or none.
func (i Installation) policies() []Finding {
	if findings := slices.Concat(i.Policies.unread(TopicPolicies), i.Bindings.unread(TopicPolicies)); findings != nil {
		return findings[:1]
	}
	there, bound := map[string]bool{}, map[string]bool{}
	for _, policy := range i.Policies.Items {
		there[policy.Name] = true
	}
	for _, binding := range i.Bindings.Items {
		bound[binding.Spec.PolicyName] = true
	}
	const optional = "kubectl apply -k config/admission-policy"
	isOptionTaken := slices.ContainsFunc(optionalPolicies(), func(name string) bool { return there[name] || bound[name] })
	var findings []Finding
	wanted := 0
	for _, set := range []struct {
		names []string
		help  string
		taken bool
	}{{requiredPolicies(), upgrade, true}, {optionalPolicies(), optional, isOptionTaken}} {
		if !set.taken {
			continue
		}
		for _, name := range set.names {
			wanted++
			switch {
			case !there[name]:
				findings = append(findings, problem(TopicPolicies, set.help, PolicyMissing, name))
			case !bound[name]:
				findings = append(findings, problem(TopicPolicies, set.help, PolicyUnbound, name))
			}
		}
	}
	if len(findings) == 0 {
		findings = append(findings, ok(TopicPolicies, PoliciesInstalled, count(wanted)))
	}
	if !isOptionTaken {
		findings = append(findings, note(TopicPolicies, optional, PoliciesOptional))
	}
	return findings
}

// trial examines what became of a trial release.
func (i Installation) trial() []Finding {
	if findings := slices.Concat(i.Namespaces.unread(TopicTrial), i.Trials.unread(TopicTrial)); findings != nil {
		return findings[:1]
	}
	if len(i.Trials.Items) == 0 {
		return []Finding{unknown(TopicTrial, TrialNowhere)}
	}
	tried := i.Trials.Items[0]
	show := "kubectl get mutatingwebhookconfigurations " + mutatingWebhooks + " -o yaml"
	switch {
	case tried.Failure != "":
		return []Finding{problem(TopicTrial, i.describe(), TrialFailed, tried.Namespace, tried.Failure)}
	case tried.Trial.Verdict == Denied && strings.Contains(tried.Trial.Sentence, `"mdeployment.kb.io"`): // such as by a freeze
		return []Finding{ok(TopicTrial, TrialAnswered, tried.Namespace, tried.Trial.Sentence)}
	case tried.Trial.Verdict == Denied:
		return []Finding{unknown(TopicTrial, TrialDenied, tried.Namespace, tried.Trial.Sentence)}
	case tried.Trial.Verdict == Admitted:
		return []Finding{ok(TopicTrial, TrialStamped, tried.Namespace)}
	case tried.NotEnforced:
		return []Finding{note(TopicTrial, "kubectl describe controlledkind "+Deployments, TrialNotEnforced, tried.Namespace)}
	}
	return []Finding{problem(TopicTrial, show, TrialUnstamped, tried.Namespace)}
}
