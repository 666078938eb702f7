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
	"path/filepath"
	"strings"
)

// Names of the releases of the documented sample and its repair.
const (
	release = "sleep--x--c6c45d23c098bdf181853a85b60b5d74"
	repair  = "sleep--x--6a8ff823a5011291b0f02a1d83c2222d"
)

// scene is one step of the walkthrough.
type scene struct {
	title string
	play  func(context.Context, *stage) error
}

func walkthrough() []scene {
	return []scene{
		{"The settings are there", settingsAreThere},
		{"A namespace is opted in", optIn},
		{"A release is recorded and its pods are checked", releaseIsChecked},
		{"A verdict is set to unpass, which simulates a fault", verdictFails},
		{"The release is suspended", releaseIsSuspended},
		{"The next release is denied", nextReleaseIsDenied},
		{"Everything but a release still works", otherChangesPass},
		{"A repair gets in", repairGetsIn},
		{"Normal releases work again", normalReleasesWork},
	}
}

func settingsAreThere(ctx context.Context, s *stage) error {
	return s.await(ctx, expectRows([]string{"blocking"}, []string{"branch"}, []string{"change-records"}, []string{"finished-label"},
		[]string{"park"}, []string{"record-days"}, []string{"refusal"}, []string{"release-history"}, []string{"stuck-rollback"},
		[]string{"suspended-rollback"}, []string{"template-history"}, []string{"unstick"}),
		"get", "opsconfiginfo", "-n", "altershieldoperator-system")
}

func optIn(ctx context.Context, s *stage) error {
	return s.must(ctx, "namespace/default labeled", "label", "namespace", "default", "admission-webhook-altershield=enabled")
}

func releaseIsChecked(ctx context.Context, s *stage) error {
	if err := s.must(ctx, "deployment.apps/sleep created", "apply", "-f", filepath.Join(s.samples, "sleep.yaml")); err != nil {
		return err
	}
	if err := s.await(ctx, expectRows([]string{release, "Success"}), "get", "changeworkloads"); err != nil {
		return err
	}
	return s.await(ctx, expectRows(
		[]string{release + "--x--1", "ExecuteDone", "PreFailed"},
		[]string{release + "--x--2", "ExecuteDone", "PreFailed"},
		[]string{release + "--x--3", "ExecuteDone", "PreFailed"},
		[]string{release + "--x--4", "ExecuteDone", "PreFailed"},
		[]string{release + "--x--5", "ExecuteDone", "PreFailed"},
	), "get", "changepods")
}

func verdictFails(ctx context.Context, s *stage) error {
	name := release + "--x--1"
	pod, failed, err := s.quietly(ctx, "get", "changepod", name, "-o", "jsonpath={.spec.podInfos[0].pod}")
	if err != nil || failed {
		return errors.Join(err, fmt.Errorf("reading ChangePod %s: %s", name, pod))
	}
	verdict := fmt.Sprintf(`{"status":{"message":"PostFinish","podResults":[{"pod":%q,"verdict":"unpass","message":"find error"}]}}`, pod)
	return s.must(ctx, "patched", "patch", "changepod", name, "--subresource=status", "--type=merge", "-p", verdict)
}

func releaseIsSuspended(ctx context.Context, s *stage) error {
	if err := s.await(ctx, expectRows([]string{release, "Suspend"}), "get", "changeworkloads"); err != nil {
		return err
	}
	table, _, err := s.run(ctx, "get", "changepods")
	if err != nil {
		return err
	}
	if got := rows(table); len(got) == 0 || !begins(got[0], []string{release + "--x--1", "ExecuteDone", "PostFinish"}) {
		return errors.New("the first batch should have ended with PostFinish")
	}
	pods, failed, err := s.quietly(ctx, "get", "changeworkload", release, "-o", "jsonpath={.status.defenseCheckFailPods}")
	if err != nil || failed || !strings.Contains(pods, `"verdict":"unpass"`) {
		return errors.Join(err, fmt.Errorf("ChangeWorkload %s should have the failed pod: %s", release, pods))
	}
	return s.await(ctx, func(table string) error {
		if got := rows(table); len(got) != 1 || len(got[0]) != 6 {
			return errors.New("the Deployment should have the label suspend")
		}
		return nil
	}, "get", "deployment", "sleep", "-L", "altershield.defense.antgroup.com/suspend")
}

// only expects one ChangeWorkload, with a status.
func only(status string) func(string) error {
	return func(table string) error {
		if got := rows(table); len(got) != 1 || got[0][1] != status {
			return fmt.Errorf("there should be one release, with the status %s", status)
		}
		return nil
	}
}

const nextRelease = `{"spec":{"template":{"metadata":{"labels":{"test":"test"}}}}}`

func nextReleaseIsDenied(ctx context.Context, s *stage) error {
	denial := `Error from server (deployment sleep is suspended): admission webhook "vdeployment.kb.io" denied the request: deployment sleep is suspended`
	return s.denied(ctx, denial+"\n", "the patch should be denied with: "+denial, "patch", "deployment", "sleep", "--type=merge", "-p", nextRelease)
}

func otherChangesPass(ctx context.Context, s *stage) error {
	return errors.Join(
		s.must(ctx, "deployment.apps/sleep scaled", "scale", "deployment", "sleep", "--replicas=6"),
		s.must(ctx, "deployment.apps/sleep annotated", "annotate", "deployment", "sleep", "team=shop"),
		s.must(ctx, "deployment.apps/sleep scaled", "scale", "deployment", "sleep", "--replicas=5"),
	)
}

func repairGetsIn(ctx context.Context, s *stage) error {
	watched, err := s.watch(ctx, "get", "changeworkloads", "--watch", "--no-headers")
	if err != nil {
		return err
	}
	defer watched.stop()
	if err := watched.awaitRow(ctx, release, "Suspend"); err != nil {
		return err
	}
	if err := s.must(ctx, "deployment.apps/sleep configured", "apply", "-f", filepath.Join(s.samples, "sleep-repair.yaml")); err != nil {
		return err
	}
	if err := s.await(ctx, expectRows([]string{repair, "Success"}), "get", "changeworkloads"); err != nil {
		return err
	}
	for _, status := range []string{"Running", "Success"} {
		if err := watched.awaitRow(ctx, repair, status); err != nil {
			return err
		}
	}
	fmt.Fprintf(s.out, "What kubectl get changeworkloads --watch saw meanwhile:\n%s", watched)
	return nil
}

func normalReleasesWork(ctx context.Context, s *stage) error {
	if err := s.must(ctx, "deployment.apps/sleep patched", "patch", "deployment", "sleep", "--type=merge", "-p", nextRelease); err != nil {
		return err
	}
	return s.await(ctx, only("Success"), "get", "changeworkloads")
}
