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
	"testing"

	. "github.com/onsi/gomega"
)

func TestLabelAdviceWarnsOfALabelThatIsSetWithoutARelease(t *testing.T) {
	const (
		lets    = "the label altershield.defense.antgroup.com/ignored-suspend lets the next release through; then "
		removed = "the label altershield.defense.antgroup.com/ignored-suspend is removed again, since the Deployment isn't suspended; "
		spent   = "the label altershield.defense.antgroup.com/ignored-suspend has no effect, since it was already used or removed at this release; "
		takeOut = "remove it from the manifest that sets it: otherwise it lets every release through while the Deployment is suspended"
	)
	release := stamped(versionOf123, "4")
	used := recorded("alice", "2026-11-20T10:00:00.000000Z", versionOf123, "4")
	for _, row := range []struct {
		name         string
		old, updated edit
		warnings     []string
	}{
		{"of a suspended one", all(release, suspended), all(release, suspended, ignoring), []string{lets + takeOut}},
		{"of one that isn't suspended", release, all(release, ignoring), []string{removed + takeOut}},
		{"again after it was removed", all(release, removedAt("4")), all(release, removedAt("4"), ignoring), []string{spent + takeOut}},
		{"again after it was used", all(release, suspended, used), all(release, suspended, used, ignoring), []string{spent + takeOut}},
		{"after it was removed at an earlier release", all(release, removedAt("3")), all(release, removedAt("3"), ignoring), []string{removed + takeOut}},
		{"but not of one that stays", all(release, ignoring), all(release, ignoring, label("team", "a")), nil},
		{"but not of one that is taken away", all(release, ignoring), release, nil},
		{"but not of one without effect", release, all(release, label("altershield.defense.antgroup.com/ignored-suspend", "false")), nil},
		{"but not with a release", all(release, suspended), all(release, suspended, repaired, ignoring), nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			response := mutate(t, requestOf(t, deployment(t, row.old), deployment(t, row.updated)))
			g.Expect(response.Warnings).To(Equal(row.warnings))
		})
	}
}

// Otherwise the label that a GitOps client sets again after the release has failed would let its next change through.
func TestStampUpdateRemembersThatItRemovedALabelWithoutUse(t *testing.T) {
	const removed = "altershield.defense.antgroup.com/ignored-suspend-removed"
	release := stamped(versionOf123, "4")
	for name, row := range map[string]struct {
		old, updated edit
		remembered   string
	}{
		"a label from before":         {all(release, ignoring), all(release, ignoring, repaired), "5"},
		"a label of the update":       {release, all(release, ignoring, repaired), "5"},
		"a label that lets it pass":   {all(release, suspended), all(release, suspended, ignoring, repaired), ""},
		"a release without the label": {release, all(release, repaired), ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			stamp, err := stampUpdate(marksOf(t, deployment(t, row.old)), marksOf(t, deployment(t, row.updated)), author{user: "flux"}, now)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(stamp.labels).NotTo(HaveKey("altershield.defense.antgroup.com/ignored-suspend"))
			g.Expect(stamp.annotations[removed]).To(Equal(row.remembered))
		})
	}
}

// The manifest of a GitOps client contains the label, which returns each time it is consumed.
func TestDeploymentValidatorLetsNothingThroughByAnIgnoredSuspendThatComesBack(t *testing.T) {
	const back = "the label altershield.defense.antgroup.com/ignored-suspend on the Deployment has no effect, since it was already used or removed " +
		"at this release: remove it, then set it in the update that changes the pod template"
	release := stamped(versionOf123, "4")
	next := stamped(versionOf1234, "5")
	used := recorded("alice", "2026-11-20T10:00:00.000000Z", versionOf123, "4")
	for _, row := range []struct {
		name         string
		old, updated edit // updated as sent by the user
		allowed      bool
		warnings     []string
	}{
		{"after it was used", all(release, suspended, used, ignoring), all(release, suspended, used, ignoring, repaired), false, []string{
			"to let a repair through, set the label altershield.defense.antgroup.com/ignored-suspend=true on the Deployment in the same update", back}},
		{"after it was removed", all(release, suspended, removedAt("4"), ignoring), all(release, suspended, ignoring, repaired), false, []string{
			"to let a repair through, set the label altershield.defense.antgroup.com/ignored-suspend=true on the Deployment in the same update", back}},
		{"for a version that is refused", all(release, rolledBack(leaving(versionOf1234, "4", refused)), removedAt("4"), ignoring),
			all(release, removedAt("4"), ignoring, repaired), false, []string{
				"to release something else, change the pod template: only this exact template is refused",
				"to let this version through, set the label altershield.defense.antgroup.com/ignored-suspend=true on the Deployment in the same update",
				"or wait until 2026-11-22T08:00:00Z", back}},
		{"unless the update sets it anew", all(release, suspended, used), all(release, suspended, used, ignoring, repaired), true, []string{
			"deployment sleep stays suspended until this release is verified; the override is recorded for alice",
			"the label altershield.defense.antgroup.com/ignored-suspend was also set at the previous release; remove it from the manifest that sets it: " +
				"otherwise it lets every release through while the Deployment is suspended"}},
		{"unless it was set for the first time", all(release, suspended, ignoring), all(release, suspended, ignoring, repaired), true, []string{
			"deployment sleep stays suspended until this release is verified; the override is recorded for alice"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			old := deployment(t, row.old)
			stamp, err := stampUpdate(marksOf(t, old), marksOf(t, deployment(t, row.updated)), author{user: "alice"}, now)
			g.Expect(err).NotTo(HaveOccurred())
			updated := deployment(t, row.updated, next)
			at(updated, "metadata")["annotations"] = stamp.annotations
			response := validate(t, requestOf(t, old, updated))
			g.Expect(response.Allowed).To(Equal(row.allowed))
			g.Expect(response.Warnings).To(HaveExactElements(row.warnings))
		})
	}
}
