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

package changesubscription

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientevents "k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/platform/events"
	"github.com/traas-stack/altershield-operator/controllers/source"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
)

const (
	system  = "altershieldoperator-system"
	version = "c6c45d23c098bdf181853a85b60b5d74"
	key     = "SECtest"
)

// robot is a receiver of messages.
type robot struct {
	*httptest.Server
	// status and answer are those to the next messages.
	status int
	answer string
	header http.Header
	// bodies are the messages that it took, requests all requests.
	bodies   []string
	requests []*http.Request
}

func newRobot(t *testing.T) *robot {
	t.Helper()
	made := &robot{status: http.StatusOK, answer: `{"errcode":0,"errmsg":"ok"}`}
	made.Server = httptest.NewTLSServer(http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		body, _ := io.ReadAll(request.Body)
		made.requests = append(made.requests, request)
		if made.status == http.StatusOK && made.answer == `{"errcode":0,"errmsg":"ok"}` {
			made.bodies = append(made.bodies, string(body))
		}
		for name, values := range made.header {
			writer.Header()[name] = values
		}
		writer.WriteHeader(made.status)
		_, _ = writer.Write([]byte(made.answer))
	}))
	t.Cleanup(made.Close)
	return made
}

// authority returns the certificate of the receiver, in PEM.
func (r *robot) authority() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.Certificate().Raw}))
}

// isSigned reports whether the last request has the signature of DingTalk.
func (r *robot) isSigned() bool {
	query := r.requests[len(r.requests)-1].URL.Query()
	mac := hmac.New(sha256.New, []byte(key))
	_, _ = io.WriteString(mac, query.Get("timestamp")+"\n"+key)
	return query.Get("sign") == base64.StdEncoding.EncodeToString(mac.Sum(nil)) && query.Get("access_token") == "token-1234"
}

// secret returns the Secret of a subscription.
func (r *robot) secret() *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: "robot"}, Data: map[string][]byte{
		"url": []byte(r.URL + "/robot/send?access_token=token-1234\n"), "secret": []byte(key),
	}}
}

// subscription returns a subscription to all events, with edits.
func (r *robot) subscription(edits ...func(*appv1alpha1.ChangeSubscription)) *appv1alpha1.ChangeSubscription {
	made := &appv1alpha1.ChangeSubscription{
		ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: "shop", UID: "s-1", Generation: 1, CreationTimestamp: metav1.NewTime(testkit.Now())},
		Spec: appv1alpha1.ChangeSubscriptionSpec{
			Events: []appv1alpha1.SubscribedEvent{"All"}, Environment: "prod", Language: "en",
			Sink: appv1alpha1.SubscriptionSink{Type: "DingTalk", SecretRef: appv1alpha1.SourceSecret{Name: "robot"}, CABundle: r.authority()},
		},
	}
	for _, edit := range edits {
		edit(made)
	}
	return made
}

// bench is a reconciler with a stepped clock.
type bench struct {
	*Reconciler
	t        *testing.T
	kube     client.Client
	clock    *clocktesting.FakePassiveClock
	recorder *clientevents.FakeRecorder
}

func newBench(t *testing.T, kube client.Client) *bench {
	t.Helper()
	clock := clocktesting.NewFakePassiveClock(testkit.Now())
	made := &bench{t: t, kube: kube, clock: clock, recorder: clientevents.NewFakeRecorder(100)}
	made.Reconciler = made.restarted()
	return made
}

// restarted returns a reconciler of a new process.
func (b *bench) restarted() *Reconciler {
	metrics, err := NewMetrics(prometheus.NewRegistry())
	NewWithT(b.t).Expect(err).NotTo(HaveOccurred())
	return &Reconciler{
		Kinds: testkit.Kinds(), Client: b.kube, Live: b.kube, Workloads: b.kube, Recorder: events.Recorder{Events: b.recorder},
		Metrics: metrics, Clock: b.clock, Namespace: system,
		Guard: source.Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}, Jitter: func() float64 { return 0 },
	}
}

func (b *bench) step(seconds int) {
	b.clock.SetTime(b.clock.Now().Add(time.Duration(seconds) * time.Second))
}

// reconcile returns the seconds until the next reconcile.
func (b *bench) reconcile() int {
	b.t.Helper()
	result, err := b.Reconcile(b.t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: system, Name: "shop"}})
	NewWithT(b.t).Expect(err).NotTo(HaveOccurred())
	return int(result.RequeueAfter.Seconds())
}

// object returns the subscription.
func (b *bench) object() *appv1alpha1.ChangeSubscription {
	b.t.Helper()
	var object appv1alpha1.ChangeSubscription
	NewWithT(b.t).Expect(b.kube.Get(b.t.Context(), client.ObjectKey{Namespace: system, Name: "shop"}, &object)).To(Succeed())
	return &object
}

// ready returns the condition of the subscription.
func (b *bench) ready() string {
	b.t.Helper()
	status := b.object().Status
	if len(status.Conditions) != 1 {
		return fmt.Sprint(status.Conditions)
	}
	return fmt.Sprintf("%s %s: %s", status.Conditions[0].Status, status.Conditions[0].Reason, status.Conditions[0].Message)
}

// release creates a ChangeWorkload whose release began now.
func (b *bench) release(name string) *appv1alpha1.ChangeWorkload {
	b.t.Helper()
	made := &appv1alpha1.ChangeWorkload{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name},
		Spec: appv1alpha1.ChangeWorkloadSpec{
			AppName: name, Reversion: version, Release: 2, CreateTimeUnix: b.clock.Now().Unix(), ReleasedBy: "alice",
			WorkloadRef: &appv1alpha1.WorkloadReference{APIVersion: "apps/v1", Kind: "Deployment", Name: name, UID: types.UID("u-" + name)},
		},
	}
	NewWithT(b.t).Expect(b.kube.Create(b.t.Context(), made)).To(Succeed())
	return made
}

// turn sets the status and a condition of a release, which changed now.
func (b *bench) turn(release *appv1alpha1.ChangeWorkload, phase appv1alpha1.ChangeWorkloadPhase, kind, status, reason string) {
	b.t.Helper()
	before := release.DeepCopy()
	release.Status.Status, release.Status.ObservedRelease = phase, 2
	release.Status.Conditions = []metav1.Condition{{
		Type: kind, Status: metav1.ConditionStatus(status), Reason: reason, Message: "5xx above 1%", LastTransitionTime: metav1.NewTime(b.clock.Now()),
	}}
	NewWithT(b.t).Expect(b.kube.Status().Patch(context.WithoutCancel(b.t.Context()), release, client.MergeFrom(before))).To(Succeed())
}

// caching returns a client in whose cache some objects aren't.
func caching(kube client.WithWatch, lacks func(client.Object) bool) client.Client {
	return interceptor.NewClient(kube, interceptor.Funcs{
		Get: func(ctx context.Context, kube client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			if lacks(object) {
				return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
			}
			return kube.Get(ctx, key, object, options...)
		},
	})
}
