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
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"

	kind "github.com/traas-stack/altershield-operator/controllers/workload/deployment"
)

func TestStampNew(t *testing.T) {
	own := map[string]string{"app": "sleep"}
	release := map[string]string{"admission-webhook-altershield.antgroup.com/version": "c6c45d23c098bdf181853a85b60b5d74"}
	first := map[string]string{
		"altershield.defense.antgroup.com/release":     "1",
		"altershield.defense.antgroup.com/released-by": `{"user":"alice","time":"2026-11-21T10:00:00Z","version":"c6c45d23c098bdf181853a85b60b5d74","release":1}`,
	}
	for _, row := range []struct {
		name                string
		edit                edit
		labels, annotations map[string]string
	}{
		{"with its version, as its first release and as its creator's", all(), merged(own, release), first},
		{"without the operator's keys that an export of another Deployment brings",
			all(stamped("0123456789abcdef0123456789abcdef", "7"), processed, suspended, recorded("bob", "2026-11-20T10:00:00.000000Z", versionOf123, "7"),
				releasedBy("bob", versionOf123, "7"), askedBy("bob"), rolledBack(leaving(versionOf123, "7", refused))),
			merged(own, release), first},
		{"without ignored-suspend, which has nothing to ignore", ignoring, merged(own, release), first},
		{"without a request for a rollback, as there is nothing to go back to", all(asking("true"), askedBy("alice")), merged(own, release), first},
		{"beside whatever else it carries", all(label("team", "a"), annotation("note", "b")),
			merged(own, release, map[string]string{"team": "a"}), merged(first, map[string]string{"note": "b"})},
		{"where it has no labels at all", without("labels", "metadata"), release, first},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			given := marksOf(t, deployment(t, row.edit))
			result, err := stampNew(given, "alice", now)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(result.labels).To(Equal(row.labels))
			g.Expect(result.annotations).To(Equal(row.annotations))
			g.Expect(result.templates["/spec/template"].labels).To(Equal(merged(map[string]string{"app": "sleep", "test": "123"}, release)))
			g.Expect(given).To(Equal(marksOf(t, deployment(t, row.edit))), "what was given stays")
		})
	}
}

// held marks a pause as the operator's.
func held(value string) edit { return annotation("altershield.defense.antgroup.com/held", value) }

// removedAt records that ignored-suspend was removed unused at a release.
func removedAt(release string) edit {
	return annotation("altershield.defense.antgroup.com/ignored-suspend-removed", release)
}

func pausedSpec(deployment object) { field(true, "paused", "spec")(deployment) }

func TestStampUpdate(t *testing.T) {
	release := stamped(versionOf123, "4")
	next := all(stamped(versionOf1234, "5"), releasedBy("alice", versionOf1234, "5", "metadata.labels[test]: 123 -> 1234"))
	nextByLabel := all(next, ending(`"ignoredSuspend":true`))
	first := all(stamped(versionOf1234, "1"), releasedBy("alice", versionOf1234, "1", "metadata.labels[test]: 123 -> 1234"))
	refusing := rolledBack(leaving(versionOf1234, "4", refused))
	refusingAnother := rolledBack(leaving("0123456789abcdef0123456789abcdef", "4", refused))
	forgiven := rolledBack(leaving(versionOf1234, "4", `"refusedUntil":"2026-11-21T10:00:00Z"`))
	record := recorded("alice", "2026-11-21T10:00:00.000000Z", versionOf1234, "5")
	earlier := recorded("bob", "2026-11-20T10:00:00.000000Z", "0123456789abcdef0123456789abcdef", "3")
	own := recorded("alice", "2026-11-20T10:00:00.000000Z", "0123456789abcdef0123456789abcdef", "3")
	usedLabel := recorded("alice", "2026-11-20T10:00:00.000000Z", versionOf123, "4")
	forged := recorded("bob", "2026-11-21T09:59:59.000000Z", versionOf1234, "5")
	for _, row := range []struct {
		name               string
		old, updated, want edit
	}{
		{"not at all while the template stays",
			all(release, processed), all(release, processed, label("team", "a"), field(7, "replicas", "spec")),
			all(release, processed, label("team", "a"))},
		{"not at all although its stored version is none that our hash gives",
			stamped("00000000000000000000000000000000", "4"), stamped("00000000000000000000000000000000", "4"),
			stamped("00000000000000000000000000000000", "4")},
		{"not at all if it was never stamped and the template stays",
			all(), label("team", "a"), label("team", "a")},
		{"for the first time when its template changes", all(), repaired, all(repaired, first)},
		{"with the next release when its template changes",
			all(release, processed), all(release, processed, repaired), all(repaired, next)},
		{"with the next release when the new template leaves out every key of the operator, as replace does",
			all(release, processed, suspended), repaired, all(repaired, next, suspended)},
		{"with the first release where the count is nonsense",
			stamped(versionOf123, "abc"), all(stamped(versionOf123, "abc"), repaired), all(repaired, first)},
		{"in its new user's name", all(release, releasedBy("bob", versionOf123, "4")), all(release, releasedBy("bob", versionOf123, "4"), repaired),
			all(repaired, next)},
		{"in its user's name, whatever it claims", release, all(release, repaired, releasedBy("bob", versionOf1234, "5")), all(repaired, next)},
		{"in no other name while the template stays", all(release, releasedBy("bob", versionOf123, "4")),
			all(release, releasedBy("alice", versionOf123, "4"), label("team", "a")), all(release, releasedBy("bob", versionOf123, "4"), label("team", "a"))},
		{"with the existing rollbacks if an update removes them", all(release, refusing), release, all(release, refusing)},
		{"with the existing rollbacks if a release removes them", all(release, refusing), all(release, repaired),
			all(repaired, next, refusing)},
		{"without a rollback that is forged with a release", release,
			all(release, repaired, rolledBack(leaving(versionOf123, "5", refused, `"user":"bob"`))), all(repaired, next)},
		{"with the keys of the operator that were left out",
			all(release, processed, suspended, earlier), label("team", "a"), all(release, processed, suspended, earlier, label("team", "a"))},
		{"with the keys of the operator that were there, where others were forged",
			all(release, processed), all(stamped("0123456789abcdef0123456789abcdef", "9"), label("altershield.defense.antgroup.com/defense-status", "done"), suspended, forged),
			all(release, processed)},
		{"without the Finished label that its template brings along, which is no release",
			all(release, processed), all(release, processed, templateLabel("altershield.defense.antgroup.com/operate-finished", "1795255200")),
			all(release, processed)},
		{"without the keys of the operator that were forged into an unstamped one",
			all(), all(release, processed, suspended, forged), all()},
		{"without a suspension that is removed by hand changing anything",
			all(release, suspended), release, all(release, suspended)},
		{"with the record of the override of the suspension, and without the label",
			all(release, processed, suspended), all(release, processed, suspended, repaired, ignoring), all(repaired, nextByLabel, suspended, record)},
		{"by a label that was there before the template changed",
			all(release, processed, suspended, ignoring), all(release, processed, suspended, ignoring, repaired), all(repaired, nextByLabel, suspended, record)},
		{"with a new record in the place of an earlier one",
			all(release, suspended, earlier), all(release, suspended, earlier, repaired, ignoring), all(repaired, nextByLabel, suspended, record)},
		{"without the Finished label that the template has from before it was opted in",
			templateLabel("altershield.defense.antgroup.com/operate-finished", "1795255200"),
			all(templateLabel("altershield.defense.antgroup.com/operate-finished", "1795255200"), repaired), all(repaired, first)},
		{"with that Finished label while the template stays",
			templateLabel("altershield.defense.antgroup.com/operate-finished", "1795255200"), label("team", "a"),
			all(templateLabel("altershield.defense.antgroup.com/operate-finished", "1795255200"), label("team", "a"))},
		{"without a record by a label that came back after it was used",
			all(release, suspended, ignoring, usedLabel), all(release, suspended, ignoring, usedLabel, repaired), all(repaired, nextByLabel, suspended, usedLabel, removedAt("5"))},
		{"without a record by a label that came back after it was removed",
			all(release, suspended, ignoring, removedAt("4")), all(release, suspended, ignoring, repaired), all(repaired, nextByLabel, suspended, removedAt("5"))},
		{"with a record by a label that came back after it was removed, and is set anew in the update",
			all(release, suspended, removedAt("4")), all(release, suspended, ignoring, repaired), all(repaired, nextByLabel, suspended, record, removedAt("4"))},
		{"with a record by a label that was removed at the release before",
			all(release, suspended, ignoring, removedAt("3")), all(release, suspended, ignoring, repaired), all(repaired, nextByLabel, suspended, record, removedAt("3"))},
		{"without a record for a version that is refused, by a label that came back",
			all(release, refusing, ignoring, removedAt("4")), all(release, refusing, ignoring, repaired), all(repaired, nextByLabel, refusing, removedAt("5"))},
		{"without what the release before ended", all(release, releasedBy("bob", versionOf123, "4"), ending(`"hold":true,"ignoredSuspend":true,"rollback":"true"`)),
			all(release, releasedBy("bob", versionOf123, "4"), ending(`"hold":true,"ignoredSuspend":true,"rollback":"true"`), label("team", "a")),
			all(release, releasedBy("bob", versionOf123, "4"), ending(`"hold":true,"ignoredSuspend":true,"rollback":"true"`), label("team", "a"))},
		{"with the label left alone while the template stays",
			all(release, suspended), all(release, suspended, ignoring), all(release, suspended, ignoring)},
		{"without the pause of the operator, which was for the release before",
			all(release, suspended, held("4"), pausedSpec), all(release, suspended, held("4"), pausedSpec, repaired, ignoring),
			all(repaired, next, ending(`"hold":true,"ignoredSuspend":true`), suspended, record)},
		{"with the pause of a user, and without the note of the operator's",
			all(release, suspended, held("4-overridden"), pausedSpec), all(release, suspended, held("4-overridden"), pausedSpec, repaired, ignoring),
			all(repaired, nextByLabel, suspended, record, pausedSpec)},
		{"with the pause of a user where the operator has none",
			all(release, pausedSpec), all(release, pausedSpec, repaired), all(repaired, next, pausedSpec)},
		{"with a pause that comes with the release", release, all(release, pausedSpec, repaired), all(repaired, next, pausedSpec)},
		{"with the operator's pause while the template stays",
			all(release, suspended, held("4"), pausedSpec), all(release, suspended, pausedSpec), all(release, suspended, held("4"), pausedSpec)},
		{"with a user's end of the operator's pause",
			all(release, suspended, held("4"), pausedSpec), all(release, suspended, held("4")), all(release, suspended, held("4"))},
		{"without the label, noting that it was of no use, where nothing is suspended",
			release, all(release, repaired, ignoring), all(repaired, nextByLabel, removedAt("5"))},
		{"with the record of the override of the quarantine, and without the label",
			all(release, refusing), all(release, refusing, repaired, ignoring), all(repaired, nextByLabel, refusing, record)},
		{"with that record although the update removes the rollbacks",
			all(release, refusing), all(release, repaired, ignoring), all(repaired, nextByLabel, refusing, record)},
		{"with that record once more when the API server asks again after another webhook", all(release, refusing),
			all(repaired, nextByLabel, refusing, recorded("alice", "2026-11-21T09:59:59.000000Z", versionOf1234, "5")), all(repaired, nextByLabel, refusing, record)},
		{"without the label, noting that it was of no use, where a version is refused no more",
			all(release, forgiven), all(release, forgiven, repaired, ignoring), all(repaired, nextByLabel, forgiven, removedAt("5"))},
		{"without a record, but with the label, where another version is refused, which a later webhook may yet make of this one",
			all(release, refusingAnother), all(release, refusingAnother, repaired, ignoring), all(repaired, next, refusingAnother, ignoring)},
		{"without a record where the label doesn't say true",
			all(release, suspended), all(release, suspended, repaired, label("altershield.defense.antgroup.com/ignored-suspend", "false")),
			all(repaired, next, suspended, label("altershield.defense.antgroup.com/ignored-suspend", "false"))},
		{"with the earlier record where this release ignores nothing",
			all(release, suspended, earlier), all(release, suspended, earlier, repaired), all(repaired, next, suspended, earlier)},
		{"with the earlier record in the user's own name where this release ignores nothing",
			all(release, suspended, own), all(release, suspended, own, repaired), all(repaired, next, suspended, own)},
		{"with a record once more when the API server asks again after another webhook",
			all(release, suspended), all(repaired, nextByLabel, suspended, recorded("alice", "2026-11-21T09:59:59.000000Z", versionOf1234, "5")),
			all(repaired, nextByLabel, suspended, record)},
		{"without a record that is forged in another user's name",
			all(release, suspended), all(release, suspended, repaired, forged), all(repaired, next, suspended)},
		{"without a record that is no record",
			all(release, suspended), all(release, suspended, repaired, annotation("altershield.defense.antgroup.com/ignored-suspend-by", "alice")),
			all(repaired, next, suspended)},
		{"without a record of long ago that comes back with an old manifest",
			all(release, suspended, earlier),
			all(release, suspended, repaired, recorded("alice", "2026-10-01T10:00:00.000000Z", "0123456789abcdef0123456789abcdef", "2")),
			all(repaired, next, suspended, earlier)},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			old, updated := marksOf(t, deployment(t, row.old)), marksOf(t, deployment(t, row.updated))
			want := marksOf(t, deployment(t, row.want))
			result, err := stampUpdate(old, updated, author{user: "alice"}, now)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(result.labels).To(Equal(merged(want.labels)))
			g.Expect(result.annotations).To(Equal(merged(want.annotations)))
			g.Expect(result.templates["/spec/template"].labels).To(Equal(merged(want.templates["/spec/template"].labels)))
			g.Expect(result.paused).To(Equal(want.paused))
			g.Expect(updated).To(Equal(marksOf(t, deployment(t, row.updated))), "what was given stays")

			again, err := stampUpdate(old, result, author{user: "alice"}, now)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(again).To(Equal(result), "asked again, the same")
		})
	}
}

func TestIgnoredSuspendOfReadsWhatWasWritten(t *testing.T) {
	for _, row := range []struct {
		name, value string
		found       bool
	}{
		{"a record is found", `{"user":"alice","time":"2026-11-21T10:00:00.000000Z","version":"c6c45d23c098bdf181853a85b60b5d74"}`, true},
		{"a missing one isn't", "", false},
		{"text isn't", "alice", false},
		{"a time that is none isn't", `{"user":"alice","time":"yesterday"}`, false},
		{"a list isn't", `[]`, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			record, found := appv1alpha1.IgnoredSuspendOf(map[string]string{"altershield.defense.antgroup.com/ignored-suspend-by": row.value})
			g.Expect(found).To(Equal(row.found))
			if found {
				g.Expect(record.User).To(Equal("alice"))
				g.Expect(record.Version).To(Equal("c6c45d23c098bdf181853a85b60b5d74"))
				g.Expect(record.Time.Time).To(BeTemporally("==", now))
			}
		})
	}
}

// No Deployment has that many releases, but any editor can write the annotation while no webhook is called.
func TestStampUpdateCountsAnewAfterTheHighestNumber(t *testing.T) {
	g := NewWithT(t)
	old := marksOf(t, deployment(t, stamped(versionOf123, "9223372036854775807")))
	updated, err := stampUpdate(old, marksOf(t, deployment(t, stamped(versionOf123, "9223372036854775807"), repaired)), author{user: "alice"}, now)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(updated.annotations).To(HaveKeyWithValue("altershield.defense.antgroup.com/release", "1"))
	g.Expect(updated.annotations).To(HaveKeyWithValue("altershield.defense.antgroup.com/released-by",
		ContainSubstring(`"version":"6a8ff823a5011291b0f02a1d83c2222d","release":1,`)))
}

func FuzzTheRecordOfAnIgnoredSuspension(f *testing.F) {
	for _, seed := range []string{
		"", "null", "{}", "[]", `"x"`, `{"user":1}`, `{"time":""}`, `{"time":null}`, `{"user":"alice","time":"2026-11-21T10:00:00.000000Z","version":"x"}`,
		`{"time":"9999-12-31T23:59:59.999999Z"}`, `{"time":"0000-01-01T00:00:00.000000Z"}`, `{"user":"\ud800"}`,
		`{"user":"alice","time":"9999-12-31T23:59:59.999999-01:00"}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		record, found := appv1alpha1.IgnoredSuspendOf(map[string]string{"altershield.defense.antgroup.com/ignored-suspend-by": value})
		if !found {
			return
		}
		written, err := json.Marshal(record)
		if err != nil {
			t.Fatalf("the record of %q can't be written: %v", value, err)
		}
		again, found := appv1alpha1.IgnoredSuspendOf(map[string]string{"altershield.defense.antgroup.com/ignored-suspend-by": string(written)})
		if !found || again.User != record.User || again.Version != record.Version {
			t.Errorf("the record of %q comes back as %v", value, again)
		}
	})
}

// Another webhook reverts the template after the first call, and the API server calls the defaulter once more.
func TestStampUpdateGivesBackWhatTheFirstCallEnded(t *testing.T) {
	release := all(stamped(versionOf123, "4"), processed, releasedBy("bob", versionOf123, "4"))
	holding := all(release, suspended, held("4"), pausedSpec)
	refusing := rolledBack(leaving(versionOf1234, "4", refused))
	for _, row := range []struct {
		name               string
		old, updated, want edit // updated without its other template
	}{
		{"nothing", release, release, release},
		{"the operator's pause", holding, holding, holding},
		{"the operator's pause, beside the user's other changes", holding, all(holding, label("team", "a")), all(holding, label("team", "a"))},
		{"the operator's pause, where replace leaves out its keys", holding, all(stamped(versionOf123, "4"), pausedSpec), holding},
		{"no pause that the user ended", holding, all(release, suspended, held("4")), all(release, suspended, held("4"))},
		{"no pause that was overridden", all(release, held("4-overridden")), all(release, held("4-overridden")), all(release, held("4-overridden"))},
		{"ignored-suspend from before", all(release, suspended, ignoring), all(release, suspended, ignoring), all(release, suspended, ignoring)},
		{"ignored-suspend that the update brings", all(release, suspended), all(release, suspended, ignoring), all(release, suspended, ignoring)},
		{"no ignored-suspend that the update removes", all(release, suspended, ignoring), all(release, suspended), all(release, suspended)},
		{"ignored-suspend for a version that is refused", all(release, refusing, ignoring), all(release, refusing, ignoring), all(release, refusing, ignoring)},
		{"a request for a rollback from before", all(release, asking("true"), askedBy("bob")), all(release, asking("true"), askedBy("bob")),
			all(release, asking("true"), askedBy("bob"))},
		{"a request for a rollback that the update brings", release, all(release, asking(olderVersion)), all(release, asking(olderVersion), askedBy("alice"))},
		{"a reason that the update brings", release, all(release, because("INC-99")), all(release, because("INC-99"))},
		{"a reason from before", all(release, because("CHG-1")), all(release, because("CHG-1")), all(release, because("CHG-1"))},
		{"no request for a rollback that the update takes back", all(release, asking("true"), askedBy("bob")), release, release},
		{"nothing that a release before ended", all(release, ending(`"hold":true,"ignoredSuspend":true,"rollback":"true"`)),
			all(release, ending(`"hold":true,"ignoredSuspend":true,"rollback":"true"`)), all(release, ending(`"hold":true,"ignoredSuspend":true,"rollback":"true"`))},
		{"everything at once", all(holding, ignoring, asking("true"), askedBy("bob")), all(holding, ignoring, asking("true"), askedBy("bob")),
			all(holding, ignoring, asking("true"), askedBy("bob"))},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			old, want := marksOf(t, deployment(t, row.old)), marksOf(t, deployment(t, row.want))
			first, err := stampUpdate(old, marksOf(t, deployment(t, row.updated, repaired)), author{user: "alice"}, now)
			g.Expect(err).NotTo(HaveOccurred())
			first.content = old.content
			first.templates["/spec/template"].labels["test"] = "123"

			second, err := stampUpdate(old, first, author{user: "alice"}, now)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(second.labels).To(Equal(merged(want.labels)))
			g.Expect(second.annotations).To(Equal(merged(want.annotations)))
			g.Expect(second.templates["/spec/template"].labels).To(Equal(want.templates["/spec/template"].labels))
			g.Expect(second.paused).To(Equal(want.paused))
			_, pausedAgain := operations(patch(kind.Kind{}, first, second))["add /spec/paused"]
			g.Expect(pausedAgain).To(Equal(want.paused && !first.paused))
		})
	}
}

func TestDeploymentDefaulterEndsARollbackThatAnotherWebhookUndoes(t *testing.T) {
	g := NewWithT(t)
	release := all(stamped(versionOf123, "4"), processed, suspended, held("4"), pausedSpec)
	rolling := rolledBack(leaving(versionOf123, "5", refused))
	old := deployment(t, release)
	by := author{user: operator, isOperator: true}
	first, err := stampUpdate(marksOf(t, old), marksOf(t, deployment(t, release, repaired, rolling)), by, now)
	g.Expect(err).NotTo(HaveOccurred())
	undone := deployment(t, release)
	at(undone, "metadata")["labels"], at(undone, "metadata")["annotations"] = first.labels, first.annotations
	at(undone, "spec", "template", "metadata", "labels")["admission-webhook-altershield.antgroup.com/version"] = versionOf1234
	delete(at(undone, "spec"), "paused")

	request := requestOf(t, old, undone)
	request.UserInfo.Username = operator
	response := mutate(t, request)
	g.Expect(response.Warnings).To(BeEmpty(), "only the webhook changed the operator's keys")
	g.Expect(operations(response.Patches)).To(Equal(map[string]any{
		"add /metadata/labels/admission-webhook-altershield.antgroup.com~1version":   versionOf123,
		"add /metadata/labels/altershield.defense.antgroup.com~1defense-status":      "processed",
		"add /metadata/annotations/altershield.defense.antgroup.com~1release":        "4",
		"add /metadata/annotations/altershield.defense.antgroup.com~1held":           "4",
		"remove /metadata/annotations/altershield.defense.antgroup.com~1released-by": nil,
		"remove /metadata/annotations/altershield.defense.antgroup.com~1rollbacks":   nil,
		"add /spec/paused": true,
		"add /spec/template/metadata/labels/admission-webhook-altershield.antgroup.com~1version": versionOf123,
	}))
}
