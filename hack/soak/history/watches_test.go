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

package history_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// watched returns the line of a watch.
func watched(stage, id, user, resource string, second int) string {
	return fmt.Sprintf(`{"stage":%q,"auditID":%q,"verb":"watch","requestURI":"/api","user":{"username":%q},"objectRef":{"resource":%q},`+
		`"responseStatus":{"code":200},"stageTimestamp":"2026-11-21T10:00:%02d.000000Z"}`+"\n", stage, id, user, resource, second)
}

// leased returns the line of a write of the lease.
func leased(user string, second int) string {
	return strings.Replace(watched("ResponseComplete", "", user, "leases", second), "watch", "update", 1)
}

// by returns the line of a request that a manager made.
func by(manager, line string) string {
	return strings.Replace(line, `"username":"operator"`, `"username":"operator","extra":{"authentication.kubernetes.io/credential-id":["`+manager+`"]}`, 1)
}

func TestSeesAsksForTheWatchesOfEachManager(t *testing.T) {
	g := NewWithT(t)
	first, second := by("a", watched("ResponseStarted", "1", "operator", "pods", 3)), by("b", watched("ResponseStarted", "2", "operator", "pods", 7))
	sees := func(log string) time.Time {
		reader := logged(t, log)
		g.Expect(reader.Next()).To(BeEmpty())
		return reader.Sees([]string{"pods"}, nil, time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC))
	}
	g.Expect(sees(first + second).Second()).To(Equal(7))
	g.Expect(sees(first + second + by("b", watched("ResponseComplete", "2", "operator", "pods", 8)))).To(BeZero())
}

func TestSeesAsksForMoreWatchesOfTheLeader(t *testing.T) {
	g := NewWithT(t)
	pods := by("a", watched("ResponseStarted", "1", "operator", "pods", 3)) + by("b", watched("ResponseStarted", "2", "operator", "pods", 4))
	lease := by("b", leased("operator", 1))
	sees := func(log string) time.Time {
		reader := logged(t, log)
		g.Expect(reader.Next()).To(HaveLen(1), "the lease")
		return reader.Sees([]string{"pods"}, []string{"webapps"}, time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC))
	}
	g.Expect(sees(pods + lease + by("b", watched("ResponseStarted", "3", "operator", "webapps", 7))).Second()).To(Equal(7))
	g.Expect(sees(pods + lease + by("a", watched("ResponseStarted", "3", "operator", "webapps", 7)))).To(BeZero())
}

func TestLedIsWhenTheLeaseWasWrittenLast(t *testing.T) {
	g := NewWithT(t)
	reader := logged(t, leased("operator", 1)+leased("operator", 3)+leased("scheduler", 9))
	g.Expect(reader.Next()).To(HaveLen(3))
	at := func(second int) time.Time { return time.Date(2026, 11, 21, 10, 0, second, 0, time.UTC) }
	g.Expect(reader.Led(at(2))).To(BeTemporally("==", at(3)))
	g.Expect(reader.Led(at(3))).To(BeZero())
}

func TestSeesOnceTheOperatorWatchesAllItNeeds(t *testing.T) {
	begun, ended := "ResponseStarted", "ResponseComplete"
	pods := watched(begun, "1", "operator", "pods", 1)
	for name, test := range map[string]struct {
		log  string
		from int
	}{
		"both watches are open":                   {pods + watched(begun, "2", "operator", "deployments", 5), 5},
		"one is older":                            {watched(begun, "1", "operator", "pods", 0) + watched(begun, "2", "operator", "deployments", 5), 0},
		"one was never opened":                    {pods, 0},
		"one has ended":                           {pods + watched(begun, "2", "operator", "deployments", 5) + watched(ended, "2", "operator", "deployments", 5), 0},
		"one has ended and is back":               {pods + watched(begun, "2", "operator", "deployments", 5) + watched(ended, "2", "operator", "deployments", 5) + watched(begun, "3", "operator", "deployments", 40), 40},
		"the end of one is told after the next":   {pods + watched(begun, "2", "operator", "deployments", 5) + watched(begun, "3", "operator", "deployments", 40) + watched(ended, "2", "operator", "deployments", 41), 40},
		"somebody else's watch doesn't count":     {pods + watched(begun, "2", "kubelet", "deployments", 5), 0},
		"a watch of something else doesn't count": {pods + watched(begun, "2", "operator", "secrets", 5), 0},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			reader := logged(t, test.log)
			g.Expect(reader.Next()).To(BeEmpty())
			var want time.Time
			if test.from > 0 {
				want = time.Date(2026, 11, 21, 10, 0, test.from, 0, time.UTC)
			}
			after := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
			g.Expect(reader.Sees([]string{"pods", "deployments"}, nil, after)).To(BeTemporally("==", want))
		})
	}
}
