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

// stepwise returns the scenes of a StatefulSet, which is in a namespace of its own.
func stepwise() []scene {
	return []scene{
		{"A StatefulSet and a ReleasePolicy with two steps are created", statefulSetIsPaced},
		{"The first new pod crashes: the release is suspended, and the other pods keep their version", firstPodCrashes},
		{"The next release is denied, a repair goes through the steps", repairIsPaced},
	}
}

func statefulSetIsPaced(ctx context.Context, s *stage) error {
	if err := s.must(ctx, "namespace/shop created", "create", "namespace", "shop"); err != nil {
		return err
	}
	if err := s.must(ctx, "namespace/shop labeled", "label", "namespace", "shop", "admission-webhook-altershield=enabled"); err != nil {
		return err
	}
	if err := s.must(ctx, "releasepolicy.app.ops.cloud.alipay.com/one-first created", "apply", "-n", "shop", "-f", filepath.Join(s.samples, "orders.yaml")); err != nil {
		return err
	}
	if err := s.await(ctx, expectRows([]string{"one-first", "With", "1", "0", "True", "MutatingAdmissionPolicy"}), "get", "releasepolicies", "-n", "shop", "-o", "wide"); err != nil {
		return err
	}
	return s.await(ctx, only("Success"), "get", "changeworkloads", "-n", "shop")
}

func releaseOrders(start string) []string {
	return []string{"patch", "statefulset", "orders", "-n", "shop", "--type=merge", "-p",
		fmt.Sprintf(`{"spec":{"template":{"metadata":{"labels":{"local.altershield.io/start":%q}}}}}`, start)}
}

func firstPodCrashes(ctx context.Context, s *stage) error {
	fmt.Fprintln(s.out, "# Fake pods with this label crash two seconds after they started.")
	if err := s.must(ctx, "patched", releaseOrders("crash")...); err != nil {
		return err
	}
	if err := s.await(ctx, isSuspended, "get", "changeworkloads", "-n", "shop"); err != nil {
		return err
	}
	reason := `jsonpath={.items[?(@.status.status=="Suspend")].status.conditions[?(@.type=="Verified")].message}{"\n"}`
	if err := s.must(ctx, "pod orders-2 failed its check: 2 restarts after the pod was ready", "get", "changeworkloads", "-n", "shop", "-o", reason); err != nil {
		return err
	}
	pods, _, err := s.run(ctx, "get", "pods", "-n", "shop", "-L", "local.altershield.io/start")
	if err != nil {
		return err
	}
	if strings.Count(pods, "Running") < 2 || strings.Count(pods, "crash\n") != 1 {
		return errors.New("one of three pods should run the release")
	}
	return nil
}

func repairIsPaced(ctx context.Context, s *stage) error {
	if err := s.denied(ctx, "statefulset orders is suspended", "the next release should be denied", releaseOrders("slow")...); err != nil {
		return err
	}
	watched, err := s.watch(ctx, "get", "changeworkloads", "-n", "shop", "--watch", "--no-headers")
	if err != nil {
		return err
	}
	defer watched.stop()
	if err := s.must(ctx, "patched", "patch", "statefulset", "orders", "-n", "shop", "--type=merge", "-p",
		`{"metadata":{"labels":{"altershield.defense.antgroup.com/ignored-suspend":"true"}},"spec":{"template":{"metadata":{"labels":{"local.altershield.io/start":null,"test":"repaired"}}}}}`,
	); err != nil {
		return err
	}
	if err := s.await(ctx, only("Success"), "get", "changeworkloads", "-n", "shop"); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "What kubectl get changeworkloads --watch saw meanwhile:\n%s", watched)
	return nil
}
