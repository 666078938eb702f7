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

package help

// chineseActing returns the texts of the verbs that write.
func chineseActing() map[string]Texts {
	return map[string]Texts{
		"rollback": {
			Short: "请 Operator 回到一个已验证的版本",
			Long: `请 Operator 回到一个已验证的版本，默认是最近一个。先显示会改变什么，再询问您。
Operator 由此做一次发布，与其他发布一样检测；被放弃的版本会被隔离一天。
使用 --park 时模板不变：滚动被停住的 StatefulSet 的 Pod 恢复原样。`,
			Flags: map[string]string{"to": "要回到的发布或版本。", "park": "只让 StatefulSet 的 Pod 恢复原样。"},
		},
		"repair": {
			Short: "发布对被暂停的工作负载的修复",
			Long: `发布对已暂停的工作负载的修复，或发布被隔离的版本。内容与标签 ignored-suspend 在同一个请求中，
因此标签不会留在任何文件里，也不会放行别的内容。先显示会改变什么，再询问您。这次发布与其他发布一样检测。`,
			Flags: map[string]string{"image": "一个容器的镜像，写作 CONTAINER=IMAGE；可以重复。", "server-side": "像 kubectl apply --server-side 那样提交文件。"},
		},
		"hold": {
			Short: "暂停工作负载的滚动",
			Long: `暂停工作负载的滚动，理由由 status 显示：Deployment 如同 kubectl rollout pause，StatefulSet 用 partition，DaemonSet 用策略 OnDelete，
CronJob 用 spec.suspend，声明的种类用其 ControlledKind 的 spec.hold。用户暂停的滚动，Operator 从不恢复，也不对它回滚。
resume 无法还原的字段不会被覆盖。`,
			Flags: map[string]string{"reason": "理由，供查看这个工作负载的人阅读。"},
		},
		"resume": {
			Short: "让用户暂停的工作负载继续滚动",
			Long: `让用户暂停的工作负载继续滚动。因发布失败或等待而被 Operator 停住的滚动，只有加 --override 才会继续：
那次发布的 Pod 随即到来。`,
			Flags: map[string]string{"override": "让 Operator 停住的滚动继续。", "reason": "理由，供查看这个工作负载的人阅读。"},
		},
		"go-on": {
			Short: "让分步的发布继续到下一步",
			Long: `让分步的发布继续到某一步（默认是下一步），或到全部 Pod。它越过之前步骤的检测、soak 和期限，
但不越过缺少的批准，也不越过失败。发布的记录显示是谁要求的。`,
		},
		"approve": {
			Short: "批准工作负载的发布",
			Long: `为需要批准的步骤批准工作负载当前的发布：以您的名字创建一个 ChangeApproval。发布者不能批准自己的发布。
步骤开始之前，删除这个 ChangeApproval 即撤回批准。`,
			Flags: map[string]string{"reason": "理由；保留在 ChangeApproval 中。"},
		},
		"deny": {
			Short: "不让工作负载的发布进入下一个需要批准的步骤",
			Long: `不让工作负载当前的发布进入下一个需要批准的步骤：以您的名字创建一个决定为 Deny 的 ChangeApproval。
删除它，发布即继续。`,
			Flags: map[string]string{"reason": "理由；保留在 ChangeApproval 中。"},
		},
		"verdict": {
			Short: "撤回一个批次中 Pod 的不通过，或把它们判为不通过",
			Long: `撤回一个批次（ChangePod）中 Pod 的不通过，或把它们判为不通过，可以是全部 Pod 或其中一个。
不通过会暂停发布；最后一个不通过被撤回时，暂停结束。status 和 why 显示批次。`,
			Flags: map[string]string{"pod": "批次中的一个 Pod；默认是全部。", "reason": "理由；成为结论的消息。"},
		},
		"freeze list": {
			Short: "列出 ChangeFreeze，正在生效的在前",
			Long:  "列出 ChangeFreeze，正在生效的在前：它们对发布做什么、持续到何时以及为何。",
		},
		"freeze": {
			Short: "列出冻结，从现在起冻结发布，或结束冻结",
			Long:  "列出冻结，从现在起冻结命名空间或工作负载的发布，或结束冻结。",
		},
		"freeze lock": {
			Short: "从现在起冻结命名空间或一些工作负载的发布",
			Long: `从现在起冻结命名空间或其中一些工作负载的发布，直到到期或被结束：会创建一个 ChangeFreeze。
默认扣住发布：它们会被放行，冻结结束时才开始。`,
			Flags: map[string]string{
				"for": "最长持续多久，从 1m 到 168h。", "action": "如何处理发布：Park、Deny 或 Warn。",
				"running": "如何处理正在进行的发布：Finish 或 Hold。", "reason": "理由；会告诉发布被冻结的人。",
			},
		},
		"freeze unlock": {
			Short: "结束一个故障锁",
			Long:  "结束一个故障锁：删除它的 ChangeFreeze，被它扣住的发布开始。按日历的冻结请用 kubectl 处理。",
		},
		"break-glass": {
			Short: "让工作负载的发布在一段时间内越过阻拦",
			Long: `让工作负载接下来的发布越过阻拦：Freeze 越过 ChangeFreeze，Suspension 越过暂停或隔离，Approval 越过步骤所需的批准，Pace 越过所有步骤。
以您的名字创建一个 BreakGlass，其中保留谁用它发布了什么。已被扣住的发布随后用 resume --override 继续。`,
			Flags: map[string]string{
				"override": "发布越过什么：Freeze、Suspension、Approval、Pace；可以重复。", "for": "允许多久，从 1m 到 24h。", "uses": "允许多少次发布。",
				"reason": "理由；保留在 BreakGlass 中。",
			},
		},
		"settings": {
			Short: "列出 Operator 的配置，或修改其中一个",
			Long: `列出 Operator 的配置（OpsConfigInfo）及其生效的值，没有生效的说明原因。加上值则修改一个：on 和 off 保持内容不变，
其他值把它打开。无需重启即可生效。`,
		},
	}
}
