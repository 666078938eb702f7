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
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

// Way is something that a user can do about a release.
type Way struct {
	// Name is that of the verb: repair, rollback, park, withdraw, wait, approve, resume, breakglass.
	Name WayName `json:"name"`
	// Command does it: all of Commands as one text. Commands are run one after another.
	Command  string   `json:"command"`
	Commands []string `json:"commands"`
	// To is the version that a rollback leads to, and Release its number, 0 if it isn't known any more.
	To      string `json:"to,omitempty"`
	Release int64  `json:"release,omitempty"`
	// Needs is the right that it takes.
	Needs Right `json:"needs,omitzero"`
	// May reports whether the user has it; nil if that isn't known.
	May *bool `json:"may,omitempty"`
}

// by returns a way with the commands that do it.
func (w Way) by(commands ...string) Way {
	w.Command, w.Commands = strings.Join(commands, ", then "), commands
	return w
}

// WayName is the name of a way.
type WayName string

const (
	// WayRepair releases a correction past the suspension.
	WayRepair WayName = "repair"
	// WayRollback goes back to a verified version.
	WayRollback WayName = "rollback"
	// WayPark has the pods of a StatefulSet come back as before.
	WayPark WayName = "park"
	// WayWithdraw corrects a wrong verdict.
	WayWithdraw WayName = "withdraw"
	// WayWait waits for the present release.
	WayWait WayName = "wait"
	// WayApprove approves the next step.
	WayApprove WayName = "approve"
	// WayResume ends the pause of a user.
	WayResume WayName = "resume"
	// WayBreakGlass passes a freeze.
	WayBreakGlass WayName = "breakglass"
)

// Right is a permission of the API server.
type Right struct {
	Verb        string `json:"verb"`
	Group       string `json:"group,omitempty"`
	Resource    string `json:"resource"`
	Subresource string `json:"subresource,omitempty"`
	Namespace   string `json:"namespace,omitempty"`
	Name        string `json:"name,omitempty"`
}

// String returns the right as a user would ask an administrator for it.
func (r Right) String() string {
	text := r.Verb + " " + r.Resource
	if r.Group != "" {
		text += "." + r.Group
	}
	if r.Subresource != "" {
		text += "/" + r.Subresource
	}
	return text
}

// waysOf returns the ways out of a suspension, or on for a release that waits for a user or a freeze.
func waysOf(facts Facts, present Release, record *appv1alpha1.ChangeWorkload, now time.Time) []Way {
	switch {
	case facts.Workload == nil:
		return nil
	case !decide.IsSuspended(facts.Workload):
		return waysOn(facts, present, record)
	}
	object := facts.Arguments()
	change := changeRight(facts)
	ways := []Way{Way{Name: WayRepair, Needs: change}.by(fmt.Sprintf("kubectl altershield repair %s -f FILE", object))}
	if targets := pastOf(facts).VerifiedTargets(now); len(targets) > 0 {
		ways = append(ways, Way{Name: WayRollback, Needs: change, To: targets[0], Release: numberOf(facts, targets[0])}.by(
			"kubectl altershield rollback "+object))
	}
	if mayPark(facts, record) {
		ways = append(ways, Way{Name: WayPark, Needs: change}.by(fmt.Sprintf("kubectl altershield rollback %s --park", object)))
	}
	if present.Pods.Failed > 0 {
		ways = append(ways, Way{
			Name:  WayWithdraw,
			Needs: Right{Verb: "patch", Group: appv1alpha1.GroupVersion.Group, Resource: "changepods", Subresource: "status", Namespace: facts.Namespace},
		}.by(fmt.Sprintf("kubectl altershield verdict %s pass -n %s --reason WHY", failedBatch(facts, present), facts.Namespace)))
	}
	return ways
}

// waysOn returns the ways on for a release that waits.
func waysOn(facts Facts, present Release, record *appv1alpha1.ChangeWorkload) []Way {
	if present.State != Waiting {
		return nil
	}
	object := facts.Arguments()
	ours := func(resource string) Right {
		return Right{Verb: "create", Group: appv1alpha1.GroupVersion.Group, Resource: resource, Namespace: facts.Namespace}
	}
	paced := meta.FindStatusCondition(record.Status.Conditions, appv1alpha1.ConditionPaced)
	switch {
	case present.Reason == appv1alpha1.ReasonFrozen:
		return []Way{Way{Name: WayBreakGlass, Needs: ours("breakglasses")}.by(
			fmt.Sprintf("kubectl altershield break-glass %s --override=Freeze --reason WHY", object), fmt.Sprintf("kubectl altershield resume %s --override", object))}
	case present.Reason == appv1alpha1.ReasonPaced && paced != nil && paced.Reason == appv1alpha1.ReasonAwaitingApproval:
		return []Way{Way{Name: WayApprove, Needs: ours("changeapprovals")}.by("kubectl altershield approve " + object)}
	case strings.HasSuffix(present.Reason, appv1alpha1.ReasonPaused("")) && !isJob(facts.Reference): // which is never resumed
		return []Way{Way{Name: WayResume, Needs: changeRight(facts)}.by("kubectl altershield resume " + object)}
	}
	return nil
}

// nextOf returns the best of the ways: to wait for what is under way, or for a freeze, or back to a verified version, or a repair.
func nextOf(facts Facts, present Release, ways []Way) *Way {
	if len(ways) == 0 {
		return nil
	}
	if present.State == Running || present.State == Pending || ways[0].Name == WayBreakGlass {
		wait := Way{Name: WayWait}.by("kubectl altershield wait " + facts.Arguments())
		return &wait
	}
	best := ways[0]
	for _, way := range ways {
		if way.Name == WayRollback {
			best = way
		}
	}
	return &best
}

// pastOf returns what a workload may go back to.
func pastOf(facts Facts) decide.Past {
	past := decide.Past{Release: decide.ReleaseOf(facts.Workload), Workloads: facts.Records, Rollbacks: rollbacksOf(facts)}
	for _, kept := range facts.Kept {
		past.Kept = append(past.Kept, decide.Release{Version: kept.Version, Number: kept.Release})
	}
	return past
}

// changeRight returns the right to change a workload.
func changeRight(facts Facts) Right {
	group, _, found := strings.Cut(facts.Reference.APIVersion, "/")
	if !found {
		group = ""
	}
	return Right{Verb: "patch", Group: group, Resource: ResourceOf(facts), Namespace: facts.Namespace, Name: facts.Reference.Name}
}

// failedBatch returns the name of the first batch that failed, or how to find it.
func failedBatch(facts Facts, present Release) string {
	for i := range facts.Batches {
		if outcomeOf(&facts.Batches[i]) == BatchFailed {
			return facts.Batches[i].Name
		}
	}
	return present.Record + "--x--N"
}

// numberOf returns the number of the last known release of a version, 0 if none is known any more.
func numberOf(facts Facts, version string) int64 {
	for i := range facts.Records {
		if facts.Records[i].Spec.Reversion == version {
			return facts.Records[i].Spec.Release
		}
	}
	if at := slices.Index(versionsOf(facts.Kept), version); at >= 0 {
		return facts.Kept[at].Release
	}
	return 0
}

func versionsOf(releases []Side) []string {
	versions := make([]string, len(releases))
	for i := range releases {
		versions[i] = releases[i].Version
	}
	return versions
}
