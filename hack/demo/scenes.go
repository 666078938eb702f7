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

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/ptr"

	"github.com/traas-stack/altershield-operator/hack/altershield"
)

const (
	// release and repair are the records of the documented sample and its repair.
	release = "sleep--x--c6c45d23c098bdf181853a85b60b5d74"
	repair  = "sleep--x--6a8ff823a5011291b0f02a1d83c2222d"

	// present prints the version of the Deployment's current release.
	present = `kubectl get deployment sleep -o 'jsonpath={.metadata.labels.admission-webhook-altershield\.antgroup\.com/version}'`

	optIn       = "kubectl label namespace %s admission-webhook-altershield=enabled"
	nextRelease = `kubectl patch deployment sleep --type=merge -p '{"spec":{"template":{"metadata":{"labels":{"test":"test"}}}}}'`
	startTime   = `kubectl patch opsconfiginfo stuck-rollback -n altershieldoperator-system --type=merge -p '{"spec":{"content":%q}}'`
	brokenImage = "kubectl set image deployment/sleep sleep=busybox:missing"
	warnings    = "kubectl events --for deployment/sleep --types=Warning"
)

// walkthrough returns the scenes of docs/walkthrough.md.
func walkthrough() []scene {
	return []scene{
		{"The settings are there", []step{
			await("kubectl get opsconfiginfo -n altershieldoperator-system", rows("blocking", "branch", "change-records", "finished-label", "park", "record-days",
				"refusal", "release-history", "stuck-rollback", "suspended-rollback", "template-history", "unstick")),
		}},
		{"A namespace is opted in", []step{
			run(fmt.Sprintf(optIn, "default"), contains("namespace/default labeled")),
		}},
		{"A release is recorded and its pods are checked", []step{
			run("kubectl apply -f config/samples/sleep.yaml", contains("deployment.apps/sleep created")),
			await("kubectl get changeworkloads", rows(release+" Success")),
			await("kubectl get changepods", batches(release, "PreFailed")),
		}},
		{"A verdict is set to unpass, which simulates a fault", []step{
			learn("pod", "kubectl get changepod "+release+"--x--1 -o 'jsonpath={.spec.podInfos[0].pod}'"),
			run("kubectl patch changepod "+release+"--x--1 --subresource=status --type=merge -p "+
				`'{"status":{"message":"PostFinish","podResults":[{"pod":"$pod","verdict":"unpass","message":"find error"}]}}'`, contains("patched")),
		}},
		{"The release is suspended", []step{
			await("kubectl get changeworkloads", rows(release+" Suspend")),
			run("kubectl get changepods", hasRow(release+"--x--1 ExecuteDone PostFinish")),
			unseen("kubectl get changeworkload "+release+" -o 'jsonpath={.status.defenseCheckFailPods}'", contains(`"verdict":"unpass"`)),
			await("kubectl get deployment sleep -L altershield.defense.antgroup.com/suspend", func(_ *stage, table string) error {
				if got := rowsOf(table); len(got) != 1 || len(got[0]) != 6 {
					return errors.New("the Deployment should have the label suspend")
				}
				return nil
			}),
		}},
		{"The next release is denied", []step{
			refused(nextRelease, "Error from server (deployment sleep is suspended): "+
				`admission webhook "vdeployment.kb.io" denied the request: deployment sleep is suspended`+"\n"),
		}},
		{"Everything but a release still works", []step{
			run("kubectl scale deployment sleep --replicas=6", contains("deployment.apps/sleep scaled")),
			run("kubectl annotate deployment sleep team=shop", contains("deployment.apps/sleep annotated")),
			run("kubectl scale deployment sleep --replicas=5", contains("deployment.apps/sleep scaled")),
		}},
		{"A repair gets in", []step{
			watching("kubectl get changeworkloads --watch --no-headers",
				seen(release+" Suspend"),
				run("kubectl apply -f config/samples/sleep-repair.yaml", contains("deployment.apps/sleep configured")),
				await("kubectl get changeworkloads", rows(repair+" Success")),
				seen(repair+" Running"), seen(repair+" Success")),
		}},
		{"Normal releases work again", []step{
			run(nextRelease, contains("deployment.apps/sleep patched")),
			await("kubectl get changeworkloads", only("Success")),
		}},
	}
}

// batches expects the five batches of a release, each with a message.
func batches(record, message string) check {
	var wanted []string
	for number := range 5 {
		wanted = append(wanted, fmt.Sprintf("%s--x--%d ExecuteDone %s", record, number+1, message))
	}
	return rows(wanted...)
}

// selfHealing returns the scenes with rollbacks.
func selfHealing() []scene {
	return []scene{
		{"A release whose image can't be pulled is rolled back", []step{
			learn("good", present), await("kubectl get changeworkloads", rows("sleep--x--$good Success")),
			run(brokenImage, contains("updated")),
			await("kubectl get pods -l app=sleep", func(_ *stage, pods string) error {
				if strings.Count(pods, "Running") != 4 || strings.Count(pods, "ErrImagePull")+strings.Count(pods, "ImagePullBackOff") != 3 {
					return errors.New("4 pods should be running and 3 should not")
				}
				return nil
			}),
			tell("By default pods may take two minutes to run. The demo shortens that."),
			run(fmt.Sprintf(startTime, "5s"), contains("patched")),
			await(present, rows("$good")),
			run(fmt.Sprintf(startTime, "2m"), contains("patched")),
			await("kubectl get deployment sleep", rows("sleep 5/5 5 5")),
			await("kubectl get changeworkloads", rows("sleep--x--$good Success")),
			await(warnings, contains("goes back to version $good")),
		}},
		{"The same image is denied, another one is admitted", []step{
			refused(brokenImage, "deployment sleep refuses version "),
			run("kubectl set image deployment/sleep sleep=busybox:1.37", contains("updated")),
			learn("left", present), await("kubectl get changeworkloads", rows("sleep--x--$left Success")),
		}},
		{"A release is rolled back on request, to a kept template", []step{
			run("kubectl get controllerrevisions", contains("deployment.apps/sleep")),
			run("kubectl annotate deployment sleep altershield.defense.antgroup.com/rollback=true", contains("annotated")),
			await(warnings, contains("$left, goes back to version ")),
			learn("back", present), await("kubectl get changeworkloads -o wide", rows("sleep--x--$back Success")),
			func(_ context.Context, s *stage) error {
				if s.known["back"] == s.known["left"] {
					return errors.New(s.expand("the Deployment should have left version $left"))
				}
				return nil
			},
		}},
	}
}

// stepwise returns the scenes of a StatefulSet, which is in a namespace of its own.
func stepwise() []scene {
	return []scene{
		{"A StatefulSet and a ReleasePolicy with two steps are created", []step{
			run("kubectl create namespace shop", contains("namespace/shop created")),
			run(fmt.Sprintf(optIn, "shop"), contains("namespace/shop labeled")),
			run("kubectl apply -n shop -f config/samples/orders.yaml", contains("releasepolicy.app.ops.cloud.alipay.com/one-first created")),
			await("kubectl get releasepolicies -n shop -o wide", rows("one-first With 1 0 True MutatingAdmissionPolicy")),
			await("kubectl get changeworkloads -n shop", only("Success")),
		}},
		{"The first new pod crashes: the release is suspended, and the other pods keep their version", []step{
			tell("Fake pods with this label crash two seconds after they started."),
			run(releaseOrders("crash"), contains("patched")),
			await("kubectl get changeworkloads -n shop", hasStatus("Suspend")),
			run("kubectl get changeworkloads -n shop -o "+
				`'jsonpath={.items[?(@.status.status=="Suspend")].status.conditions[?(@.type=="Verified")].message}{"\n"}'`,
				contains("pod orders-2 failed its check: 2 restarts after the pod was ready")),
			run("kubectl get pods -n shop -L local.altershield.io/start", func(_ *stage, pods string) error {
				if strings.Count(pods, "Running") < 2 || strings.Count(pods, "crash\n") != 1 {
					return errors.New("one of three pods should run the release")
				}
				return nil
			}),
		}},
		{"The next release is denied, a repair goes through the steps", []step{
			refused(releaseOrders("slow"), "statefulset orders is suspended"),
			watching("kubectl get changeworkloads -n shop --watch --no-headers",
				run("kubectl patch statefulset orders -n shop --type=merge -p "+`'{"metadata":{"labels":{"altershield.defense.antgroup.com/ignored-suspend":"true"}},`+
					`"spec":{"template":{"metadata":{"labels":{"local.altershield.io/start":null,"test":"repaired"}}}}}'`, contains("patched")),
				await("kubectl get changeworkloads -n shop", only("Success"))),
		}},
	}
}

func releaseOrders(start string) string {
	return fmt.Sprintf(`kubectl patch statefulset orders -n shop --type=merge -p '{"spec":{"template":{"metadata":{"labels":{"local.altershield.io/start":%q}}}}}'`, start)
}

// checkedReleases returns the scenes in which AlterShield Server gives the verdicts.
func checkedReleases(server *altershield.Server) []scene {
	return []scene{
		{"AlterShield Server checks a release, and it passes", []step{
			run(releaseSleep("good", ""), contains("patched")),
			learn("good", present), await("kubectl get changeworkloads", rows("sleep--x--$good Success")),
			// Selected by version, because the garbage collector takes a while to remove those of the previous release.
			await("kubectl get changepods -l admission-webhook-altershield.antgroup.com/version=$good", batches("sleep--x--$good", "PostFinish")),
			run(`kubectl get changeworkload sleep--x--$good -o 'jsonpath={.status.order}{"\n"}'`, contains(`"state":"SUCCESS"`)),
			ended(server, "SUCCESS"),
		}},
		{"A release whose third pod fails is suspended", []step{
			tell("A rule of AlterShield Server finds an error rate above 1% after the third batch."),
			func(context.Context, *stage) error {
				server.AddRule(altershield.Rule{
					Name: "error rate", Message: "5xx above 1%", Stage: altershield.StagePost, Batch: ptr.To(2), Verdict: altershield.VerdictFail,
				})
				return nil
			},
			run(releaseSleep("bad", ""), contains("patched")),
			await(`kubectl get deployment sleep -o 'jsonpath={.metadata.labels.altershield\.defense\.antgroup\.com/suspend}{"\n"}'`, func(_ *stage, printed string) error {
				if printed == "\n" {
					return errors.New("the Deployment should have the label suspend")
				}
				return nil
			}),
			tellDelay(server),
			await("kubectl get changeworkloads", hasStatus("Suspend")),
		}},
		{"The reason is shown", []step{
			learn("bad", present), run("kubectl describe changeworkload sleep--x--$bad", contains("failed its check: error rate: 5xx above 1%")),
			refused(releaseSleep("worse", ""), "error rate: 5xx above 1%"),
		}},
		{"A repair is admitted, and the orders are closed", []step{
			func(context.Context, *stage) error {
				server.ClearRules()
				return nil
			},
			run(releaseSleep("repaired", `"altershield.defense.antgroup.com/ignored-suspend":"true"`), contains("patched")),
			learn("repaired", present), await("kubectl get changeworkloads", rows("sleep--x--$repaired Success")),
			ended(server, "SUCCESS", "CANCEL", "SUCCESS"),
		}},
	}
}

// releaseSleep returns a command that makes a release; labels are set on the Deployment.
func releaseSleep(value, labels string) string {
	return fmt.Sprintf(`kubectl patch deployment sleep --type=merge -p '{"metadata":{"labels":{%s}},"spec":{"template":{"metadata":{"labels":{"test":%q}}}}}'`, labels, value)
}

// tellDelay prints how long ago the bad verdict was sent.
func tellDelay(server *altershield.Server) step {
	return func(_ context.Context, s *stage) error {
		for _, node := range server.Nodes() {
			for _, callback := range node.Callbacks {
				if callback.Verdict == "fail" {
					fmt.Fprintf(s.out, "# kubectl saw the label %s after the server sent its verdict.\n", time.Since(callback.Time).Round(10*time.Millisecond))
					return nil
				}
			}
		}
		return nil
	}
}

// ended shows the orders at the server, and checks how each ended.
func ended(server *altershield.Server, want ...string) step {
	return func(_ context.Context, s *stage) error {
		var got []string
		fmt.Fprintln(s.out, "# The orders at AlterShield Server, with their end:")
		for _, order := range server.Orders() {
			end := "open"
			if len(order.Finishes) > 0 {
				end = order.Finishes[0].State
			}
			got = append(got, end)
			fmt.Fprintf(s.out, "%-40s %s\n", order.BizExecOrderID, end)
		}
		if !slices.Equal(got, want) {
			return fmt.Errorf("the orders should have ended with %s", strings.Join(want, ", "))
		}
		return nil
	}
}
