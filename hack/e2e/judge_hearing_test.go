//go:build e2e

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

package e2e_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/testkit/witness"
	"github.com/traas-stack/altershield-operator/hack/judge/report"
)

// hearing is what was seen of a release.
type hearing struct {
	*judged
	seen    *witness.Witness
	version string
}

// record returns the record of the release in what was seen, nil for other objects.
func (h *hearing) record(of witness.Sighting) *appv1alpha1.ChangeWorkload {
	if record, isRecord := of.Object.(*appv1alpha1.ChangeWorkload); isRecord && record.Spec.Reversion == h.version {
		return record
	}
	return nil
}

// first returns the first sighting that something holds of, nil if there is none yet.
func (h *hearing) first(holds func(witness.Sighting) bool) *witness.Sighting {
	ordered := h.seen.Ordered()
	if at := slices.IndexFunc(ordered, holds); at >= 0 {
		return &ordered[at]
	}
	return nil
}

// end returns when the release was over: it was suspended, or its second step began; nil before.
func (h *hearing) end() *witness.Sighting {
	return h.first(func(of witness.Sighting) bool {
		record := h.record(of)
		return record != nil && (record.Status.Status == appv1alpha1.ChangeWorkloadSuspend || record.Status.Pace != nil && record.Status.Pace.Step >= 2)
	})
}

// finished returns when the pod of the first step had finished.
func (h *hearing) finished() (at time.Time) {
	h.first(func(of witness.Sighting) bool {
		batch, isBatch := of.Object.(*appv1alpha1.ChangePod)
		found := isBatch && batch.Spec.Release > 1 && len(batch.Spec.PodInfos) > 0
		if found {
			at = time.Unix(batch.Spec.PodInfos[0].FinishTimeUnix, 0)
		}
		return found
	})
	return at
}

// troubled returns when the status of a new pod showed its trouble: it had been unready for 30 seconds, or its container had ended often
// enough. Without trouble, it returns when the pod had finished.
func (h *hearing) troubled() time.Time {
	wasReady := false
	unready := h.first(func(of witness.Sighting) bool {
		state := corev1.ConditionUnknown
		if pod := h.pod(of); pod != nil {
			state = readiness(pod)
		}
		wasReady = wasReady || state == corev1.ConditionTrue
		return wasReady && state == corev1.ConditionFalse
	})
	ended := h.first(func(of witness.Sighting) bool {
		pod := h.pod(of)
		return pod != nil && slices.ContainsFunc(pod.Status.ContainerStatuses, func(status corev1.ContainerStatus) bool {
			ends := status.RestartCount
			if status.State.Terminated != nil || status.State.Waiting != nil && status.LastTerminationState.Terminated != nil {
				ends++
			}
			return ends >= h.ends
		})
	})
	switch {
	case h.ends > 0 && ended != nil:
		return ended.At
	case h.ends == 0 && unready != nil:
		return unready.At.Add(30 * time.Second)
	}
	return h.finished()
}

// pod returns the new pod in what was seen, nil for other objects.
func (h *hearing) pod(of witness.Sighting) *corev1.Pod {
	if pod, isPod := of.Object.(*corev1.Pod); isPod && pod.Labels[versionLabel] == h.version {
		return pod
	}
	return nil
}

// result returns what was found.
func (h *hearing) result() report.Release {
	end := h.end()
	record, finished := h.record(*end), h.finished()
	Expect(record.Status.Verification).NotTo(BeNil())
	Expect(record.Status.Verification.Policies).To(HaveLen(3), "%s is checked by builtin and both samples", h.namespace)
	Expect(finished).NotTo(BeZero())
	result := report.Release{Class: h.Class, Decided: end.At.Sub(finished).Round(time.Second)}
	for _, name := range []string{podsCheck, errorsCheck, latencyCheck} {
		check := report.Check{Name: name, Failed: failed(record, name)}
		if check.Failed {
			from := finished.Add(warmsUp)
			if name == podsCheck {
				from = h.troubled()
			}
			at := h.first(func(of witness.Sighting) bool { return h.record(of) != nil && failed(h.record(of), name) }).At
			check.After = at.Sub(from).Round(100 * time.Millisecond)
		}
		result.Checks = append(result.Checks, check)
	}
	return result
}

// failed reports whether an enforced check of a release failed.
func failed(record *appv1alpha1.ChangeWorkload, name string) bool {
	return slices.ContainsFunc(record.Status.Checks, func(check appv1alpha1.CheckResult) bool {
		return check.Name == name && check.Verdict == appv1alpha1.CheckFail && check.Enforced
	})
}

// told returns the result in a line.
func (h *hearing) told(result *report.Release) string {
	record := h.record(*h.end())
	text := fmt.Sprintf("  %s %s (%s), %s after the pod had finished:", h.namespace, record.Status.Status, result.Class.Name, result.Decided)
	for i := range record.Status.Checks {
		check := &record.Status.Checks[i]
		text += fmt.Sprintf(" %s %s %s %s;", check.Name, check.Verdict, check.Reason, strings.TrimSuffix(check.Message, "."))
	}
	for _, check := range result.Checks {
		if check.Failed {
			text += fmt.Sprintf(" %s after %s", check.Name, check.After)
		}
	}
	return text
}

const (
	podsCheck, errorsCheck, latencyCheck = "pods", "errors", "latency"
	// bakes and warmsUp are how long the samples have a batch checked, and how long a pod doesn't count, here.
	warmsUp = 10 * time.Second
	// soon is the time in which what the status of a pod shows has to be found.
	soon = 5 * time.Second
)

// lane is where releases wait for their turn: three workloads with the same trouble of pods excuse each other, so that only two may have it.
type lane struct {
	name   string
	atOnce int
}

func lanes() []lane { return []lane{{"restarts", 2}, {"readiness", 2}, {"metrics", 18}} }

// trial is a class of releases, with how many of them there are.
type trial struct {
	report.Class
	count int
	lane  string
	// both are the flags of the application before the release as well, flags those of the release alone.
	both, flags []string
	// restarted reports whether each old pod restarts before the release.
	restarted bool
	// ends is how many ends of a container show the fault: old pods of a few minutes can't tell that one is too many.
	ends int32
}

// trials returns 60 bad and 60 good releases. 80 requests a second of which 1% fail give a pod 136 errors while it is checked: 170 s.
func trials() []trial {
	shocks := []string{"--shock-times=50", "--shock-every=2m", "--shock-for=25s"}
	bad := func(name, check, lane string, count int, recall float64, delay time.Duration, flags ...string) trial {
		return trial{Class: report.Class{Name: name, Fault: check, Recall: recall, Delay: delay}, count: count, lane: lane, flags: flags}
	}
	good := func(name string, count int, both ...string) trial {
		return trial{Class: report.Class{Name: name, Busy: true}, count: count, lane: "metrics", both: both}
	}
	crash := bad("crash after ready, twice", podsCheck, "restarts", 6, 0.99, soon, "--crash=30s")
	crash.ends = 2
	memory := bad("out of memory after ready", podsCheck, "restarts", 6, 0.99, soon, "--exhaust=40s")
	memory.ends = 1
	shocked := bad("errors x5, common shocks", errorsCheck, "metrics", 6, 0.95, 0, "--failed=0.05")
	shocked.both = shocks
	restarts := good("restarts as often as before", 3, "--crash=80s")
	restarts.lane, restarts.restarted = "restarts", true
	silent := good("no metrics", 6, "--silent")
	silent.Busy, silent.Silent = false, true
	return []trial{
		crash,
		good("unchanged", 21),
		bad("readiness lost", podsCheck, "readiness", 12, 0.99, soon, "--unready=40s"),
		good("unchanged, common shocks", 18, shocks...),
		bad("errors x5", errorsCheck, "metrics", 6, 0.95, 90*time.Second, "--failed=0.05"),
		shocked,
		restarts,
		bad("errors x10", errorsCheck, "metrics", 12, 0.95, 90*time.Second, "--failed=0.1"),
		good("pods differ by 35%", 12, "--differ=0.35"),
		bad("slow requests x3", latencyCheck, "metrics", 12, 0.85, 0, "--slow=0.03"),
		silent,
		memory,
	}
}

// judged is a release that is judged.
type judged struct {
	trial
	number    int
	namespace string
	seed      uint64
}

// queues returns a part of the releases by their lanes, at least one of each class, and their number.
func queues(part int, set uint64) (waiting map[string]chan judged, count int) {
	var all []judged
	for round := range 60 { // classes take turns
		for _, of := range trials() {
			if round >= (of.count+part-1)/part {
				continue
			}
			number := len(all) + 1
			all = append(all, judged{of, number, fmt.Sprintf("judged-%d", number), 1000*set + uint64(number)})
		}
	}
	waiting = map[string]chan judged{}
	for _, lane := range lanes() {
		queue := make(chan judged, len(all))
		for _, of := range all {
			if of.lane == lane.name {
				queue <- of
			}
		}
		close(queue)
		waiting[lane.name] = queue
	}
	return waiting, len(all)
}
