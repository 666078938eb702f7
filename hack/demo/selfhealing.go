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
	"strings"
)

// selfHealing returns the scenes with rollbacks.
func selfHealing() []scene {
	return []scene{
		{"A release whose image can't be pulled is rolled back", stuckReleaseGoesBack},
		{"The same image is denied, another one is admitted", rolledBackVersionIsRefused},
		{"A release is rolled back on request, to a kept template", releaseGoesBackOnRequest},
	}
}

func stuckReleaseGoesBack(ctx context.Context, s *stage) error {
	good, err := s.succeeds(ctx)
	if err != nil {
		return err
	}
	if err := s.must(ctx, "updated", "set", "image", "deployment/sleep", "sleep=busybox:missing"); err != nil {
		return err
	}
	stuck := func(pods string) error {
		if strings.Count(pods, "Running") != 4 || strings.Count(pods, "ErrImagePull")+strings.Count(pods, "ImagePullBackOff") != 3 {
			return errors.New("4 pods should be running and 3 should not")
		}
		return nil
	}
	if err := s.await(ctx, stuck, "get", "pods", "-l", "app=sleep"); err != nil {
		return err
	}
	fmt.Fprintln(s.out, "# By default pods may take two minutes to run. The demo shortens that.")
	if err := startTime(ctx, s, "5s"); err != nil {
		return err
	}
	back := func(label string) error {
		if label != strings.TrimPrefix(good, "sleep--x--") {
			return errors.New("the Deployment should have its earlier version again")
		}
		return nil
	}
	if err := s.await(ctx, back, "get", "deployment", "sleep", "-o",
		`jsonpath={.metadata.labels.admission-webhook-altershield\.antgroup\.com/version}`); err != nil {
		return err
	}
	if err := startTime(ctx, s, "2m"); err != nil {
		return err
	}
	if err := s.await(ctx, expectRows([]string{"sleep", "5/5", "5", "5"}), "get", "deployment", "sleep"); err != nil {
		return err
	}
	if err := s.await(ctx, expectRows([]string{good, "Success"}), "get", "changeworkloads"); err != nil {
		return err
	}
	return s.await(ctx, contains("goes back to version "+strings.TrimPrefix(good, "sleep--x--")), "events", "--for", "deployment/sleep", "--types=Warning")
}

// startTime sets how long pods may take to run.
func startTime(ctx context.Context, s *stage, time string) error {
	return s.must(ctx, "patched", "patch", "opsconfiginfo", "stuck-rollback", "-n", "altershieldoperator-system",
		"--type=merge", "-p", fmt.Sprintf(`{"spec":{"content":%q}}`, time))
}

func rolledBackVersionIsRefused(ctx context.Context, s *stage) error {
	if err := s.denied(ctx, "deployment sleep refuses version ", "the same image should be denied",
		"set", "image", "deployment/sleep", "sleep=busybox:missing"); err != nil {
		return err
	}
	if err := s.must(ctx, "updated", "set", "image", "deployment/sleep", "sleep=busybox:1.37"); err != nil {
		return err
	}
	_, err := s.succeeds(ctx)
	return err
}

func releaseGoesBackOnRequest(ctx context.Context, s *stage) error {
	if err := s.must(ctx, "deployment.apps/sleep", "get", "controllerrevisions"); err != nil {
		return err
	}
	left, err := current(ctx, s)
	if err != nil {
		return err
	}
	if err := s.must(ctx, "annotated", "annotate", "deployment", "sleep", "altershield.defense.antgroup.com/rollback=true"); err != nil {
		return err
	}
	if err := s.await(ctx, contains(strings.TrimPrefix(left, "sleep--x--")+", goes back to version "), "events", "--for", "deployment/sleep", "--types=Warning"); err != nil {
		return err
	}
	name, err := s.succeeds(ctx, "-o", "wide")
	if err == nil && name == left {
		err = fmt.Errorf("the Deployment should have left %s", left)
	}
	return err
}

func contains(text string) func(string) error {
	return func(printed string) error {
		if !strings.Contains(printed, text) {
			return fmt.Errorf("the output should contain %q", text)
		}
		return nil
	}
}
