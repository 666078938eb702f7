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

package podhealth_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/podhealth"
)

// ended is a pod that restarted so long ago, and ran again so long ago, or still doesn't if that is 0.
func ended(ago, ran time.Duration) checks.Pod {
	pod := checks.Pod{Restarts: 1, Ended: "main", Code: 1, EndedAt: now.Add(-ago)}
	if ran > 0 {
		pod.RanAgain = now.Add(-ran)
	}
	return pod
}

func TestSharedIsATroubleAtTheSameTime(t *testing.T) {
	const s, m = time.Second, time.Minute
	unready := func(ago time.Duration) checks.Pod { return checks.Pod{Unready: now.Add(-ago)} }
	for name, test := range map[string]struct {
		news   []checks.Pod
		other  checks.Pod
		shared string
	}{
		"a restart at the same time":                    {[]checks.Pod{ended(20*s, 10*s)}, ended(20*s, 10*s), "Restarts"},
		"a restart two minutes before":                  {[]checks.Pod{ended(20*s, 10*s)}, ended(150*s, 140*s), "Restarts"},
		"a restart longer before":                       {[]checks.Pod{ended(20*s, 10*s)}, ended(151*s, 141*s), ""},
		"a restart fifty minutes before":                {[]checks.Pod{ended(20*s, 0)}, ended(50*m, 49*m), ""},
		"a restart two minutes later":                   {[]checks.Pod{ended(150*s, 140*s)}, ended(20*s, 10*s), "Restarts"},
		"a restart longer later":                        {[]checks.Pod{ended(151*s, 141*s)}, ended(20*s, 10*s), ""},
		"a restart at the time of another new pod":      {[]checks.Pod{ended(50*m, 49*m), ended(20*s, 10*s)}, ended(20*s, 10*s), "Restarts"},
		"both down, by back-offs of different ages":     {[]checks.Pod{ended(10*s, 0)}, ended(290*s, 0), "Restarts"},
		"both up again after their longest back-offs":   {[]checks.Pod{ended(590*s, 290*s)}, ended(310*s, 10*s), "Restarts"},
		"a restart where new pods lost their readiness": {[]checks.Pod{unready(20 * s)}, ended(20*s, 10*s), ""},
		"a restart where new pods have no trouble":      {[]checks.Pod{{}}, ended(20*s, 10*s), ""},
		"readiness lost two minutes before":             {[]checks.Pod{unready(30 * s)}, unready(150 * s), "ReadinessLost"},
		"readiness lost before, and not yet back":       {[]checks.Pod{unready(30 * s)}, unready(151 * s), ""},
		"readiness lost a period of the probes later":   {[]checks.Pod{unready(30 * s)}, unready(20 * s), "ReadinessLost"},
		"readiness lost for a moment":                   {[]checks.Pod{unready(30 * s)}, unready(19 * s), ""},
		"out of memory where new pods only restart":     {[]checks.Pod{ended(20*s, 10*s)}, checks.Pod{OutOfMemory: "main", EndedAt: now.Add(-20 * s)}, ""},
		"out of memory as new pods":                     {[]checks.Pod{{OutOfMemory: "main", EndedAt: now.Add(-20 * s)}}, checks.Pod{OutOfMemory: "main", EndedAt: now.Add(-20 * s)}, "OOMKilled"},
		"no trouble":                                    {[]checks.Pod{ended(20*s, 10*s)}, checks.Pod{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			shared := podhealth.TroublesOf(&checks.Scene{New: test.news}, now).Shared(&test.other, now)
			var expected []appv1alpha1.PodSignal
			if test.shared != "" {
				expected = append(expected, appv1alpha1.PodSignal(test.shared))
			}
			NewWithT(t).Expect(shared).To(Equal(expected))
		})
	}
}
