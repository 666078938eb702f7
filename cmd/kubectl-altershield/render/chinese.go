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

package render

func chinese() map[key]string {
	return map[key]string{
		"none":             "没有处于变更管控下的发布",
		"none.in":          "命名空间 %s 中没有处于变更管控下的发布",
		"hidden":           "%d 个已验证（--all 显示）",
		"count":            "%d 个 %s",
		"since":            "%s 已 %s",
		"release":          "发布 %d",
		"by":               "由 %s",
		"why":              "原因",
		"next":             "下一步",
		"to.release":       "回到发布 %d",
		"to.version":       "回到版本 %s",
		"wanted":           "期望 %d",
		"ready":            "就绪 %d",
		"old":              "旧 %d",
		"new":              "新 %d",
		"held":             "滚动已被 Operator 停住",
		"paused.user":      "用户已暂停滚动",
		"suspended":        "已暂停：后续发布会被拦截",
		"unknown.workload": "无法读取",
		"passed":           "%d 通过",
		"failed":           "%d 未通过",
		"checking":         "%d 检测中",
		"waiting":          "%d 等待",
		"left":             "%d 未替换",
		"of":               "共 %d",
		"step":             "步骤 %s",
		"batches":          "批次 %s",
		"batch.failed":     "未通过",
		"batch.checking":   "检测中",
		"batch.passed":     "通过",
		"batch.unchecked":  "未检测",
		"due":              "结论应在 %s 内给出",
		"overdue":          "结论已逾期",
		"median":           "中位数",
		"check":            "检测 %s",
		"pods.failed":      "未通过的 Pod",
		"changes":          "变更",
		"more":             "另有 %d 项",
		"kept":             "已保留，可以回滚到它",
		"template.kept":    "内容已保留",
		"took":             "用时 %s",
		"refused":          "隔离至 %s",
		"repair":           "修复发布",
		"rollback.of":      "发布 %d 的回滚",
		"observed":         "仅观察",
		"no.record":        "尚无发布记录",
		"unstamped":        "不在变更管控下：命名空间或类型未启用，或启用后内容未变",
		"lack":             "您无权 %s %s%s：%s",
		"lack.in":          "（命名空间 %s）",
		"lack.all":         "（所有命名空间）",
		"lack.workload":    "不显示工作负载自身的状态",
		"lack.batches":     "不显示批次",
		"lack.kept":        "不显示保留了哪些内容",
		"lack.events":      "部分 Event 未显示",
		"lack.reviews":     "不显示您的权限",
		"denied":           "%s 会被拦截：%s",
		"admitted":         "%s 会被放行，发布 %d，版本 %s",
		"no.release":       "%s 会被放行，但不是发布：内容相同",
		"not.controlled":   "%s 会被放行，不受变更管控",
		"frozen":           "会等待冻结结束：%s",
		"paced":            "会按 %s 分步发布",
		"yours":            "您的变更",
		"warning":          "警告",
		"ways":             "出路",
		"way.repair":       "修复发布",
		"way.rollback":     "回滚",
		"way.withdraw":     "撤回结论",
		"may":              "您有权限",
		"may.not":          "您无权限：需要 %s",
		"pod":              "Pod %s：%s",
		"nothing":          "没有什么在阻止它",
		"same":             "没有差异",
		"file":             "文件 %s",
		"new.workload":     "新的工作负载",
		"no.events":        "没有 Event；Event 只保留一小时",
		"now":              "%s（按 Ctrl-C 结束）",
		"done.success":     "已验证",
		"done.suspend":     "已暂停",
		"done.rolledback":  "已回滚",
		"done.superseded":  "已被发布 %d 取代",
		"done.unchecked":   "未检测",
		"goes.back":        "%s 将回滚：%s %s %s",
		"ask":              "确定吗？[y/N] ",
		"asked":            "已向 Operator 提出请求；用 kubectl altershield wait %s -n %s 等待结果",
		"not.done":         "没有任何改动：这是 dry run",
		"timeout":          "%s 内没有结论",
	}
}
