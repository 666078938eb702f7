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

// checkedReleases returns the scenes in which AlterShield Server gives the verdicts.
func checkedReleases(server *altershield.Server) []scene {
	return []scene{
		{"AlterShield Server checks a release, and it passes", func(ctx context.Context, s *stage) error {
			return releasePasses(ctx, s, server)
		}},
		{"A release whose third pod fails is suspended", func(ctx context.Context, s *stage) error {
			return thirdPodFails(ctx, s, server)
		}},
		{"The reason is shown", reasonIsShown},
		{"A repair is admitted, and the orders are closed", func(ctx context.Context, s *stage) error {
			return ordersAreClosed(ctx, s, server)
		}},
	}
}

// template returns a patch that makes a release; labels are set on the Deployment.
func template(value, labels string) string {
	return fmt.Sprintf(`{"metadata":{"labels":{%s}},"spec":{"template":{"metadata":{"labels":{"test":%q}}}}}`, labels, value)
}

func releasePasses(ctx context.Context, s *stage, server *altershield.Server) error {
	if err := s.must(ctx, "patched", "patch", "deployment", "sleep", "--type=merge", "-p", template("good", "")); err != nil {
		return err
	}
	name, err := s.succeeds(ctx)
	if err != nil {
		return err
	}
	var checked [][]string
	for number := range 5 {
		checked = append(checked, []string{fmt.Sprintf("%s--x--%d", name, number+1), "ExecuteDone", "PostFinish"})
	}
	// Selected by version, because the garbage collector takes a while to remove those of the previous release.
	version := "admission-webhook-altershield.antgroup.com/version=" + strings.TrimPrefix(name, "sleep--x--")
	if err := s.await(ctx, expectRows(checked...), "get", "changepods", "-l", version); err != nil {
		return err
	}
	if err := s.must(ctx, `"state":"SUCCESS"`, "get", "changeworkload", name, "-o", "jsonpath={.status.order}{\"\\n\"}"); err != nil {
		return err
	}
	return expectFinishes(s, server, "SUCCESS")
}

func thirdPodFails(ctx context.Context, s *stage, server *altershield.Server) error {
	fmt.Fprintln(s.out, "# A rule of AlterShield Server finds an error rate above 1% after the third batch.")
	server.AddRule(altershield.Rule{
		Name: "error rate", Message: "5xx above 1%", Stage: altershield.StagePost, Batch: ptr.To(2), Verdict: altershield.VerdictFail,
	})
	if err := s.must(ctx, "patched", "patch", "deployment", "sleep", "--type=merge", "-p", template("bad", "")); err != nil {
		return err
	}
	suspended := func(printed string) error {
		if printed == "\n" {
			return errors.New("the Deployment should have the label suspend")
		}
		return nil
	}
	err := s.await(ctx, suspended, "get", "deployment", "sleep", "-o",
		`jsonpath={.metadata.labels.altershield\.defense\.antgroup\.com/suspend}{"\n"}`)
	if err != nil {
		return err
	}
	if sent := callbackTime(server); !sent.IsZero() {
		fmt.Fprintf(s.out, "# kubectl saw the label %s after the server sent its verdict.\n", time.Since(sent).Round(10*time.Millisecond))
	}
	return s.await(ctx, isSuspended, "get", "changeworkloads")
}

// isSuspended expects that one of the ChangeWorkloads failed.
func isSuspended(table string) error {
	for _, row := range rows(table) {
		if len(row) > 1 && row[1] == "Suspend" {
			return nil
		}
	}
	return errors.New("a release should have the status Suspend")
}

// callbackTime returns the time at which the bad verdict was sent.
func callbackTime(server *altershield.Server) time.Time {
	for _, node := range server.Nodes() {
		for _, callback := range node.Callbacks {
			if callback.Verdict == "fail" {
				return callback.Time
			}
		}
	}
	return time.Time{}
}

func reasonIsShown(ctx context.Context, s *stage) error {
	name, err := current(ctx, s)
	if err != nil {
		return err
	}
	if err := s.must(ctx, "failed its check: error rate: 5xx above 1%", "describe", "changeworkload", name); err != nil {
		return err
	}
	return s.denied(ctx, "error rate: 5xx above 1%", "the next release should be denied, with the reason",
		"patch", "deployment", "sleep", "--type=merge", "-p", template("worse", ""))
}

func ordersAreClosed(ctx context.Context, s *stage, server *altershield.Server) error {
	server.ClearRules()
	repair := template("repaired", `"altershield.defense.antgroup.com/ignored-suspend":"true"`)
	if err := s.must(ctx, "patched", "patch", "deployment", "sleep", "--type=merge", "-p", repair); err != nil {
		return err
	}
	if _, err := s.succeeds(ctx); err != nil {
		return err
	}
	return expectFinishes(s, server, "SUCCESS", "CANCEL", "SUCCESS")
}

// current returns the name of the ChangeWorkload of the Deployment's current release.
func current(ctx context.Context, s *stage) (string, error) {
	printed, failed, err := s.quietly(ctx, "get", "deployment", "sleep", "-o",
		`jsonpath={.metadata.labels.admission-webhook-altershield\.antgroup\.com/version}`)
	if err != nil || failed {
		return "", errors.Join(err, fmt.Errorf("reading Deployment sleep: %s", printed))
	}
	return "sleep--x--" + printed, nil
}

// expectFinishes shows the end of each order at the server.
func expectFinishes(s *stage, server *altershield.Server, want ...string) error {
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
