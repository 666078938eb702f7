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
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

const (
	ownEvent, cdEvent = "dev.cdeventsx.altershield-release.", "dev.cdevents."
	// started and so on are the types of CDEvents that are awaited.
	started, bypassed      = ownEvent + "started.0.1.0", ownEvent + "bypassed.0.1.0"
	deployed, upgraded     = cdEvent + "service.deployed.0.3.0", cdEvent + "service.upgraded.0.3.0"
	incident, incidentOver = cdEvent + "incident.detected.0.3.0", cdEvent + "incident.resolved.0.3.0"
)

// releasesAreTold makes a release that passes, is suspended by a verdict and repaired, while a receiver takes each of its events before the next one.
// What a faster course of things shows only for a moment, a subscription doesn't promise to tell, but for the end of a failure.
func releasesAreTold() step {
	return inTurn(
		createDeployment, verified(1), told(1, started, deployed),
		failed(1), suspended(1), told(1, started, deployed, incident),
		repair, verified(2), told(2, started, bypassed, upgraded), told(1, started, deployed, incident, incidentOver), allTold)
}

// inbox is a receiver of CDEvents. The zero value is empty.
type inbox struct {
	mutex sync.Mutex
	// events are in the order in which they came first.
	events []event
}

// event is what is read of a CDEvent.
type event struct {
	ID   string `json:"id"`
	Type string `json:"type"`
	Data struct {
		CustomData struct {
			Release int64 `json:"release"`
		} `json:"customData"`
	} `json:"data"`
}

// ServeHTTP takes an event. One that is known already is one that was sent again.
func (i *inbox) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	var came event
	if err := json.NewDecoder(request.Body).Decode(&came); err != nil || came.ID == "" {
		http.Error(w, "no CloudEvent", http.StatusBadRequest)
		return
	}
	i.mutex.Lock()
	defer i.mutex.Unlock()
	if !slices.ContainsFunc(i.events, func(known event) bool { return known.ID == came.ID }) {
		i.events = append(i.events, came)
	}
}

// of returns the types of the events of a release, in the order in which they came first.
func (i *inbox) of(release int64) (types []string) {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	for _, event := range i.events {
		if event.Data.CustomData.Release == release {
			types = append(types, event.Type)
		}
	}
	return types
}

// withReceiver returns a play with a ChangeSubscription that tells a receiver of its own all events of the namespace.
func withReceiver(play step) step {
	return func(ctx context.Context, s *stage) error {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		s.inbox = &inbox{}
		address, err := serve(ctx, s.inbox, anyPort, s.dir)
		if err != nil {
			return err
		}
		at := metav1.ObjectMeta{Namespace: appv1alpha1.SystemNamespace, Name: s.namespace}
		secret := &corev1.Secret{ObjectMeta: at, StringData: map[string]string{appv1alpha1.SinkURLKey: "https://" + address}}
		subscription := &appv1alpha1.ChangeSubscription{ObjectMeta: at}
		subscription.Spec.Events = []appv1alpha1.SubscribedEvent{appv1alpha1.NotifyAll}
		subscription.Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: s.namespace}}
		subscription.Spec.Sink = appv1alpha1.SubscriptionSink{
			Type: appv1alpha1.SinkCDEvents, SecretRef: appv1alpha1.SourceSecret{Name: s.namespace}, CABundle: string(s.authority),
		}
		defer func() { _ = s.Kube.Delete(context.WithoutCancel(ctx), secret) }() // on failure it only costs time
		if err := s.created(ctx, secret); err != nil {
			return err
		}
		return s.with(ctx, subscription, readyIn(&subscription.Status.Conditions), play)
	}
}

// told waits until the receiver has the events of a release, each at least once, and in their order.
func told(release int64, types ...string) step {
	return func(ctx context.Context, s *stage) error {
		return until(ctx, fmt.Sprintf("the events of release %d", release), func(context.Context) error {
			found := s.inbox.of(release)
			return expect(slices.Equal(found, types), "there are %v instead of %v", found, types)
		})
	}
}

// allTold waits until the subscription knows that it delivered all events. It must not have given up any.
func allTold(ctx context.Context, s *stage) error {
	return until(ctx, "the end of the messages", func(ctx context.Context) error {
		var subscription appv1alpha1.ChangeSubscription
		key := client.ObjectKey{Namespace: appv1alpha1.SystemNamespace, Name: s.namespace}
		if err := s.Kube.Get(ctx, key, &subscription); err != nil {
			return err
		}
		status := &subscription.Status
		return expect(
			len(status.Delivered) == 7 && status.Pending == 0 && status.Dropped == 0 && status.FailingSince == nil && len(status.ToldFailures) == 0,
			"its status has %d delivered, %d pending and %d dropped events", len(status.Delivered), status.Pending, status.Dropped)
	})
}
