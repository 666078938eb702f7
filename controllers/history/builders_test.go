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
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/history"
	"github.com/traas-stack/altershield-operator/controllers/platform/podtemplate"
)

// sleep is a Deployment as sent by the API server, with a field that our types lack.
const sleep = `{
	"apiVersion": "apps/v1", "kind": "Deployment",
	"metadata": {"namespace": "default", "name": "sleep", "uid": "uid-1"},
	"spec": {
		"replicas": 5,
		"selector": {"matchLabels": {"app": "sleep"}},
		"template": {
			"metadata": {"labels": {"app": "sleep"}, "creationTimestamp": null},
			"spec": {
				"containers": [{"name": "sleep", "image": "busybox", "env": [{"name": "PASSWORD", "value": "hunter2"}]}],
				"terminationGracePeriodSeconds": 30, "fieldOfTomorrow": {"size": 9007199254740993}
			}
		}
	}
}`

// cluster is a stub of an API server.
type cluster struct {
	t *testing.T
	// live is the Deployment; nil if there is none.
	live *unstructured.Unstructured
	// refuse returns the error of a call, nil to let it pass.
	refuse func(verb string) error
	// calls are the verbs of the calls.
	calls []string
	kube  client.Client
}

// newCluster returns a cluster with sleep at a release, and the objects.
func newCluster(t *testing.T, number int64, objects ...client.Object) *cluster {
	c := &cluster{t: t, live: &unstructured.Unstructured{}, refuse: func(string) error { return nil }}
	if err := c.live.UnmarshalJSON([]byte(sleep)); err != nil {
		t.Fatal(err)
	}
	c.release(number)
	c.kube = interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(objects...).Build(), interceptor.Funcs{
		Get: func(ctx context.Context, kube client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			if err := c.call("get"); err != nil {
				return err
			}
			asked, isUnstructured := object.(*unstructured.Unstructured)
			if !isUnstructured || c.live == nil {
				return kube.Get(ctx, key, object, options...)
			}
			c.live.DeepCopyInto(asked)
			return nil
		},
		List: func(ctx context.Context, kube client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if err := c.call("list"); err != nil {
				return err
			}
			return kube.List(ctx, list, options...)
		},
		Create: func(ctx context.Context, kube client.WithWatch, object client.Object, options ...client.CreateOption) error {
			if err := c.call("create"); err != nil {
				return err
			}
			if !(&client.CreateOptions{}).ApplyOptions(options).DisableReadYourWritesConsistency {
				t.Error("the cache would watch what was created")
			}
			return kube.Create(ctx, object, options...)
		},
		Patch: func(ctx context.Context, kube client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			if err := c.call("patch"); err != nil {
				return err
			}
			if !(&client.PatchOptions{}).ApplyOptions(options).DisableReadYourWritesConsistency {
				t.Error("the cache would watch what was patched")
			}
			return kube.Patch(ctx, object, patch, options...)
		},
		Delete: func(ctx context.Context, kube client.WithWatch, object client.Object, options ...client.DeleteOption) error {
			if err := c.call("delete"); err != nil {
				return err
			}
			asked := (&client.DeleteOptions{}).ApplyOptions(options)
			if !asked.DisableReadYourWritesConsistency {
				t.Error("the cache would watch what was deleted")
			}
			if guard := asked.Preconditions; guard == nil || *guard.UID != object.GetUID() || *guard.ResourceVersion != object.GetResourceVersion() {
				t.Error("what was not seen might be deleted")
			}
			return kube.Delete(ctx, object, options...)
		},
	})
	return c
}

func (c *cluster) call(verb string) error {
	c.calls = append(c.calls, verb)
	return c.refuse(verb)
}

func (c *cluster) keeper() *history.Keeper { return &history.Keeper{Client: c.kube, Live: c.kube} }

// slim returns the Deployment as in the cache.
func slim() *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "sleep", UID: "uid-1"}}
}

// version returns the version of the current template.
func (c *cluster) version() string {
	c.t.Helper()
	version, err := podtemplate.Of(c.live.Object).Version()
	if err != nil {
		c.t.Fatal(err)
	}
	return version
}

// release stamps the Deployment as the webhook does, and returns the release.
func (c *cluster) release(number int64) decide.Release {
	c.t.Helper()
	version := c.version()
	c.live.SetLabels(map[string]string{"admission-webhook-altershield.antgroup.com/version": version})
	c.live.SetAnnotations(map[string]string{
		"altershield.defense.antgroup.com/release": strconv.FormatInt(number, 10),
		"altershield.defense.antgroup.com/released-by": `{"user":"alice","time":"2026-11-21T10:00:00Z","version":"` + version +
			`","release":` + strconv.FormatInt(number, 10) + `,"changes":["metadata.labels[test]: added"]}`,
	})
	if err := unstructured.SetNestedField(c.live.Object, version, "spec", "template", "metadata", "labels",
		"admission-webhook-altershield.antgroup.com/version"); err != nil {
		c.t.Fatal(err)
	}
	return decide.Release{Version: version, Number: number}
}

// use sets the image of the template.
func (c *cluster) use(image string) {
	c.t.Helper()
	containers := []any{map[string]any{"name": "sleep", "image": image}}
	if err := unstructured.SetNestedSlice(c.live.Object, containers, "spec", "template", "spec", "containers"); err != nil {
		c.t.Fatal(err)
	}
}

// revisions returns the names of the kept revisions.
func (c *cluster) revisions() []string {
	c.t.Helper()
	var list appsv1.ControllerRevisionList
	if err := c.kube.List(context.Background(), &list); err != nil {
		c.t.Fatal(err)
	}
	c.calls = c.calls[:len(c.calls)-1]
	names := make([]string, 0, len(list.Items))
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names
}

type revisionOption = func(*appsv1.ControllerRevision)

// newRevision returns the kept revision of a version of sleep.
func newRevision(version string, number int64, options ...revisionOption) *appsv1.ControllerRevision {
	controls := true
	revision := &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "sleep--x--" + version, UID: types.UID("uid-of-" + version),
			Labels: map[string]string{
				"admission-webhook-altershield.antgroup.com/version": version,
				"app.kubernetes.io/deployment-name":                  "sleep",
			},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "sleep", UID: "uid-1", Controller: &controls}},
		},
		Revision: number,
		Data:     runtime.RawExtension{Raw: json.RawMessage(`{"spec":{"template":{"metadata":{"labels":{"app":"sleep"}},"spec":{"containers":[]}}}}`)},
	}
	for _, option := range options {
		option(revision)
	}
	return revision
}

func ownedBy(uid types.UID) revisionOption {
	return func(revision *appsv1.ControllerRevision) { revision.OwnerReferences[0].UID = uid }
}

func holding(data string) revisionOption {
	return func(revision *appsv1.ControllerRevision) { revision.Data.Raw = []byte(data) }
}

func beingDeleted(revision *appsv1.ControllerRevision) {
	revision.DeletionTimestamp = &metav1.Time{Time: metav1.Now().Time}
	revision.Finalizers = []string{"example.com/hold"}
}

// replicaSet returns a ReplicaSet of sleep, or of another Deployment if the image begins with "other:".
func replicaSet(number int, version, image string) *appsv1.ReplicaSet {
	controls := true
	image, isOther := strings.CutPrefix(image, "other:")
	owner := types.UID("uid-1")
	if isOther {
		owner = "uid-2"
	}
	result := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: "sleep-" + strconv.Itoa(number), UID: types.UID("rs-" + strconv.Itoa(number)),
		Labels:          map[string]string{"app": "sleep", "admission-webhook-altershield.antgroup.com/version": version},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "sleep", UID: owner, Controller: &controls}},
	}}
	result.Spec.Template.Labels = map[string]string{
		"app": "sleep", "admission-webhook-altershield.antgroup.com/version": version, "pod-template-hash": "5c698f4449"}
	result.Spec.Template.Spec.Containers = []corev1.Container{{Name: "sleep", Image: image}}
	result.Spec.Template.Spec.TerminationGracePeriodSeconds = ptr.To[int64](30)
	return result
}
