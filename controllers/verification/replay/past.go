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

// Package replay finds what the checks of a VerificationPolicy that look at metrics would have said about a past release. It decides as the
// operator does, look by look, and changes nothing.
package replay

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/measure"
)

// Past is a release of the past.
type Past struct {
	// Release has all pods of the release. Its old pods are known by their names in the series alone, as are those that are gone.
	Release checks.Scene
	// Record is the UID of the record of the release, by which its looks were spread over the interval. It is empty for a release without one.
	Record types.UID
	// Ended is when the checks ended.
	Ended time.Time
}

// Find returns a release of a workload from the records of its namespace, with the times of terms. Observed releases are counted separately: if
// two have the number, the newer one is meant.
func Find(
	records []appv1alpha1.ChangeWorkload, kind schema.GroupKind, name string, release int64, terms *appv1alpha1.VerificationTerms, now time.Time,
) (Past, error) {
	own := slices.DeleteFunc(slices.Clone(records), func(record appv1alpha1.ChangeWorkload) bool { return !isOf(&record, kind, name) })
	slices.SortFunc(own, func(a, b appv1alpha1.ChangeWorkload) int {
		return cmp.Or(cmp.Compare(a.Spec.CreateTimeUnix, b.Spec.CreateTimeUnix), cmp.Compare(a.Spec.Release, b.Spec.Release))
	})
	at := len(own) - 1
	for at >= 0 && own[at].Spec.Release != release {
		at--
	}
	if at < 0 {
		var known []int64
		for i := range own {
			known = append(known, own[i].Spec.Release)
		}
		return Past{}, fmt.Errorf("there is no record of release %d of %s %s: there are those of %v", release, kind, name, known)
	}
	past, err := ofRecord(&own[at], name, terms, now)
	if err == nil && at+1 < len(own) { // the next release took its pods away
		past.Ended = earlier(past.Ended, time.Unix(own[at+1].Spec.CreateTimeUnix, 0))
	}
	return past, err
}

func isOf(record *appv1alpha1.ChangeWorkload, kind schema.GroupKind, name string) bool {
	of := record.Workload()
	return of.GroupKind() == kind && of.Name == name
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func ofRecord(record *appv1alpha1.ChangeWorkload, name string, terms *appv1alpha1.VerificationTerms, now time.Time) (Past, error) {
	status, kind := &record.Status, record.WorkloadKind()
	past := Past{Record: record.UID, Release: checks.Scene{
		Version: record.Spec.Reversion, Number: record.Spec.Release, Kind: kind, Namespace: record.Namespace, Name: name,
		Replicas: status.Counts.Desired, Began: time.Unix(record.Spec.CreateTimeUnix, 0),
		Before: appv1alpha1.OldPods{Pods: status.Counts.Desired}, // which says whether all of them are looked at
	}}
	if status.Verification != nil {
		past.Release.Before = status.Verification.OldPods
	}
	verified := now
	switch status.Status {
	case appv1alpha1.ChangeWorkloadSuccess, appv1alpha1.ChangeWorkloadSuspend, appv1alpha1.ChangeWorkloadFailed:
		verified = time.Unix(status.EntryTimeUnix, 0)
	}
	past.Ended = verified.Add(time.Duration(max(terms.BakeSeconds, terms.WatchSeconds)) * time.Second)
	if status.ObservedRelease == record.Spec.Release {
		for _, pods := range [][]appv1alpha1.PodSummary{
			status.DefensePreparingPods, status.DefenseCheckingPods, status.DefenseCheckPassPods, status.DefenseCheckFailPods,
		} {
			for i := range pods {
				past.Release.New = append(past.Release.New, newPod(pods[i].Pod, pods[i].UID, time.Unix(pods[i].FinishTimeUnix, 0)))
			}
		}
	}
	if len(past.Release.New) == 0 || kind == "Job" || kind == "CronJob" {
		return past, fmt.Errorf("the record %s/%s lists no pods that keep running: there is nothing to replay", record.Namespace, record.Name)
	}
	return past, nil
}

// newPod returns a pod of the release. When it was created isn't stored: it has no metrics that count before it finished.
func newPod(name string, uid types.UID, finished time.Time) checks.Pod {
	if uid == "" {
		uid = types.UID(name)
	}
	return checks.Pod{Name: name, UID: uid, Ready: true, Since: finished, Created: finished}
}

// NewPods returns the pods in the series whose whole names match a pattern, each since its first value.
func NewPods(readings []measure.Readings, pattern *regexp.Regexp) (pods []checks.Pod) {
	whole := regexp.MustCompile("^(?:" + pattern.String() + ")$")
	since := map[string]time.Time{}
	for _, read := range readings {
		for _, series := range slices.Concat(read.Answers...) {
			first := slices.IndexFunc(series.Values, func(value float64) bool { return !math.IsNaN(value) })
			name := series.Labels[read.PodLabel]
			if first < 0 || !whole.MatchString(name) {
				continue
			}
			if known, found := since[name]; !found || read.Moments[first].Before(known) {
				since[name] = read.Moments[first]
			}
		}
	}
	for name, first := range since {
		pods = append(pods, newPod(name, "", first))
	}
	slices.SortFunc(pods, func(a, b checks.Pod) int { return cmp.Compare(a.Name, b.Name) })
	return pods
}
