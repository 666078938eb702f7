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
package browser

import (
	"fmt"
	"maps"
	"time"
)

// The page counts from the time of the plugin, so that the fixtures needn't move.
const now = "2026-11-22T16:41:52Z"

func ago(t time.Duration) string {
	at, _ := time.Parse(time.RFC3339, now)
	return at.Add(-t).Format(time.RFC3339)
}

func with(base object, more object) object {
	merged := maps.Clone(base)
	maps.Copy(merged, more)
	return merged
}

func pods(desired, waiting, checking, passed, failed int) object {
	return object{"desired": desired, "waiting": waiting, "checking": checking, "passed": passed, "failed": failed}
}

// release returns a release of a Deployment in a state.
func release(namespace, name, state string, more object) object {
	return with(object{
		"namespace": namespace, "kind": "Deployment", "workloadAPIVersion": "apps/v1", "workload": name, "changeWorkload": name + "-491e30c", "release": 7,
		"version": "491e30c2a4c6418da3e9d6b1b6ff2b0a", "state": state, "by": "alice@corp.example", "started": ago(13 * time.Minute), "since": ago(12 * time.Minute),
		"pods": pods(20, 0, 0, 4, 2), "changes": []string{"image web: shop/web:1.8 -> shop/web:1.9", "env LOG_LEVEL: (not shown) -> (not shown)"}, "current": true,
	}, more)
}

func states() []string {
	return []string{"Pending", "Running", "Waiting", "Success", "Suspend", "RolledBack", "Superseded", "Failed", "NotChecked"}
}

// shop returns the releases of a cluster at work.
func shop() []object {
	found := []object{
		release("shop", "web", "Suspend", object{"reason": "PodFailed", "why": "2 pods failed POST: error rate: 5xx above 1%"}),
		release("pay", "api", "Waiting", object{"release": 13, "by": "ci-bot", "reason": "Paced", "why": "waits for 1 of 2 approvals of step 2/3", "step": "2/3", "since": ago(4 * time.Minute), "pods": pods(40, 0, 0, 10, 0)}),
		release("shop", "cart", "Running", object{"release": 3, "by": "argocd", "why": "batch 9 POST, verdict due in 1m20s", "since": ago(40 * time.Second), "pods": pods(20, 1, 3, 8, 0)}),
		release("shop", "search", "Running", object{"release": 21, "by": "argocd", "kind": "StatefulSet", "since": ago(95 * time.Second), "pods": pods(6, 0, 1, 2, 0)}),
		release("pay", "ledger", "RolledBack", object{"release": 4, "by": "operator", "reason": "PodsNotRunning", "why": "ImagePullBackOff", "since": ago(3 * time.Hour), "started": ago(4 * time.Hour), "pods": pods(6, 0, 0, 6, 0), "refusedUntil": ago(-21 * time.Hour)}),
	}
	for i, name := range []string{"checkout", "images", "mail", "prices", "stock", "users"} {
		found = append(found, release("shop", name, "Success", object{
			"release": 11 + i, "by": "ci-bot", "started": ago(time.Duration(30+i) * time.Hour), "since": ago(time.Duration(30+i)*time.Hour - 4*time.Minute), "pods": pods(8, 0, 0, 8, 0),
			"changes": []string{fmt.Sprintf("image %s: shop/%s:2.%d -> shop/%s:2.%d", name, name, i, name, i+1)},
		}))
	}
	return found
}

// answers returns what the plugin answers about web in shop, and about the cluster.
func answers(readOnly bool) map[string]any {
	present := shop()[0]
	earlier := []object{
		release("shop", "web", "RolledBack", object{"release": 6, "version": "ac18b34e8d0b4d4cb6bb7d0a91b0aa11", "reason": "PodsNotRunning", "why": "ImagePullBackOff", "started": ago(22 * time.Minute), "since": ago(21 * time.Minute), "refusedUntil": ago(-23 * time.Hour), "by": "ci-bot", "current": false, "changes": []string{"image web: shop/web:1.8 -> shop/web:missing"}}),
		release("shop", "web", "Success", object{"release": 5, "version": "a15e8a37c9d04b2f8a9f1e7c5a4b3c2d", "started": ago(55 * time.Hour), "since": ago(54 * time.Hour), "tookSeconds": 250, "kept": true, "target": true, "by": "ci-bot", "current": false, "changes": []string{"image web: shop/web:1.7 -> shop/web:1.8"}}),
	}
	return map[string]any{
		"session": object{"cluster": "prod-1", "server": "https://prod-1.example:6443", "user": "alice@corp.example", "readOnly": readOnly, "version": "v0.9.0", "namespace": "", "language": "en", "now": now},
		"status": object{
			"kind": "ReleaseStatus", "present": present, "from": "a15e8a37c9d04b2f8a9f1e7c5a4b3c2d", "earlier": earlier,
			"workload": object{"namespace": "shop", "kind": "Deployment", "name": "web", "known": true, "release": 7, "wanted": 20, "ready": 20, "updated": 6, "suspended": true, "held": true, "pausedByUser": false},
			"batches": []object{
				{"numbers": "5-6", "count": 2, "outcome": "failed", "stage": "POST", "reason": "CheckFailed", "message": "error rate: 5xx above 1%, see https://grafana.example/d/web", "pods": []string{"web-85c4-b6lg8", "web-85c4-q2nvm"}, "preSeconds": 2, "postSeconds": 21},
				{"numbers": "1-4", "count": 4, "outcome": "passed", "preSeconds": 2, "postSeconds": 10},
			},
			"checks": []object{{"policy": "golden-signals", "name": "error-rate", "mode": "Enforce", "verdict": "Fail", "message": "5xx 3.1 % of requests, 0.2 % before"}, {"policy": "golden-signals", "name": "latency", "mode": "Observe", "verdict": "Pass"}},
		},
		"pods": podList(6), "history": object{"kind": "ReleaseList", "items": append([]object{present}, earlier...)},
		"diff": object{"kind": "Diff", "from": object{"release": 5, "version": "a15e8a37c9d04b2f8a9f1e7c5a4b3c2d"}, "to": object{"release": 7, "version": "491e30c2a4c6418da3e9d6b1b6ff2b0a"}, "changes": []string{"image web: shop/web:1.8 -> shop/web:1.9", "env LOG_LEVEL: (not shown) -> (not shown)"}},
		"events": object{"kind": "EventList", "items": []object{
			{"time": ago(13 * time.Minute), "type": "Normal", "reason": "ReleaseStarted", "object": "ChangeWorkload/web-491e30c", "message": "release 7 of alice@corp.example", "count": 1},
			{"time": ago(12 * time.Minute), "type": "Warning", "reason": "Suspended", "object": "Deployment/web", "message": "2 pods failed their check", "count": 2},
		}},
		"policies": object{"kind": "PolicyList", "items": []object{{"kind": "VerificationPolicy", "namespace": "shop", "name": "golden-signals", "does": "checks: error-rate, latency", "because": "all workloads of the namespace"}}},
		"why": object{"kind": "Why", "failures": []object{{"pod": "web-85c4-b6lg8", "message": "error rate: 5xx above 1%"}, {"pod": "web-85c4-q2nvm", "message": "error rate: 5xx above 1%"}}, "ways": []object{
			{"name": "repair", "commands": []string{"kubectl altershield repair deployment/web -n shop -f FILE"}, "needs": patchDeployments(), "may": true},
			{"name": "rollback", "commands": []string{"kubectl altershield rollback deployment/web -n shop"}, "to": "a15e8a37c9d04b2f8a9f1e7c5a4b3c2d", "release": 5, "needs": patchDeployments(), "may": true},
			{"name": "withdraw", "commands": []string{"kubectl altershield verdict web-491e30c--x--5 pass -n shop --reason WHY"}, "needs": patchChangePods(), "may": false},
		}},
		"may": object{"kind": "ActionList", "items": []object{{"verb": "rollback", "needs": patchDeployments(), "may": true}, {"verb": "verdict", "needs": patchChangePods(), "right": "patch changepods.app.ops.cloud.alipay.com/status", "may": false}, {"verb": "freeze-lock", "needs": patchDeployments(), "may": true}}},
		"may-lock": object{"kind": "ActionList", "items": []object{
			{"verb": "freeze-lock", "needs": changeFreezes("create"), "right": "create changefreezes.app.ops.cloud.alipay.com", "may": true},
			{"verb": "freeze-unlock", "needs": changeFreezes("delete"), "right": "delete changefreezes.app.ops.cloud.alipay.com", "may": true},
		}},
		"freezes": object{"kind": "FreezeList", "items": []object{
			{"namespace": "shop", "name": "weekend", "lock": false, "action": "Park", "active": true, "until": ago(-37 * time.Hour), "parked": 1, "reason": "no releases at weekends"},
			{"namespace": "pay", "name": "incident-99", "lock": true, "action": "Deny", "active": true, "until": ago(-2 * time.Hour), "parked": 0, "reason": "INC-99: checkout is down"},
			{"namespace": "pay", "name": "quarter-end", "lock": false, "action": "Park", "active": false, "next": ago(-80 * time.Hour), "parked": 0},
		}},
		"settings": object{"kind": "SettingList", "items": []object{{"name": "isBlockingUp", "enable": true, "default": true}, {"name": "checkTimeout", "enable": true, "content": "10m", "default": false, "remark": "set by the platform team"}, {"name": "rollback", "enable": false, "default": false, "problem": "the content is no duration"}}},
		"doctor": object{"kind": "Diagnosis", "problems": 1, "items": []object{
			{"topic": "Lease", "result": "Problem", "symptom": "LeaseStale", "values": []string{"altershield-0", "4m"}, "help": "kubectl -n altershieldoperator-system get pods"},
			{"topic": "APIServer", "result": "OK", "symptom": "ServerSupported", "values": []string{"1.34.1", "1.30"}},
			{"topic": "Rights", "result": "Unknown", "symptom": "MayNotRead", "values": []string{"list leases.coordination.k8s.io"}},
		}},
		"releases":        object{"kind": "ReleaseExport", "items": recorded()},
		"act/rollback":    object{"kind": "RollbackRequest", "namespace": "shop", "workload": "web", "object": "deployment/web", "from": object{"release": 7, "version": "491e30c2a4c6418da3e9d6b1b6ff2b0a"}, "to": object{"release": 5, "version": "a15e8a37c9d04b2f8a9f1e7c5a4b3c2d"}, "changes": []string{"image web: shop/web:1.9 -> shop/web:1.8"}, "warnings": []string{"the rollout is held by the operator"}},
		"act/freeze-lock": object{"kind": "FreezeLockRequest", "namespace": "shop", "object": "changefreeze/inc-7", "changes": []string{"workloads: deployment/web", "action: Park"}},
	}
}

func patchDeployments() object {
	return object{"verb": "patch", "group": "apps", "resource": "deployments"}
}

func changeFreezes(verb string) object {
	return object{"verb": verb, "group": "app.ops.cloud.alipay.com", "resource": "changefreezes"}
}

func patchChangePods() object {
	return object{"verb": "patch", "group": "app.ops.cloud.alipay.com", "resource": "changepods", "subresource": "status"}
}

// podList returns pods of the new version of web. The fifth and sixth failed. Of at most 20 those after them wait, of more some are checked.
func podList(count int) object {
	items := make([]object, count)
	for i := range items {
		state, batch := "passed", i+1
		switch {
		case i == 4 || i == 5:
			state = "failed"
		case i >= 6 && count <= 20:
			state = "waiting"
		case i%97 == 0 && count > 20:
			state = "checking"
		}
		items[i] = object{"name": fmt.Sprintf("web-85c4-%05d", i), "node": fmt.Sprintf("node-%02d", i%7), "zone": fmt.Sprintf("zone-%c", 'a'+i%3), "batch": batch, "changePod": fmt.Sprintf("web-491e30c--x--%d", batch), "state": state, "stage": "POST"}
		if state == "failed" {
			items[i]["reason"] = "error rate: 5xx above 1%"
		}
		if state == "waiting" {
			delete(items[i], "batch")
		}
	}
	return object{"kind": "PodList", "items": items}
}

// recorded returns releases of 13 weeks, some of the last day.
func recorded() []object {
	var items []object
	add := func(namespace, name string, number int, before time.Duration, outcome string, more object) {
		items = append(items, with(object{
			"namespace": namespace, "changeRecord": fmt.Sprintf("%s-%d", name, number), "workload": object{"apiVersion": "apps/v1", "kind": "Deployment", "name": name, "uid": namespace + name}, "release": number,
			"version": fmt.Sprintf("%032x", number), "type": "Release", "startedAt": ago(before), "endedAt": ago(before - 4*time.Minute), "commitTime": ago(before + 90*time.Minute), "outcome": outcome,
		}, more))
	}
	for day := 90; day > 1; day -= 2 {
		add("shop", "checkout", 100-day, time.Duration(day)*24*time.Hour, "Verified", nil)
		if day%5 == 0 {
			add("pay", "ledger", 100-day, time.Duration(day)*24*time.Hour, "Failed", object{"failingSince": ago(time.Duration(day)*24*time.Hour - 2*time.Minute)})
			add("pay", "ledger", 101-day, time.Duration(day)*24*time.Hour-10*time.Minute, "Verified", object{"type": "Rollback"})
		}
	}
	for i, hours := range []int{23, 20, 19, 14, 9, 6, 3} {
		add("shop", "web", 10+i, time.Duration(hours)*time.Hour, "Verified", nil)
	}
	add("shop", "cart", 4, 12*time.Hour, "Failed", object{"failingSince": ago(12*time.Hour - 3*time.Minute)})
	add("shop", "cart", 5, 11*time.Hour+50*time.Minute, "Verified", object{"type": "Rollback"})
	add("pay", "ledger", 98, 4*time.Hour, "RolledBack", nil)
	add("pay", "api", 12, 16*time.Hour, "Verified", nil)
	add("pay", "api", 13, 2*time.Hour, "Superseded", nil)
	return items
}
