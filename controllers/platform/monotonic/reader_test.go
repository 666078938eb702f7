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

package monotonic

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var errGone = errors.New("it is gone")

// shelf holds one object.
type shelf struct {
	client.Reader
	object *corev1.Pod
}

// Get behaves like clients: fields missing in the object keep their values.
func (s *shelf) Get(_ context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	if s.object == nil {
		return errGone
	}
	pod := into.(*corev1.Pod)
	pod.UID, pod.ResourceVersion = s.object.UID, s.object.ResourceVersion
	for name, value := range s.object.Labels {
		metav1.SetMetaDataLabel(&pod.ObjectMeta, name, value)
	}
	return nil
}

func pod(uid types.UID, resourceVersion string, labels map[string]string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: uid, ResourceVersion: resourceVersion, Labels: labels}}
}

func TestReaderGetReadsTheCacheAsLongAsItGoesForward(t *testing.T) {
	g := NewWithT(t)
	cache := &shelf{}
	reader := NewReader(cache, &shelf{})
	for _, version := range []string{"9", "9", "10", "200"} {
		cache.object = pod("1", version, nil)
		var read corev1.Pod
		g.Expect(reader.Get(t.Context(), client.ObjectKey{}, &read)).To(Succeed())
		g.Expect(read.ResourceVersion).To(Equal(version))
	}
}

func TestReaderGetReadsLiveWhereTheCacheShowsThePast(t *testing.T) {
	for _, example := range []struct {
		name string
		seen func(*Reader, *testing.T)
	}{
		{"after a newer version was read", func(reader *Reader, t *testing.T) {
			reader.cache.(*shelf).object = pod("1", "10", nil)
			NewWithT(t).Expect(reader.Get(t.Context(), client.ObjectKey{}, &corev1.Pod{})).To(Succeed())
		}},
		{"after a newer version was written", func(reader *Reader, _ *testing.T) { reader.Seen(pod("1", "10", nil)) }},
		{"after it was removed", func(reader *Reader, _ *testing.T) { reader.Gone(pod("1", "9", nil)) }},
	} {
		t.Run(example.name, func(t *testing.T) {
			g := NewWithT(t)
			cache := &shelf{}
			reader := NewReader(cache, &shelf{object: pod("1", "11", map[string]string{"now": "x"})})
			example.seen(reader, t)
			cache.object = pod("1", "9", map[string]string{"then": "x"})
			var read corev1.Pod
			g.Expect(reader.Get(t.Context(), client.ObjectKey{}, &read)).To(Succeed())
			g.Expect(read.ResourceVersion).To(Equal("11"))
			g.Expect(read.Labels).To(Equal(map[string]string{"now": "x"}), "nothing of the past is left in it")
		})
	}
}

func TestReaderGetDoesNotFindAnObjectThatWasRemoved(t *testing.T) {
	g := NewWithT(t)
	reader := NewReader(&shelf{object: pod("1", "9", nil)}, &shelf{})
	reader.Gone(pod("1", "8", nil))
	g.Expect(reader.Get(t.Context(), client.ObjectKey{}, &corev1.Pod{})).To(MatchError(errGone))
}

func TestReaderGetFindsASuccessorOfTheSameName(t *testing.T) {
	g := NewWithT(t)
	reader := NewReader(&shelf{object: pod("2", "9", nil)}, &shelf{})
	reader.Gone(pod("1", "10", nil))
	var read corev1.Pod
	g.Expect(reader.Get(t.Context(), client.ObjectKey{}, &read)).To(Succeed())
	g.Expect(read.UID).To(BeEquivalentTo("2"))
}

func TestReaderGetReadsTheCacheAgainOnceTheAPIServerHasGoneBackToo(t *testing.T) {
	g := NewWithT(t)
	restored := &shelf{object: pod("1", "5", nil)}
	reader := NewReader(restored, restored)
	reader.Seen(pod("1", "10", nil))
	var read corev1.Pod
	g.Expect(reader.Get(t.Context(), client.ObjectKey{}, &read)).To(Succeed())
	g.Expect(read.ResourceVersion).To(Equal("5"), "etcd was restored from a backup")

	reader.live = &shelf{}
	g.Expect(reader.Get(t.Context(), client.ObjectKey{}, &read)).To(Succeed(), "it need not be asked again")
}

func TestReaderIsGone(t *testing.T) {
	g := NewWithT(t)
	reader := NewReader(&shelf{}, &shelf{})
	removed := pod("1", "9", nil)
	g.Expect(reader.IsGone(removed)).To(BeFalse(), "nothing is known of it")
	reader.Gone(removed)
	g.Expect(reader.IsGone(removed)).To(BeTrue())
	g.Expect(reader.IsGone(pod("2", "9", nil))).To(BeFalse(), "another object")
	reader.Seen(removed)
	g.Expect(reader.IsGone(removed)).To(BeFalse(), "it was seen since")
}
