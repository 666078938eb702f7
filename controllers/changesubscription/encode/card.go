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

package encode

import (
	"fmt"
	"strings"
	"time"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/changesubscription/notice"
	"github.com/traas-stack/altershield-operator/controllers/platform/oneline"
)

const (
	// mostLines is the most events that a digest lists.
	mostLines = 20
	// mostChanges is the most changes that a message lists.
	mostChanges = 3
	// mostText is the most characters of a text in a message.
	mostText = 300
)

// card is a message in words, without markup.
type card struct {
	Title string
	Lines []line
	// Link is the address of a page about the release, empty for none; LinkText is what is shown for it.
	Link, LinkText string
	// Failure reports whether a release failed, Good whether one ended well.
	Failure, Good bool
}

// line is a labelled text.
type line struct {
	Label, Text string
}

func newCard(spec *appv1alpha1.ChangeSubscriptionSpec, batch notice.Batch) card {
	words := wordsOf(spec.Language)
	if len(batch.Events) == 1 && !batch.Late {
		return single(spec, words, &batch.Events[0])
	}
	title := fmt.Sprintf(words.digest, len(batch.Events))
	if batch.Late {
		title = fmt.Sprintf(words.late, len(batch.Events))
	}
	digest := card{Title: headed(spec, title)}
	for i := range batch.Events[:min(len(batch.Events), mostLines)] {
		event := &batch.Events[i]
		text := words.of(event)
		if batch.Late {
			text += ", " + event.At.Format(time.RFC3339)
		}
		digest.Lines = append(digest.Lines, line{Label: subject(event), Text: text})
		digest.Failure = digest.Failure || event.IsFailure() || event.Failed
	}
	if more := len(batch.Events) - mostLines; more > 0 {
		digest.Lines = append(digest.Lines, line{Label: "…", Text: fmt.Sprintf(words.more, more)})
	}
	return digest
}

// headed returns a title with the name of the operator, for which receivers can filter, and the environment.
func headed(spec *appv1alpha1.ChangeSubscriptionSpec, title string) string {
	return fmt.Sprintf("[AlterShield %s] %s", spec.Environment, title)
}

func single(spec *appv1alpha1.ChangeSubscriptionSpec, words words, event *notice.Event) card {
	title := event.Namespace + "/" + event.Workload.Name + words.colon + words.of(event)
	one := card{Title: headed(spec, title), Failure: event.IsFailure() || event.Failed, Good: isGood(event)}
	add := func(label, text string) {
		if text != "" {
			one.Lines = append(one.Lines, line{Label: label, Text: oneline.Of(text, mostText)})
		}
	}
	if event.IsFreeze() {
		add(words.freeze, event.Workload.Kind+" "+event.Namespace+"/"+event.Workload.Name)
		add(words.why, event.Message)
		add(words.time, event.At.Format(time.RFC3339))
		if !event.Until.IsZero() {
			add(words.until, event.Until.Format(time.RFC3339))
		}
		return one
	}
	add(words.workload, event.Workload.Kind+" "+event.Namespace+"/"+event.Workload.Name)
	add(words.release, fmt.Sprintf("%d (%s)", event.Release, short(event.Version)))
	if event.Rollback != nil {
		add(words.rollback, fmt.Sprintf("%d (%s)", event.Rollback.Release, short(event.Rollback.Version)))
	}
	add(words.by, event.By)
	add(words.changes, changes(words, event.Changes))
	if counts := event.Counts; counts.Desired > 0 {
		add(words.pods, fmt.Sprintf(words.counts, counts.Passed, counts.Failed, counts.Desired))
	}
	add(words.why, event.Message)
	if event.Observed {
		add(words.note, words.observed)
	}
	add(words.time, event.At.Format(time.RFC3339))
	if verb := verbOf(event); verb != "" {
		of := strings.ToLower(event.Workload.Kind) + "/" + event.Workload.Name
		one.Lines = append(one.Lines, line{words.next, fmt.Sprintf("kubectl altershield %s %s -n %s", verb, of, event.Namespace)})
	}
	if spec.LinkBase != "" {
		one.Link, one.LinkText = strings.TrimSuffix(spec.LinkBase, "/")+"/"+subject(event), words.link
	}
	return one
}

func isGood(event *notice.Event) bool {
	switch event.Name {
	case appv1alpha1.NotifyVerified, appv1alpha1.NotifyRollbackVerified, appv1alpha1.NotifyRecovered:
		return true
	case appv1alpha1.NotifyBatchChecked:
		return !event.Failed
	}
	return false
}

func changes(words words, all []string) string {
	text := strings.Join(all[:min(len(all), mostChanges)], "; ")
	if more := len(all) - mostChanges; more > 0 {
		text += "; " + fmt.Sprintf(words.more, more)
	}
	return text
}

// verbOf returns the verb of the plugin that helps, empty where there is nothing to do.
func verbOf(event *notice.Event) string {
	switch event.Name {
	case appv1alpha1.NotifyApprovalAwaited:
		return "approve"
	case appv1alpha1.NotifySuspended, appv1alpha1.NotifyFailed, appv1alpha1.NotifyUnchecked, appv1alpha1.NotifyFrozen, appv1alpha1.NotifyApprovalDenied:
		return "why"
	case appv1alpha1.NotifyRolledBack, appv1alpha1.NotifyBypassed:
		return "history"
	}
	return ""
}
