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

package command

import (
	"context"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/dashboard"
)

// Shortest and longest time until what failed is tried again.
const (
	shortestWait = time.Second
	longestWait  = 30 * time.Second
)

// latest is how long a list may take until what was listed before counts as stale. Where lists are all there is, it is twice what the last one took if
// that is longer.
const latest = 5 * time.Second

// follow hands the records of a namespace to a feed: by a list and a watch, or by lists alone where the user may not watch. It goes on after an
// error that may pass, unless that is the first answer.
func (s *site) follow(ctx context.Context, namespace string, feed dashboard.Feed) error {
	mayWatch := true
	wait, late := shortestWait, latest
	for isFirst := true; ; isFirst = false {
		asked := s.tool.Clock.Now()
		version, err := s.listInto(ctx, namespace, feed, late, isFirst)
		took := s.tool.Clock.Since(asked)
		switch {
		case err != nil && (isFirst || !passes(err)):
			return err
		case err != nil:
			feed.Stale(failureOf(err))
			wait = min(2*wait, longestWait)
		case mayWatch:
			began := s.tool.Clock.Now()
			mayWatch = !lacksRight(s.watchInto(ctx, namespace, version, feed)) // any other error is found by the next list
			if wait = min(2*wait, longestWait); s.tool.Clock.Since(began) > longestWait {
				wait = shortestWait
			}
		}
		if err == nil && !mayWatch {
			wait, late = s.polls, max(latest, 2*took) // otherwise each list of a large cluster would be late
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.tool.Clock.After(wait):
		}
	}
}

// listInto hands all records to a feed, and returns the version from which a watch goes on. Those of before are stale once a list is late. Before the
// first list there are none.
func (s *site) listInto(ctx context.Context, namespace string, feed dashboard.Feed, late time.Duration, isFirst bool) (version string, err error) {
	if limit := callTimes * s.tool.flags.requestTimeout; limit > 0 {
		within, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		ctx = within
	}
	var records []appv1alpha1.ChangeWorkload
	timer := s.tool.Clock.NewTimer(late)
	defer timer.Stop()
	listed := make(chan struct{})
	go func() {
		defer close(listed)
		records, version, err = s.cluster.recordsAt(ctx, client.InNamespace(namespace))
	}()
	select {
	case <-listed:
	case <-timer.C():
		if !isFirst {
			feed.Stale(dashboard.Failure{
				Status: http.StatusServiceUnavailable, Reason: dashboard.Unavailable, Message: "the API server takes long to answer",
			})
		}
		<-listed
	}
	if err != nil {
		return "", err
	}
	feed.Replace(records)
	return version, nil
}

// watchInto hands each change to a feed until the watch ends, as the API server ends it from time to time.
func (s *site) watchInto(ctx context.Context, namespace, version string, feed dashboard.Feed) error {
	watching, err := s.cluster.Watch(ctx, &appv1alpha1.ChangeWorkloadList{}, &client.ListOptions{
		Namespace: namespace, Raw: &metav1.ListOptions{ResourceVersion: version},
	})
	if err != nil {
		return err
	}
	defer watching.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case event, isOpen := <-watching.ResultChan():
			if !isOpen {
				return nil
			}
			record, isRecord := event.Object.(*appv1alpha1.ChangeWorkload)
			switch {
			case event.Type == watch.Error:
				return apierrors.FromObject(event.Object)
			case isRecord && event.Type == watch.Deleted:
				feed.Remove(*record)
			case isRecord:
				feed.Set(*record)
			}
		}
	}
}
