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
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	testingclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/command"
)

var now = time.Date(2026, 11, 22, 16, 41, 52, 0, time.UTC)

func version(digits string) string { return digits + strings.Repeat("0", 32-len(digits)) }

// bench is a cluster with the plugin beside it.
type bench struct {
	t     *testing.T
	kube  client.WithWatch
	clock *testingclock.FakeClock
	waits chan time.Duration // each wait for the next look, by its length
	// env are environment variables, width and height the size of the terminal, 0 for none.
	env           map[string]string
	width, height int
	in            string
	// stdin takes the place of in.
	stdin  io.Reader
	config *rest.Config
	// out takes what is printed; nil for what a run returns.
	out     io.Writer
	connect func(*rest.Config) (client.WithWatch, error)
	// ask answers paths that are no objects.
	ask func(path string) (command.Answer, error)
	// browse opens an address.
	browse func(url string) error
}

func newBench(t *testing.T, objects ...client.Object) *bench {
	t.Helper()
	return newBenchWith(t, interceptor.Funcs{}, objects...)
}

// newBenchWith has calls of the API server answered by functions.
func newBenchWith(t *testing.T, funcs interceptor.Funcs, objects ...client.Object) *bench {
	t.Helper()
	scheme, err := command.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	inner := funcs.Create
	funcs.Create = func(ctx context.Context, kube client.WithWatch, object client.Object, options ...client.CreateOption) error {
		if review, ok := object.(*authorizationv1.SelfSubjectAccessReview); ok && inner == nil {
			review.Status.Allowed = review.Spec.ResourceAttributes.Resource != "changepods"
			return nil
		}
		if review, ok := object.(*authenticationv1.SelfSubjectReview); ok && inner == nil {
			review.Status.UserInfo.Username = "alice"
			return nil
		}
		if inner != nil {
			return inner(ctx, kube, object, options...)
		}
		return kube.Create(ctx, object, options...)
	}
	kube := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithInterceptorFuncs(funcs).
		WithStatusSubresource(&appv1alpha1.ChangePod{}).
		WithIndex(&corev1.Event{}, "involvedObject.kind", func(o client.Object) []string { return []string{o.(*corev1.Event).InvolvedObject.Kind} }).
		WithIndex(&corev1.Event{}, "involvedObject.name", func(o client.Object) []string { return []string{o.(*corev1.Event).InvolvedObject.Name} }).
		WithIndex(&corev1.Event{}, "reason", func(o client.Object) []string { return []string{o.(*corev1.Event).Reason} }).
		WithIndex(&coordinationv1.Lease{}, "metadata.name", func(o client.Object) []string { return []string{o.GetName()} }).
		Build()
	b := &bench{t: t, kube: kube, clock: testingclock.NewFakeClock(now), waits: make(chan time.Duration, 100), env: map[string]string{"LANG": "C.UTF-8"}}
	b.connect = func(config *rest.Config) (client.WithWatch, error) { b.config = config; return b.kube, nil }
	b.ask = func(string) (command.Answer, error) {
		return command.Answer{Body: []byte(`{"gitVersion":"v1.36.1"}`), Date: now}, nil
	}
	return b
}

const kubeconfig = `
apiVersion: v1
kind: Config
current-context: test
contexts: [{name: test, context: {cluster: test, user: test, namespace: shop}}, {name: other, context: {cluster: test, user: test}}]
clusters: [{name: test, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: test, user: {}}]
`

// answer is what a run of the plugin left.
type answer struct {
	code     command.Code
	out, err string
}

func (b *bench) run(args ...string) answer { b.t.Helper(); return b.runIn(b.t.Context(), args...) }

func (b *bench) runIn(ctx context.Context, args ...string) answer {
	b.t.Helper()
	file := filepath.Join(b.t.TempDir(), "config")
	if err := os.WriteFile(file, []byte(kubeconfig), 0o600); err != nil {
		b.t.Fatal(err)
	}
	var out, errors strings.Builder
	to := io.Writer(&out)
	if b.out != nil {
		to = b.out
	}
	code := command.Run(ctx, append([]string{"--kubeconfig", file}, args...), command.Environment{
		In: cmp.Or[io.Reader](b.stdin, strings.NewReader(b.in)), Out: to, Err: &errors, Getenv: func(name string) string { return b.env[name] },
		Terminal: func() (int, int, bool) { return b.width, b.height, b.width > 0 },
		Clock:    toldClock{b.clock, b.waits}, Location: time.UTC, Connect: b.connect, Version: "v1.2.3", Commit: "abc", Browse: b.browse,
		Ask: func(_ context.Context, _ *rest.Config, path string) (command.Answer, error) { return b.ask(path) },
	})
	return answer{code, out.String(), errors.String()}
}

// tick lets the time go on while a command waits for its next look, each time after a call of do: however slow a look is, no time passes in it.
func (b *bench) tick(do func(second int)) {
	stop := make(chan struct{})
	done := make(chan struct{})
	b.t.Cleanup(func() { close(stop); <-done })
	go func() {
		defer close(done)
		for second := 1; ; second++ {
			select {
			case <-stop:
				return
			case wait := <-b.waits:
				do(second)
				b.clock.Step(wait)
			}
		}
	}()
}

// toldClock is a clock that tells each wait for the next look of a command, or the next try of what a page follows.
// Neither the beat of a stream nor the end of a page that nobody uses is awaited by a test.
type toldClock struct {
	*testingclock.FakeClock
	waits chan<- time.Duration
}

func (c toldClock) After(wait time.Duration) <-chan time.Time {
	after := c.FakeClock.After(wait)
	if wait < time.Minute {
		c.waits <- wait
	}
	return after
}

func (c toldClock) NewTicker(interval time.Duration) clock.Ticker {
	ticker := c.FakeClock.NewTicker(interval)
	if interval > time.Second {
		return ticker
	}
	return toldTicker{Ticker: ticker, wait: func() { c.waits <- interval }}
}

type toldTicker struct {
	clock.Ticker
	wait func()
}

func (t toldTicker) C() <-chan time.Time {
	t.wait()
	return t.Ticker.C()
}

// web returns the Deployment web at a release.
func web(number int, digits string, changes ...func(*appsv1.Deployment)) *appsv1.Deployment {
	deployment := &appsv1.Deployment{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "web", UID: "web-uid",
			Labels:      map[string]string{"admission-webhook-altershield.antgroup.com/version": version(digits)},
			Annotations: map[string]string{"altershield.defense.antgroup.com/release": fmt.Sprint(number)},
		},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](4), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}, Template: template("web:1.9"),
		},
		Status: appsv1.DeploymentStatus{ReadyReplicas: 4, UpdatedReplicas: 2},
	}
	for _, change := range changes {
		change(deployment)
	}
	return deployment
}

func template(image string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: image}}},
	}
}

func suspendedLabel(deployment *appsv1.Deployment) {
	deployment.Labels["altershield.defense.antgroup.com/suspend"] = "1"
}

// record returns the record of a release of the Deployment web.
func record(number int64, digits, phase, verified, reason string) *appv1alpha1.ChangeWorkload {
	return &appv1alpha1.ChangeWorkload{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "web--x--" + version(digits), UID: types.UID("uid-" + digits), Labels: map[string]string{"app.kubernetes.io/deployment-name": "web"},
		},
		Spec: appv1alpha1.ChangeWorkloadSpec{
			AppName: "web", Reversion: version(digits), Release: number, CreateTimeUnix: now.Add(-time.Hour).Unix() + number, ReleasedBy: "alice",
			WorkloadRef: &appv1alpha1.WorkloadReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", UID: "web-uid"},
			Changes:     []string{"spec.containers[web].image: web:1.8 -> web:1.9"},
		},
		Status: appv1alpha1.ChangeWorkloadStatus{
			Status: appv1alpha1.ChangeWorkloadPhase(phase), ObservedRelease: number, LastChangePod: 1, FirstChangePod: 1, EntryTimeUnix: now.Add(-time.Minute).Unix(),
			Counts:     appv1alpha1.PodCounts{Desired: 4, Passed: 1, Failed: 1},
			Conditions: []metav1.Condition{{Type: "Verified", Status: metav1.ConditionStatus(verified), Reason: reason, Message: "because of it"}},
		},
	}
}

func verified(number int64, digits string) *appv1alpha1.ChangeWorkload {
	return record(number, digits, "Success", "True", "AllPodsPassed")
}

func failed(number int64, digits string) *appv1alpha1.ChangeWorkload {
	return record(number, digits, "Suspend", "False", "PodsFailed")
}

// set returns the record of a StatefulSet.
func set(name string) *appv1alpha1.ChangeWorkload {
	created := record(1, "d1", "Running", "Unknown", "Verifying")
	created.Name, created.Labels = "statefulsets."+name+"--x--"+version("d1"), map[string]string{"altershield.defense.antgroup.com/workload": "statefulsets." + name}
	created.Spec.AppName = name
	created.Spec.WorkloadRef = &appv1alpha1.WorkloadReference{APIVersion: "apps/v1", Kind: "StatefulSet", Name: name}
	return created
}

func batch(of *appv1alpha1.ChangeWorkload) *appv1alpha1.ChangePod {
	return &appv1alpha1.ChangePod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: of.Name + "--x--1", Labels: map[string]string{
			"altershield.defense.antgroup.com/batch-of": fmt.Sprintf("%s.%d", of.UID, of.Spec.Release),
		}},
		Status: appv1alpha1.ChangePodStatus{
			Status: "ExecuteDone", PodResults: []appv1alpha1.PodSummary{{Pod: "web-1", Verdict: "unpass", Message: "5xx above 1%"}},
			Conditions: []metav1.Condition{{Type: "Verified", Status: "False", Reason: "PodsFailed"}},
		},
	}
}

// kept returns the kept content of a release.
func kept(number int64, digits, image string) *appsv1.ControllerRevision {
	return &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "web--x--" + version(digits), OwnerReferences: []metav1.OwnerReference{{UID: "web-uid", Name: "web", Kind: "Deployment", APIVersion: "apps/v1"}},
			Labels: map[string]string{"app.kubernetes.io/deployment-name": "web", "admission-webhook-altershield.antgroup.com/version": version(digits)},
		},
		Revision: number,
		Data: runtime.RawExtension{Raw: []byte(`{"spec":{"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"web","image":"` +
			image + `","resources":{}}]}}}}`)},
	}
}

// forbidden is the answer of the API server where a right lacks.
func forbidden(verb, group, resource string) error {
	where := ` in the namespace "shop"`
	return apierrors.NewForbidden(schema.GroupResource{Group: group, Resource: resource}, "",
		fmt.Errorf(`User "bob" cannot %s resource %q in API group %q%s`, verb, resource, group, where))
}

// denied is the answer of the webhook.
func denied() error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: "Failure", Code: 403, Reason: "deployment web is suspended", Message: denial,
	}}
}

const denial = `admission webhook "vdeployment.kb.io" denied the request: deployment web is suspended`

// refuses has lists of these kinds refused.
func refuses(kinds ...string) interceptor.Funcs {
	isRefused := func(object runtime.Object) (string, bool) {
		kind := fmt.Sprintf("%T", object)
		if known := object.GetObjectKind().GroupVersionKind().Kind; known != "" {
			kind = known
		}
		for _, refused := range kinds {
			if strings.Contains(kind, refused) {
				return strings.ToLower(refused) + "s", true
			}
		}
		return "", false
	}
	return interceptor.Funcs{
		List: func(ctx context.Context, kube client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if resource, is := isRefused(list); is {
				return forbidden("list", "g", resource)
			}
			return kube.List(ctx, list, options...)
		},
		Get: func(ctx context.Context, kube client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			if resource, is := isRefused(object); is {
				return forbidden("get", "apps", resource)
			}
			return kube.Get(ctx, key, object, options...)
		},
	}
}

// only has a user read one namespace alone.
func only(namespace string) interceptor.Funcs {
	return interceptor.Funcs{
		List: func(ctx context.Context, kube client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			var asked client.ListOptions
			if asked.ApplyOptions(options); asked.Namespace != namespace {
				return forbidden("list", "g", "changeworkloads")
			}
			return kube.List(ctx, list, options...)
		},
		Get: func(ctx context.Context, kube client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			if key.Namespace != namespace {
				return forbidden("get", "g", "x")
			}
			return kube.Get(ctx, key, object, options...)
		},
	}
}

// expects checks an answer without an error.
func (a answer) expects(g Gomega, code command.Code) string {
	g.Expect(a.err).To(BeEmpty())
	g.Expect(a.code).To(Equal(code), a.out)
	return a.out
}
