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

// Package encode writes messages about releases in the formats of their receivers, and reads what these answer. It does no I/O.
package encode

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/changesubscription/notice"
	"github.com/traas-stack/altershield-operator/controllers/platform/signature"
)

// Message is a request to a receiver.
type Message struct {
	Body   []byte
	Header http.Header
	// Query are further parameters of the address.
	Query url.Values
}

// Facts are what a message has beside the events.
type Facts struct {
	// Images are the images of the release of a CDEvent.
	Images []appv1alpha1.RecordedImage
	// Secret is the key of signatures, empty for none. For Standard Webhooks it may be several, one a line.
	Secret string
	Now    time.Time
}

// Check returns an error if a key of signatures is unusable for a type of receivers.
func Check(kind appv1alpha1.SinkType, secret string) error {
	if secret == "" || kind != appv1alpha1.SinkCDEvents && kind != appv1alpha1.SinkPlain {
		return nil
	}
	_, err := signature.Keys(secret)
	return err
}

// Encode returns the message about a batch.
func Encode(spec *appv1alpha1.ChangeSubscriptionSpec, batch notice.Batch, facts Facts) (Message, error) {
	message := Message{Header: http.Header{"Content-Type": {"application/json; charset=utf-8"}}}
	card := newCard(spec, batch)
	var content any
	switch spec.Sink.Type {
	case appv1alpha1.SinkCDEvents:
		message.Header.Set("Content-Type", "application/cloudevents+json; charset=utf-8")
		content = cloudEvent(spec, &batch.Events[0], facts.Images)
	case appv1alpha1.SinkDingTalk:
		content, message.Query = dingTalk(card), dingTalkQuery(facts)
	case appv1alpha1.SinkFeishu:
		content = feishu(card, facts)
	case appv1alpha1.SinkWeCom:
		content = weCom(card)
	case appv1alpha1.SinkSlack:
		content = slack(card)
	case appv1alpha1.SinkTeams:
		content = teams(card)
	default:
		content = plain(card, batch)
	}
	body, err := json.Marshal(content)
	if err != nil {
		return Message{}, fmt.Errorf("encoding a message: %w", err)
	}
	message.Body = body
	if spec.Sink.Type == appv1alpha1.SinkCDEvents || spec.Sink.Type == appv1alpha1.SinkPlain {
		err = sign(message, batch, facts)
	}
	return message, err
}

// sign signs a message as Standard Webhooks defines it. The ID of a digest is that of its last event, which no other message has.
func sign(message Message, batch notice.Batch, facts Facts) error {
	var keys [][]byte
	if facts.Secret != "" {
		var err error
		if keys, err = signature.Keys(facts.Secret); err != nil {
			return fmt.Errorf("the key of signatures %w", err)
		}
	}
	signature.Sign(message.Header, keys, batch.Events[len(batch.Events)-1].ID, facts.Now, message.Body)
	return nil
}

// short returns the first digits of a version, as the plugin shows them.
func short(version string) string { return version[:min(len(version), 7)] }

// subject returns <namespace>/<kind>/<name> of a workload.
func subject(event *notice.Event) string {
	return event.Namespace + "/" + strings.ToLower(event.Workload.Kind) + "/" + event.Workload.Name
}
