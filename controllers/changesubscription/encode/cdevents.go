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

package encode

import (
	"encoding/hex"
	"fmt"
	"net/url"
	"strings"
	"time"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/changesubscription/notice"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

const (
	// cdEvents is the version of the specification.
	cdEvents = "0.5.1"
	// schemas is where the schemas of the events of our own are.
	schemas = "https://raw.githubusercontent.com/traas-stack/altershield-operator/main/docs/schemas/"
)

// cloudEvent returns a CDEvent as a CloudEvent in structured mode.
func cloudEvent(spec *appv1alpha1.ChangeSubscriptionSpec, event *notice.Event, images []appv1alpha1.RecordedImage) object {
	kind := typeOf(event)
	source, at := "/altershield/"+spec.Environment, event.At.Format(time.RFC3339)
	subject := subjectOf(spec, event, kind, images)
	context := object{
		"specversion": cdEvents, "id": event.ID, "source": source, "type": kind, "timestamp": at,
		"chainId": notice.IDOf(event.Workload.UID, event.Release, event.Began, "chain", 0),
	}
	if own, isOwn := strings.CutPrefix(kind, "dev.cdeventsx."); isOwn {
		subject, _, _ := strings.Cut(own, ".")
		context["schemaUri"] = schemas + subject + ".json"
	}
	if links := linksOf(event); len(links) > 0 {
		context["links"] = links
	}
	return object{
		"specversion": "1.0", "id": event.ID, "source": source, "type": kind, "time": at, "subject": subject["id"], "datacontenttype": "application/json",
		"data": object{
			"context": context, "subject": subject,
			"customData": customData(event, images), "customDataContentType": "application/json",
		},
	}
}

// linksOf returns the links that are embedded in the context of an event.
func linksOf(event *notice.Event) (links []object) {
	for _, link := range event.Links {
		links = append(links, object{"linkType": "RELATION", "linkKind": link.Kind, "target": object{"contextId": link.ID}})
	}
	return links
}

// typeOf returns the type of the CDEvent of an event: one of the specification where it has one.
func typeOf(event *notice.Event) string {
	switch event.Name {
	case appv1alpha1.NotifyVerified:
		if event.Release == 1 {
			return "dev.cdevents.service.deployed.0.3.0"
		}
		return "dev.cdevents.service.upgraded.0.3.0"
	case appv1alpha1.NotifyRollbackVerified:
		return "dev.cdevents.service.rolledback.0.3.0"
	case appv1alpha1.NotifySuspended:
		return "dev.cdevents.incident.detected.0.3.0"
	case appv1alpha1.NotifyRecovered:
		if !event.Free { // otherwise no incident was detected
			return "dev.cdevents.incident.resolved.0.3.0"
		}
	case appv1alpha1.NotifyBatchChecked:
		return "dev.cdevents.testsuiterun.finished.0.3.0"
	case appv1alpha1.NotifyDeleted:
		return "dev.cdevents.service.removed.0.3.0"
	case appv1alpha1.NotifyFreezeStarted:
		return "dev.cdeventsx.altershield-freeze.started.0.1.0"
	case appv1alpha1.NotifyFreezeEnded:
		return "dev.cdeventsx.altershield-freeze.ended.0.1.0"
	}
	return "dev.cdeventsx.altershield-release." + predicate(event.Name) + ".0.1.0"
}

// predicate returns what a CDEvent of our own says of a release.
func predicate(name appv1alpha1.SubscribedEvent) string {
	return strings.ToLower(strings.TrimPrefix(string(name), "Release"))
}

func subjectOf(spec *appv1alpha1.ChangeSubscriptionSpec, event *notice.Event, kind string, images []appv1alpha1.RecordedImage) object {
	environment, service := object{"id": spec.Environment}, object{"id": subject(event)}
	switch {
	case event.IsFreeze():
		return object{"id": subject(event), "content": freezeContent(spec, event)}
	case strings.HasPrefix(kind, "dev.cdevents.incident."):
		// The incident has the same ID when it is detected and when it is resolved.
		return object{"id": notice.IDOf(event.Workload.UID, event.Release, event.Began, "incident", 0), "content": object{
			"description": event.Message, "environment": environment, "service": service,
		}}
	case event.Name == appv1alpha1.NotifyBatchChecked:
		return object{"id": fmt.Sprintf("%s/%d/%d", subject(event), event.Release, event.Batch), "content": batchContent(event, environment, service)}
	case event.Name == appv1alpha1.NotifyDeleted:
		return object{"id": subject(event), "content": object{"environment": environment}}
	case strings.HasPrefix(kind, "dev.cdevents.service."):
		return object{"id": subject(event), "content": object{"environment": environment, "artifactId": artifact(event, images)}}
	}
	return object{"id": subject(event), "content": object{
		"environment": environment, "service": service, "release": event.Release, "version": event.Version, "reason": event.Reason, "message": event.Message,
	}}
}

// batchContent is that of the run of a test suite: the checks of a workload.
func batchContent(event *notice.Event, environment, suite object) object {
	outcome := "success"
	if event.Failed {
		outcome = "failure"
	}
	return object{"environment": environment, "testSuite": suite, "outcome": outcome, "reason": event.Message}
}

func freezeContent(spec *appv1alpha1.ChangeSubscriptionSpec, event *notice.Event) object {
	content := object{"environment": object{"id": spec.Environment}, "action": event.Reason, "reason": event.Message}
	if !event.Until.IsZero() {
		content["until"] = event.Until.Format(time.RFC3339)
	}
	if event.Prolonged {
		content["prolonged"] = true
	}
	return content
}

// artifact returns the package URL of the first image, by the digest that runs if it is known; without an image, that of the content.
func artifact(event *notice.Event, images []appv1alpha1.RecordedImage) string {
	if len(images) == 0 {
		return "pkg:generic/" + url.PathEscape(event.Workload.Name) + "@" + event.Version
	}
	repository, _, _ := strings.Cut(images[0].Image, "@")
	tag := ""
	if at := strings.LastIndex(repository, ":"); at > strings.LastIndex(repository, "/") {
		repository, tag = repository[:at], repository[at+1:]
	}
	purl := "pkg:oci/" + strings.ToLower(repository[strings.LastIndex(repository, "/")+1:])
	if images[0].Digest != "" {
		purl += "@" + url.QueryEscape(images[0].Digest)
	}
	qualifiers := url.Values{}
	if strings.Contains(repository, "/") {
		qualifiers.Set("repository_url", repository)
	}
	if tag != "" {
		qualifiers.Set("tag", tag)
	}
	if len(qualifiers) > 0 {
		purl += "?" + qualifiers.Encode()
	}
	return purl
}

func customData(event *notice.Event, images []appv1alpha1.RecordedImage) object {
	if event.IsFreeze() {
		return object{"event": event.Name, "namespace": event.Namespace, "kind": event.Workload.Kind, "name": event.Workload.Name}
	}
	trace := decide.TraceID(event.Workload.UID, event.Release)
	data := object{
		"event": event.Name, "namespace": event.Namespace, "kind": event.Workload.Kind, "name": event.Workload.Name,
		"release": event.Release, "version": event.Version, "observed": event.Observed, "reason": event.Reason, "message": event.Message,
		"releasedBy": event.By, "startedAt": event.Began.Format(time.RFC3339), "seconds": int64(event.At.Sub(event.Began).Seconds()),
		"pods":    object{"desired": event.Counts.Desired, "passed": event.Counts.Passed, "failed": event.Counts.Failed},
		"traceId": hex.EncodeToString(trace[:]),
	}
	if event.Batch > 0 {
		data["batch"] = event.Batch
	}
	if len(event.Changes) > 0 {
		data["changes"] = event.Changes
	}
	if len(images) > 0 {
		data["images"] = images
	}
	if event.Rollback != nil {
		data["rollback"] = object{"release": event.Rollback.Release, "version": event.Rollback.Version, "reason": event.Rollback.Reason}
	}
	return data
}
