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
	"time"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/changesubscription/notice"
)

// words are the texts of a language. Those with verbs are formats.
type words struct {
	events map[appv1alpha1.SubscribedEvent]string
	// free is the text of a release that recovered and was not suspended.
	free string
	// failedBatch is the format of a batch that failed.
	failedBatch string
	// prolonged is the format of a freeze that ends later.
	prolonged string
	// numbered joins the number of a release and what happened to it.
	numbered, digest, late, more, counts                                         string
	colon, workload, release, rollback, by, changes, pods, why, note, time, next string
	link, observed, freeze, until                                                string
}

func wordsOf(language appv1alpha1.NotificationLanguage) words {
	if language == appv1alpha1.LanguageChinese {
		return chinese()
	}
	return english()
}

// of returns the text of an event, with the number of its release.
func (w words) of(event *notice.Event) string {
	text := w.events[event.Name]
	switch {
	case event.Prolonged:
		return fmt.Sprintf(w.prolonged, event.Until.Format(time.RFC3339))
	case event.IsFreeze():
		return text
	case event.Free:
		text = w.free
	case event.Failed:
		text = fmt.Sprintf(w.failedBatch, event.Batch)
	case event.Batch > 0:
		text = fmt.Sprintf(text, event.Batch)
	}
	return fmt.Sprintf(w.numbered, event.Release, text)
}

func english() words {
	return words{
		events: map[appv1alpha1.SubscribedEvent]string{
			appv1alpha1.NotifyStarted:          "has started",
			appv1alpha1.NotifyBypassed:         "passed what would have stopped it",
			appv1alpha1.NotifyVerified:         "is verified",
			appv1alpha1.NotifyRollbackVerified: "is verified, a rollback",
			appv1alpha1.NotifySuspended:        "failed and is suspended",
			appv1alpha1.NotifyRecovered:        "is no longer suspended",
			appv1alpha1.NotifyFailed:           "failed and is not suspended",
			appv1alpha1.NotifyRolledBack:       "was rolled back",
			appv1alpha1.NotifyUnchecked:        "is not checked",
			appv1alpha1.NotifySuperseded:       "was superseded before it was verified",
			appv1alpha1.NotifyFrozen:           "waits for the end of a freeze",
			appv1alpha1.NotifyApprovalAwaited:  "waits for approval",
			appv1alpha1.NotifyFreezeStarted:    "the freeze has begun",
			appv1alpha1.NotifyFreezeEnded:      "the freeze has ended",
			appv1alpha1.NotifyBatchChecked:     "passed in batch %d",
			appv1alpha1.NotifyApprovalGiven:    "got an approval",
			appv1alpha1.NotifyApprovalDenied:   "is denied by an approver",
			appv1alpha1.NotifyDeleted:          "ended, as its workload was deleted",
		},
		free: "no longer fails", failedBatch: "failed in batch %d", prolonged: "the freeze was prolonged until %s", numbered: "release %d %s", digest: "%d events", late: "%d events that could not be told in time", more: "%d more",
		counts: "%d passed, %d failed, of %d", colon: ": ", workload: "Workload", release: "Release", rollback: "Rollback of", by: "By",
		changes: "Changes", pods: "Pods", why: "Why", note: "Note", time: "Time", next: "Next", link: "Show the release",
		observed: "the kind is only observed", freeze: "Freeze", until: "Until",
	}
}

func chinese() words {
	return words{
		events: map[appv1alpha1.SubscribedEvent]string{
			appv1alpha1.NotifyStarted:          "已开始",
			appv1alpha1.NotifyBypassed:         "越过了本会拦住它的限制",
			appv1alpha1.NotifyVerified:         "已通过检测",
			appv1alpha1.NotifyRollbackVerified: "已通过检测（回滚）",
			appv1alpha1.NotifySuspended:        "未通过检测，已暂停",
			appv1alpha1.NotifyRecovered:        "已解除暂停",
			appv1alpha1.NotifyFailed:           "未通过检测，未暂停",
			appv1alpha1.NotifyRolledBack:       "已被回滚",
			appv1alpha1.NotifyUnchecked:        "未检测",
			appv1alpha1.NotifySuperseded:       "在通过检测之前已被取代",
			appv1alpha1.NotifyFrozen:           "正在等待冻结结束",
			appv1alpha1.NotifyApprovalAwaited:  "正在等待批准",
			appv1alpha1.NotifyFreezeStarted:    "冻结已开始",
			appv1alpha1.NotifyFreezeEnded:      "冻结已结束",
			appv1alpha1.NotifyBatchChecked:     "第 %d 批已通过检测",
			appv1alpha1.NotifyApprovalGiven:    "获得一次批准",
			appv1alpha1.NotifyApprovalDenied:   "被批准人否决了下一步",
			appv1alpha1.NotifyDeleted:          "因工作负载被删除而结束",
		},
		free: "不再失败", failedBatch: "第 %d 批未通过检测", prolonged: "冻结已延长至 %s", numbered: "发布 %d %s", digest: "%d 条消息", late: "%d 条未能及时送达的消息", more: "另有 %d 项",
		counts: "%d 通过，%d 未通过，共 %d", colon: "：", workload: "工作负载", release: "发布", rollback: "回滚自", by: "发布者",
		changes: "变更", pods: "Pod", why: "原因", note: "说明", time: "时间", next: "下一步", link: "查看发布",
		observed: "该种类仅被观察", freeze: "冻结", until: "结束时间",
	}
}
