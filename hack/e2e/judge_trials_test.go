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
	"time"

	"github.com/traas-stack/altershield-operator/hack/judge/report"
)

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
