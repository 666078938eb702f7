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
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/changesubscription/notice"
)

// schemaOf returns a JSON schema. Its reference, of links, is that of the only form that the events have.
func schemaOf(t *testing.T, path ...string) validation.SchemaValidator {
	t.Helper()
	properties := readSchema(t, path...)
	if links := properties.Properties["context"].Properties["links"]; links.Ref != nil {
		link := readSchema(t, "testdata", "cdevents", "links", "embeddedlinkrelation.json")
		properties.Properties["context"].Properties["links"] = apiextensionsv1.JSONSchemaProps{
			Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: link},
		}
	}
	g := NewWithT(t)
	var internal apiextensions.JSONSchemaProps
	g.Expect(apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(properties, &internal, nil)).To(Succeed())
	validator, _, err := validation.NewSchemaValidator(&internal)
	g.Expect(err).NotTo(HaveOccurred())
	return validator
}

func readSchema(t *testing.T, path ...string) *apiextensionsv1.JSONSchemaProps {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	var properties apiextensionsv1.JSONSchemaProps
	NewWithT(t).Expect(json.Unmarshal(text, &properties)).To(Succeed())
	return &properties
}

// cdEvent returns an event as a CloudEvent, and the CDEvent in it.
func cdEvent(t *testing.T, event notice.Event, images ...appv1alpha1.RecordedImage) (outer, inner map[string]any) {
	t.Helper()
	message, err := Encode(spec("CDEvents"), notice.Batch{Events: []notice.Event{event}}, Facts{Images: images, Now: now()})
	g := NewWithT(t)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(message.Header.Get("Content-Type")).To(Equal("application/cloudevents+json; charset=utf-8"))
	g.Expect(json.Unmarshal(message.Body, &outer)).To(Succeed())
	inner, ok := outer["data"].(map[string]any)
	g.Expect(ok).To(BeTrue())
	return outer, inner
}

func TestEveryEventIsACDEvent(t *testing.T) {
	for name, row := range map[appv1alpha1.SubscribedEvent]struct{ kind, schema string }{
		"ReleaseVerified":   {"dev.cdevents.service.upgraded.0.3.0", "serviceupgraded.json"},
		"RollbackVerified":  {"dev.cdevents.service.rolledback.0.3.0", "servicerolledback.json"},
		"ReleaseSuspended":  {"dev.cdevents.incident.detected.0.3.0", "incidentdetected.json"},
		"ReleaseRecovered":  {"dev.cdevents.incident.resolved.0.3.0", "incidentresolved.json"},
		"ReleaseStarted":    {"dev.cdeventsx.altershield-release.started.0.1.0", "custom.json"},
		"ReleaseBypassed":   {"dev.cdeventsx.altershield-release.bypassed.0.1.0", "custom.json"},
		"ReleaseFailed":     {"dev.cdeventsx.altershield-release.failed.0.1.0", "custom.json"},
		"ReleaseRolledBack": {"dev.cdeventsx.altershield-release.rolledback.0.1.0", "custom.json"},
		"ReleaseUnchecked":  {"dev.cdeventsx.altershield-release.unchecked.0.1.0", "custom.json"},
		"ReleaseSuperseded": {"dev.cdeventsx.altershield-release.superseded.0.1.0", "custom.json"},
		"ReleaseFrozen":     {"dev.cdeventsx.altershield-release.frozen.0.1.0", "custom.json"},
		"ApprovalAwaited":   {"dev.cdeventsx.altershield-release.approvalawaited.0.1.0", "custom.json"},
		"ApprovalGiven":     {"dev.cdeventsx.altershield-release.approvalgiven.0.1.0", "custom.json"},
		"ApprovalDenied":    {"dev.cdeventsx.altershield-release.approvaldenied.0.1.0", "custom.json"},
		"BatchChecked":      {"dev.cdevents.testsuiterun.finished.0.3.0", "testsuiterunfinished.json"},
		"WorkloadDeleted":   {"dev.cdevents.service.removed.0.3.0", "serviceremoved.json"},
	} {
		t.Run(string(name), func(t *testing.T) {
			g := NewWithT(t)
			outer, inner := cdEvent(t, event(name, func(e *notice.Event) {
				e.Rollback, e.Links = &appv1alpha1.Rollback{Release: 6}, []notice.Link{{Kind: "TRIGGER", ID: "5328c37f-bb7e-4bb7-84ea-9f5f85e4a7ce"}}
			}))
			g.Expect(inner["context"]).To(HaveKeyWithValue("links", []any{map[string]any{
				"linkType": "RELATION", "linkKind": "TRIGGER", "target": map[string]any{"contextId": "5328c37f-bb7e-4bb7-84ea-9f5f85e4a7ce"},
			}}))
			g.Expect(outer).To(And(
				HaveKeyWithValue("specversion", "1.0"), HaveKeyWithValue("type", row.kind), HaveKeyWithValue("source", "/altershield/prod"),
				HaveKeyWithValue("id", event(name).ID), HaveKeyWithValue("time", "2026-11-21T10:00:00Z"), HaveKeyWithValue("datacontenttype", "application/json"),
			))
			g.Expect(validation.ValidateCustomResource(nil, inner, schemaOf(t, "testdata", "cdevents", row.schema)).ToAggregate()).To(Succeed())
			if row.schema == "custom.json" {
				g.Expect(validation.ValidateCustomResource(nil, inner, schemaOf(t, "..", "..", "..", "docs", "schemas", "altershield-release.json")).ToAggregate()).To(Succeed())
			}
			inner["context"].(map[string]any)["links"] = []any{map[string]any{"linkType": "PARENT"}}
			g.Expect(validation.ValidateCustomResource(nil, inner, schemaOf(t, "testdata", "cdevents", row.schema))).NotTo(BeEmpty(), "links are looked at")
			delete(inner["context"].(map[string]any), "links")
			inner["unknown"] = true
			g.Expect(validation.ValidateCustomResource(nil, inner, schemaOf(t, "testdata", "cdevents", row.schema))).NotTo(BeEmpty(), "the schema is none of everything")
		})
	}
	first := event("ReleaseVerified", func(e *notice.Event) { e.Release = 1 })
	_, inner := cdEvent(t, first)
	NewWithT(t).Expect(validation.ValidateCustomResource(nil, inner, schemaOf(t, "testdata", "cdevents", "servicedeployed.json")).ToAggregate()).To(Succeed())
}

func TestChecksOfBatchesAreRunsOfATestSuite(t *testing.T) {
	for outcome, failed := range map[string]bool{"success": false, "failure": true} {
		g := NewWithT(t)
		_, inner := cdEvent(t, event("BatchChecked", func(e *notice.Event) { e.Batch, e.Failed, e.Message = 3, failed, "5xx above 1%" }))
		g.Expect(inner["subject"]).To(Equal(map[string]any{"id": "shop/deployment/web/7/3", "content": map[string]any{
			"environment": map[string]any{"id": "prod"}, "testSuite": map[string]any{"id": "shop/deployment/web"}, "outcome": outcome, "reason": "5xx above 1%",
		}}))
		g.Expect(inner["customData"]).To(HaveKeyWithValue("batch", BeEquivalentTo(3)))
		g.Expect(validation.ValidateCustomResource(nil, inner, schemaOf(t, "testdata", "cdevents", "testsuiterunfinished.json")).ToAggregate()).To(Succeed())
	}
}

func TestIncidentsHaveTheSameIDWhenTheyAreResolved(t *testing.T) {
	detected, _ := cdEvent(t, event("ReleaseSuspended"))
	resolved, _ := cdEvent(t, event("ReleaseRecovered"))
	NewWithT(t).Expect(detected["subject"]).To(And(HaveLen(36), Equal(resolved["subject"])))
	NewWithT(t).Expect(detected["id"]).NotTo(Equal(resolved["id"]))
}

func TestARecoveryOfAReleaseThatWasNotSuspendedResolvesNoIncident(t *testing.T) {
	g := NewWithT(t)
	outer, inner := cdEvent(t, event("ReleaseRecovered", func(e *notice.Event) { e.Free = true }))
	g.Expect(outer).To(HaveKeyWithValue("type", "dev.cdeventsx.altershield-release.recovered.0.1.0"))
	g.Expect(validation.ValidateCustomResource(nil, inner, schemaOf(t, "..", "..", "..", "docs", "schemas", "altershield-release.json")).ToAggregate()).To(Succeed())
}

func TestIncidentsAndChainsDifferWhereACountBeginsAnew(t *testing.T) {
	for _, name := range []appv1alpha1.SubscribedEvent{"ReleaseSuspended", "ReleaseStarted"} {
		_, before := cdEvent(t, event(name))
		_, after := cdEvent(t, event(name, func(e *notice.Event) { e.Began = now() }))
		chain := func(inner map[string]any) any { return inner["context"].(map[string]any)["chainId"] }
		NewWithT(t).Expect(chain(before)).NotTo(Equal(chain(after)))
		if name == "ReleaseSuspended" {
			NewWithT(t).Expect(before["subject"].(map[string]any)["id"]).NotTo(Equal(after["subject"].(map[string]any)["id"]))
		}
	}
}

func TestArtifactsAreThoseThatRun(t *testing.T) {
	verified := event("ReleaseVerified")
	for purl, images := range map[string][]appv1alpha1.RecordedImage{
		"pkg:oci/web@sha256%3Aabc?repository_url=registry.example.com%3A5000%2Fshop%2Fweb&tag=1.9": {{Image: "registry.example.com:5000/shop/web:1.9", Digest: "sha256:abc"}, {Image: "b"}},
		"pkg:oci/web?repository_url=shop%2FWeb&tag=1.9":                                            {{Image: "shop/Web:1.9"}},
		"pkg:oci/web@sha256%3Aabc":                         {{Image: "web@sha256:abc", Digest: "sha256:abc"}},
		"pkg:generic/web@491e30c0000000000000000000000000": nil,
	} {
		NewWithT(t).Expect(artifact(&verified, images)).To(Equal(purl))
	}
	_, inner := cdEvent(t, verified, appv1alpha1.RecordedImage{Container: "web", Image: "web:1.9"})
	NewWithT(t).Expect(inner["customData"]).To(HaveKey("images"))
	NewWithT(t).Expect(inner["customData"]).To(HaveKeyWithValue("seconds", BeEquivalentTo(60)))
}

func TestFreezesAreCDEventsOfTheirOwn(t *testing.T) {
	ended := event("FreezeEnded", ofFreeze)
	ended.Until = time.Time{}
	for name, row := range map[string]struct {
		event   notice.Event
		kind    string
		content map[string]any
	}{
		"prolonged": {event("FreezeStarted", ofFreeze, func(e *notice.Event) { e.Prolonged = true }), "started", map[string]any{
			"environment": map[string]any{"id": "prod"}, "action": "Park", "reason": "INC-7", "until": "2026-11-21T18:00:00Z", "prolonged": true,
		}},
		"started": {event("FreezeStarted", ofFreeze), "started", map[string]any{
			"environment": map[string]any{"id": "prod"}, "action": "Park", "reason": "INC-7", "until": "2026-11-21T18:00:00Z",
		}},
		"ended": {ended, "ended", map[string]any{"environment": map[string]any{"id": "prod"}, "action": "Park", "reason": "INC-7"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			outer, inner := cdEvent(t, row.event)
			g.Expect(outer).To(HaveKeyWithValue("type", "dev.cdeventsx.altershield-freeze."+row.kind+".0.1.0"))
			g.Expect(outer).To(HaveKeyWithValue("subject", "shop/changefreeze/lock"))
			g.Expect(inner["subject"]).To(HaveKeyWithValue("content", row.content))
			g.Expect(inner["context"]).To(HaveKeyWithValue("schemaUri", HaveSuffix("/docs/schemas/altershield-freeze.json")))
			g.Expect(inner["customData"]).To(Equal(map[string]any{"event": string(row.event.Name), "namespace": "shop", "kind": "ChangeFreeze", "name": "lock"}))
			for _, schema := range []string{filepath.Join("testdata", "cdevents", "custom.json"), filepath.Join("..", "..", "..", "docs", "schemas", "altershield-freeze.json")} {
				g.Expect(validation.ValidateCustomResource(nil, inner, schemaOf(t, schema)).ToAggregate()).To(Succeed())
			}
		})
	}
}
