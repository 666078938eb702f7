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

func TestStampUpdateNotesWhoRequestsARollback(t *testing.T) {
	release := stamped(versionOf123, "4")
	next := all(repaired, stamped(versionOf1234, "5"), releasedBy("alice", versionOf1234, "5", "metadata.labels[test]: 123 -> 1234"))
	asked := all(release, asking("true"), askedBy("bob"))
	for _, row := range []struct {
		name               string
		old, updated, want edit // alice makes the update
	}{
		{"when the request is made", release, all(release, asking("true")), all(release, asking("true"), askedBy("alice"))},
		{"when a request for a version is made", release, all(release, asking(olderVersion)), all(release, asking(olderVersion), askedBy("alice"))},
		{"when another user's request is changed", asked, all(release, asking(olderVersion), askedBy("bob")),
			all(release, asking(olderVersion), askedBy("alice"))},
		{"whatever it claims", release, all(release, asking("true"), askedBy("bob")), all(release, asking("true"), askedBy("alice"))},
		{"but not with a release: kubectl rollout undo brings old requests back", release, all(release, repaired, asking("true")), all(next, ending(`"rollback":"true"`))},
		{"no longer when a release changes it", asked, all(asked, repaired, asking(olderVersion)), all(next, ending(`"rollback":"0123456789abcdef0123456789abcdef"`))},
		{"but not when an earlier request stays", asked, all(asked, label("team", "a")), all(asked, label("team", "a"))},
		{"but not when an earlier request stays and its note is changed", asked, all(release, asking("true"), askedBy("alice")), asked},
		{"but not when an earlier request stays and its note is taken away", asked, all(release, asking("true")), asked},
		{"no longer when a release follows", asked, all(asked, repaired), all(next, ending(`"rollback":"true"`))},
		{"but not when an earlier request without an author stays", all(release, asking("true")), all(release, asking("true"), label("team", "a")),
			all(release, asking("true"), label("team", "a"))},
		{"no longer when the request is withdrawn", asked, all(release, askedBy("bob")), release},
		{"no longer when the request is withdrawn with its author", asked, release, release},
		{"no longer when the request is emptied", asked, all(release, asking(""), askedBy("bob")), all(release, asking(""))},
		{"no longer when the request is withdrawn with a release", asked, all(release, askedBy("bob"), repaired), next},
		{"never without a request", release, all(release, askedBy("alice")), release},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			old, want := marksOf(t, deployment(t, row.old)), marksOf(t, deployment(t, row.want))
			result, err := stampUpdate(old, marksOf(t, deployment(t, row.updated)), author{user: "alice"}, now)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(result.annotations).To(Equal(want.annotations))
			g.Expect(stampUpdate(old, result, author{user: "alice"}, now)).To(Equal(result), "asked again, the same")
		})
	}
}

// The operator rolls the Deployment back from 123 to 1234.
func TestStampUpdateOfTheOperatorsOwnRollback(t *testing.T) {
	release := all(stamped(versionOf123, "4"), processed)
	earlier := leaving(olderVersion, "3", refused)
	automatic := leaving(versionOf123, "5", refused)
	requested := leaving(versionOf123, "5", refused, `"user":"bob"`)
	next := func(user string) edit {
		return all(repaired, stamped(versionOf1234, "5"), releasedBy(user, versionOf1234, "5", "metadata.labels[test]: 123 -> 1234"))
	}
	for _, row := range []struct {
		name               string
		old, updated, want edit
	}{
		{"as its own where it decided", release, all(release, repaired, rolledBack(automatic)), all(next(operator), rolledBack(automatic))},
		{"as that of the user who requested it", release, all(release, repaired, rolledBack(requested)), all(next("bob"), rolledBack(requested))},
		{"with its place in the list of rollbacks", all(release, rolledBack(earlier)), all(release, repaired, rolledBack(requested, earlier)),
			all(next("bob"), rolledBack(requested, earlier))},
		{"with the request consumed", all(release, asking("true"), askedBy("bob")), all(release, repaired, rolledBack(requested)),
			all(next("bob"), rolledBack(requested))},
		{"with a request that it leaves", all(release, asking("true"), askedBy("bob")),
			all(release, repaired, rolledBack(automatic), asking("true"), askedBy("bob")),
			all(next(operator), rolledBack(automatic), asking("true"), askedBy("bob"))},
		{"as its own where the newest rollback is another release's", all(release, rolledBack(requested)),
			all(stamped(versionOf123, "4"), repaired, rolledBack(leaving(versionOf123, "4", `"user":"bob"`), requested)),
			all(next(operator), rolledBack(leaving(versionOf123, "4", `"user":"bob"`), requested))},
		{"as its own where there is no rollback", release, all(release, repaired), next(operator)},
		{"without using up a user's ignored-suspend", all(release, suspended, ignoring), all(release, suspended, ignoring, repaired, rolledBack(automatic)),
			all(next(operator), suspended, ignoring, rolledBack(automatic))},
		{"without using up a user's ignored-suspend for a version that is refused", all(release, ignoring, rolledBack(leaving(versionOf1234, "3", refused))),
			all(release, ignoring, repaired, rolledBack(automatic)), all(next(operator), ignoring, rolledBack(automatic))},
		{"without the keys that it doesn't write with a rollback", all(release, suspended, recorded("bob", "2026-11-20T10:00:00.000000Z", olderVersion, "3")),
			all(stamped(olderVersion, "9"), repaired, rolledBack(automatic), releasedBy("bob", olderVersion, "9")),
			all(next(operator), suspended, recorded("bob", "2026-11-20T10:00:00.000000Z", olderVersion, "3"), rolledBack(automatic))},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			old, want := marksOf(t, deployment(t, row.old)), marksOf(t, deployment(t, row.want))
			by := author{user: operator, isOperator: true}
			result, err := stampUpdate(old, marksOf(t, deployment(t, row.updated)), by, now)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(result.annotations).To(Equal(want.annotations))
			g.Expect(result.labels).To(Equal(want.labels))
			g.Expect(stampUpdate(old, result, by, now)).To(Equal(result), "asked again, the same")
		})
	}
}

// A later webhook turns the template into a quarantined one, after the label had nothing to ignore.
func TestStampUpdateKeepsTheLabelOfARepairUntilTheLastWebhook(t *testing.T) {
	g := NewWithT(t)
	sidecar := templateLabel("sidecar", "injected")
	final, err := marksOf(t, deployment(t, repaired, sidecar)).computedVersion()
	g.Expect(err).NotTo(HaveOccurred())
	release := all(stamped(versionOf123, "4"), rolledBack(leaving(final, "4", refused)))
	old := marksOf(t, deployment(t, release))

	first, err := stampUpdate(old, marksOf(t, deployment(t, release, repaired, ignoring)), author{user: "alice"}, now)
	g.Expect(err).NotTo(HaveOccurred())
	between := first
	between.content = marksOf(t, deployment(t, repaired, sidecar)).content
	second, err := stampUpdate(old, between, author{user: "alice"}, now)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(second.annotations).To(HaveKeyWithValue("altershield.defense.antgroup.com/ignored-suspend-by",
		`{"user":"alice","time":"2026-11-21T10:00:00.000000Z","version":"`+final+`","release":5}`))
	g.Expect(second.annotations).To(HaveKeyWithValue("altershield.defense.antgroup.com/released-by",
		ContainSubstring(`"version":"`+final+`","release":5,`)), "the release is the last one's")
	g.Expect(second.labels).NotTo(HaveKey("altershield.defense.antgroup.com/ignored-suspend"))
}

func FuzzRollbacksThatAreWrittenByHand(f *testing.F) {
	for _, seed := range []string{
		"", "null", "{}", "[]", `"x"`, "[null]", "[{}]", `[{"toRelease":5}]`, `[{"toRelease":5,"user":"\ud800","time":null}]`,
		`[{"version":"6a8ff823a5011291b0f02a1d83c2222d","refusedUntil":"9999-12-31T23:59:59Z"}]`,
		`[{"version":"6a8ff823a5011291b0f02a1d83c2222d","refusedUntil":"2026-11-22T08:00:00Z","reason":1}]`,
		`[{"version":"6a8ff823a5011291b0f02a1d83c2222d","refusedUntil":"2026-11-22T08:00:00Z","message":"\u0000\n"}]`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		release := all(stamped(versionOf123, "4"), annotation("altershield.defense.antgroup.com/rollbacks", value))
		request := requestOf(t, deployment(t, release), deployment(t, release, repaired, stamped(versionOf1234, "5")))
		for _, user := range []string{"alice", operator} {
			request.UserInfo.Username = user
			if response := mutate(t, request); !response.Allowed {
				t.Errorf("%q keeps a release of %s from being stamped: %v", value, user, response.Result)
			}
			if response := validate(t, request); !response.Allowed && response.Result.Code != 403 {
				t.Errorf("%q breaks the admission of a release of %s: %v", value, user, response.Result)
			}
		}
	})
}
