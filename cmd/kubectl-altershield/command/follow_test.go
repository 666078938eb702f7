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

package command_test

import (
	"context"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/command"
)

func eventOf(name, reason string, at time.Time) *corev1.Event {
	return &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, InvolvedObject: corev1.ObjectReference{Kind: "Deployment", Name: "web"},
		Type: "Normal", Reason: reason, Message: "of " + reason, LastTimestamp: metav1.NewTime(at),
	}
}

func TestEventsAreFollowed(t *testing.T) {
	g := NewWithT(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	lists := 0
	b := newBenchWith(t, interceptor.Funcs{List: func(ctx context.Context, kube client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
		if _, isEvents := list.(*corev1.EventList); isEvents {
			if lists++; lists == 5 {
				return apierrors.NewServiceUnavailable("away")
			}
		}
		return kube.List(ctx, list, options...)
	}}, verified(7, "49"), web(7, "49"), eventOf("a", "First", now))
	b.tick(func(second int) {
		switch second {
		case 2:
			g.Expect(b.kube.Create(ctx, eventOf("b", "Second", now.Add(time.Second)))).To(Succeed())
		case 6:
			cancel()
		}
	})
	answer := b.runIn(ctx, "events", "web", "-w")
	g.Expect(answer.code).To(Equal(command.Interrupted))
	g.Expect(strings.Count(answer.out, "LAST SEEN")).To(Equal(1), answer.out)
	g.Expect(strings.Count(answer.out, "of First")).To(Equal(1), answer.out)
	g.Expect(answer.out).To(MatchRegexp(`(?s)of First\n\d+s +Normal +Second +Deployment/web +of Second\n$`))
}

func TestStatusUntilDoneAwaitsTheReleaseThatIsNotRecordedYet(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, web(8, "bb"), verified(7, "49"))
	b.tick(func(second int) {
		if second == 3 {
			g.Expect(b.kube.Create(context.Background(), failed(8, "bb"))).To(Succeed())
		}
	})
	g.Expect(b.run("status", "web", "-w", "--until=done").expects(g, command.OK)).To(ContainSubstring("release 8  bb00000"))
	g.Expect(b.clock.Since(now)).To(BeNumerically(">=", 3*time.Second))
}

func TestStatusUntilDoneTellsThatAWorkloadLeftChangeControl(t *testing.T) {
	const note = "! the workload isn't under change control any more: its last release is shown\n"
	shop := func(labels map[string]string) *corev1.Namespace {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", Labels: labels}}
	}
	in, out := shop(map[string]string{"admission-webhook-altershield": "enabled"}), shop(nil)
	running := record(7, "49", "Running", "Unknown", "Verifying")
	unstamped := func(deployment *appsv1.Deployment) { deployment.Labels, deployment.Annotations = nil, nil }
	for name, row := range map[string]struct {
		objects []client.Object
		refused string
		noted   bool
	}{
		"opted out":                      {[]client.Object{out, web(7, "49"), verified(7, "49")}, "", true},
		"opted out with a rollout":       {[]client.Object{out, web(7, "49"), running}, "", true},
		"opted out before its release":   {[]client.Object{out, web(8, "bb"), verified(7, "49")}, "", true},
		"opted in":                       {[]client.Object{in, web(7, "49"), verified(7, "49")}, "", false},
		"no right to read the namespace": {[]client.Object{out, web(7, "49"), verified(7, "49")}, "Namespace", false},
		"never under change control":     {[]client.Object{out, web(7, "49", unstamped)}, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			b := newBench(t, row.objects...)
			if row.refused != "" {
				b = newBenchWith(t, refuses(row.refused), row.objects...)
			}
			answer := b.run("status", "deployment/web", "--until=done")
			g.Expect(answer.code).To(Equal(command.OK), answer.err)
			g.Expect(strings.HasPrefix(answer.out, note)).To(Equal(row.noted), answer.out)
		})
	}
	g := NewWithT(t)
	g.Expect(newBench(t, out, web(7, "49"), verified(7, "49")).run("status", "web", "--until=done", "-o", "jsonpath={.workload.notControlled}").out).To(Equal("true"))
}

func TestStatusAsJSONIsPrintedOnceForEachChange(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, web(8, "bb"), record(8, "bb", "Running", "Unknown", "Verifying"))
	b.tick(func(second int) {
		if second == 4 {
			g.Expect(b.kube.Update(context.Background(), newer(b, verified(8, "bb")))).To(Succeed())
		}
	})
	text := b.run("status", "web", "-w", "--until=done", "-o", "json").expects(g, command.OK)
	g.Expect(strings.Count(text, `"kind": "ReleaseStatus"`)).To(Equal(2), text)
}

func TestStatusStaysAsItIsWhileAPartOfItCanNotBeRead(t *testing.T) {
	g := NewWithT(t)
	lists := 0
	release := record(8, "bb", "Running", "Unknown", "Verifying")
	b := newBenchWith(t, interceptor.Funcs{List: func(ctx context.Context, kube client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
		if _, isBatches := list.(*appv1alpha1.ChangePodList); isBatches {
			if lists++; lists == 2 {
				return apierrors.NewServiceUnavailable("away")
			}
		}
		return kube.List(ctx, list, options...)
	}}, web(8, "bb"), release, batch(release))
	b.tick(func(second int) {
		if second == 4 {
			g.Expect(b.kube.Update(context.Background(), newer(b, verified(8, "bb")))).To(Succeed())
		}
	})
	text := b.run("status", "web", "-w", "--until=done").expects(g, command.OK)
	g.Expect(lists).To(BeNumerically(">", 2))
	g.Expect(strings.Count(text, "└─ release 8")).To(Equal(strings.Count(text, "batches 1 ")), "%s", text)
}

func TestStatusAsYAMLIsADocumentForEachChange(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, web(8, "bb"), record(8, "bb", "Running", "Unknown", "Verifying"))
	b.tick(func(second int) {
		if second == 4 {
			g.Expect(b.kube.Update(context.Background(), newer(b, verified(8, "bb")))).To(Succeed())
		}
	})
	text := b.run("status", "web", "-w", "--until=done", "-o", "yaml").expects(g, command.OK)
	documents := strings.Split(text, "---\n")
	g.Expect(documents).To(HaveExactElements(ContainSubstring("state: Running\n"), ContainSubstring("state: Success\n")), text)
}

func TestEventsAsYAMLAreADocumentForEachLook(t *testing.T) {
	g := NewWithT(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	b := newBench(t, verified(7, "49"), web(7, "49"), eventOf("a", "First", now))
	b.tick(func(second int) {
		switch second {
		case 2:
			g.Expect(b.kube.Create(ctx, eventOf("b", "Second", now.Add(time.Second)))).To(Succeed())
		case 4:
			cancel()
		}
	})
	text := b.runIn(ctx, "events", "web", "-w", "-o", "yaml").out
	documents := strings.Split(text, "---\n")
	g.Expect(documents).To(HaveExactElements(ContainSubstring("reason: First\n"), ContainSubstring("reason: Second\n")), text)
}

func TestEventsAreFollowedUntilAnErrorThatStays(t *testing.T) {
	lists := 0
	b := newBenchWith(t, interceptor.Funcs{List: func(ctx context.Context, kube client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
		if _, isEvents := list.(*corev1.EventList); isEvents {
			if lists++; lists > 2 {
				return forbidden("list", "", "events")
			}
		}
		return kube.List(ctx, list, options...)
	}}, verified(7, "49"), web(7, "49"))
	b.tick(func(int) {})
	answer := b.run("events", "web", "-w")
	NewWithT(t).Expect(answer.code).To(Equal(command.Failed))
	NewWithT(t).Expect(answer.err).To(ContainSubstring("may not list events"))
}
