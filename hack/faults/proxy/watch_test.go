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

package proxy_test

import (
	"bufio"
	"encoding/binary"
	"io"
	"net/http"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/traas-stack/altershield-operator/hack/faults/proxy"
)

const podWatch = "/api/v1/pods?watch=true&resourceVersion=7"

// events is a watch with three events, which come when they are let.
func events(next <-chan string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusOK)
		flusher, _ := w.(http.Flusher)
		flusher.Flush()
		for {
			select {
			case event, more := <-next:
				if !more {
					return
				}
				_, _ = io.WriteString(w, event+"\n")
				flusher.Flush()
			case <-r.Context().Done():
				return
			}
		}
	}
}

func three() <-chan string {
	next := make(chan string, 3)
	for _, event := range []string{"added", "modified", "deleted"} {
		next <- event
	}
	close(next)
	return next
}

func (u *upstream) begin(t *testing.T, path string) *http.Response {
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, u.address+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	return response
}

// watch reads a watch to its end; begun is called once it has begun.
func (u *upstream) watch(t *testing.T, path string, begun ...func()) []string {
	response := u.begin(t, path)
	defer response.Body.Close()
	for _, act := range begun {
		act()
	}
	var all []string
	scanner := bufio.NewScanner(response.Body)
	for scanner.Scan() {
		all = append(all, scanner.Text())
	}
	if err := scanner.Err(); err != nil {
		t.Logf("the watch ended with: %v", err)
		all = append(all, "cut")
	}
	return all
}

func TestDisturbLeavesOtherWatchesAsTheyAre(t *testing.T) {
	g, up := NewWithT(t), behind(t, events(three()))
	up.Disturb(proxy.Disturbance{View: proxy.Replay, Resources: []string{"deployments"}, Times: 9})
	g.Expect(up.watch(t, podWatch)).To(Equal([]string{"added", "modified", "deleted"}))
	g.Expect(up.Disturbed()).To(Equal(0))
}

func TestStaleHoldsBackAnEventAndThoseThatFollow(t *testing.T) {
	g := NewWithT(t)
	up := behind(t, events(three()))
	const held = 300 * time.Millisecond
	up.Disturb(proxy.Disturbance{View: proxy.Stale, Resources: []string{"pods"}, For: held, Times: 1})
	began := time.Now()
	g.Expect(up.watch(t, podWatch)).To(Equal([]string{"added", "modified", "deleted"}))
	g.Expect(time.Since(began)).To(BeNumerically(">=", held))
	g.Expect(up.Disturbed()).To(Equal(1))
}

func TestStaleEndsWithItsClient(t *testing.T) {
	g := NewWithT(t)
	up := behind(t, events(three()))
	up.Disturb(proxy.Disturbance{View: proxy.Stale, Resources: []string{"pods"}, For: time.Hour, Times: 1})
	response := up.begin(t, podWatch)
	g.Eventually(up.Disturbed).Should(Equal(1))
	g.Expect(response.Body.Close()).To(Succeed()) // the server of the test would wait for a handler that hangs
}

func TestReplayDeliversEventsAgainInTheirOrder(t *testing.T) {
	g := NewWithT(t)
	up := behind(t, events(three()))
	up.Disturb(proxy.Disturbance{View: proxy.Replay, Resources: []string{"pods"}, Times: 2})
	g.Expect(up.watch(t, podWatch)).To(Equal([]string{"added", "added", "modified", "added", "modified", "deleted"}))
}

func TestUnobservedDropsAnEventAndRefusesTheWatch(t *testing.T) {
	g := NewWithT(t)
	next := make(chan string, 2)
	up := behind(t, events(next))
	up.Disturb(proxy.Disturbance{View: proxy.Unobserved, Resources: []string{"pods"}, For: 300 * time.Millisecond, Times: 1})
	g.Expect(up.watch(t, podWatch, func() { next <- "deleted" })).To(Equal([]string{"cut"}))

	status, refusal := up.send(t, http.MethodGet, podWatch)
	g.Expect(status).To(Equal(503))
	g.Expect(refusal.Reason).To(BeEquivalentTo("ServiceUnavailable"))
	close(next) // the answers to other requests end at once
	status, _ = up.send(t, http.MethodGet, "/api/v1/namespaces/shop/pods/web-1")
	g.Expect(status).To(Equal(200), "single objects can be read")
	status, _ = up.send(t, http.MethodGet, "/apis/apps/v1/deployments?watch=true&resourceVersion=7")
	g.Expect(status).To(Equal(200), "other resources can be watched")
	g.Eventually(func() int {
		status, refusal = up.send(t, http.MethodGet, podWatch)
		return status
	}).Should(Equal(410))
	g.Expect(refusal.Reason).To(BeEquivalentTo("Expired"))
	status, _ = up.send(t, http.MethodGet, podWatch)
	g.Expect(status).To(Equal(200), "it has expired once")
}

func TestUnobservedLetsAWatchBeginWithWhatIsThere(t *testing.T) {
	g := NewWithT(t)
	next := make(chan string, 1)
	up := behind(t, events(next))
	up.Disturb(proxy.Disturbance{View: proxy.Unobserved, Resources: []string{"pods"}, Times: 1})
	g.Expect(up.watch(t, podWatch, func() { next <- "deleted" })).To(Equal([]string{"cut"}))
	close(next)
	status, _ := up.send(t, http.MethodGet, "/api/v1/pods?watch=1&sendInitialEvents=true&resourceVersion=7")
	g.Expect(status).To(Equal(200))
}

// message is an event of a watch in protobuf.
func message(content string) string {
	return string(binary.BigEndian.AppendUint32(nil, uint32(len(content)))) + content
}

func TestReadMessageSeparatesEventsInProtobuf(t *testing.T) {
	g := NewWithT(t)
	up := behind(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/vnd.kubernetes.protobuf;stream=watch")
		_, _ = io.WriteString(w, message("one\n")+message("two"))
	})
	up.Disturb(proxy.Disturbance{View: proxy.Replay, Resources: []string{"pods"}, Times: 2})
	response := up.begin(t, podWatch)
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(content)).To(Equal(message("one\n") + message("one\n") + message("two") + message("one\n") + message("two")))
}

func TestPastListsARevisionAndHoldsBackWhatCameAfterIt(t *testing.T) {
	g := NewWithT(t)
	asked := make(chan string, 10)
	up := behind(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("watch") == "" {
			asked <- r.URL.Query().Get("resourceVersion") + " " + r.URL.Query().Get("resourceVersionMatch")
			return
		}
		events(three())(w, r)
	})
	up.Disturb(proxy.Disturbance{View: proxy.Past, Resources: []string{"nodes", "pods"}, Revision: "7", For: time.Hour, Times: 9})

	status, _ := up.send(t, http.MethodGet, "/api/v1/pods?watch=true&sendInitialEvents=true")
	g.Expect(status).To(Equal(400), "it has to be listed, as a watch can't begin in the past")
	up.send(t, http.MethodGet, "/api/v1/pods?resourceVersion=0&limit=500")
	g.Expect(<-asked).To(Equal("7 Exact"))
	up.send(t, http.MethodGet, "/api/v1/namespaces/shop/pods?labelSelector=a")
	g.Expect(<-asked).To(Equal(" "), "what is read in one namespace is live")
	up.send(t, http.MethodGet, "/apis/apps/v1/deployments?resourceVersion=0")
	g.Expect(<-asked).To(Equal("0 "), "other resources are as they are")

	seen := make(chan []string, 1)
	go func() { seen <- up.watch(t, podWatch) }()
	g.Eventually(up.Disturbed).Should(Equal(1))
	g.Consistently(seen, 200*time.Millisecond).ShouldNot(Receive())
	up.Disturb(proxy.Disturbance{})
	g.Eventually(seen).Should(Receive(Equal([]string{"added", "modified", "deleted"})))
}
