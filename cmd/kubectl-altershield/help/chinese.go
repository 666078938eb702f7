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

// chinese returns the texts in Chinese by the names of a verb.
func chinese() map[string]Texts {
	texts := chineseReading()
	for name, text := range chineseActing() {
		texts[name] = text
	}
	texts[""] = Texts{
		Short: "查看和操控变更管控下的发布",
		Long: `查看和操控 Kubernetes 工作负载的发布，它们处于 AlterShield Operator 的变更管控之下。

工作负载写作 NAME、KIND/NAME 或 NAMESPACE/NAME：web、statefulset/web、shop/web。管控下的每个种类都可由其记录得知。
读取需要角色 view；您无权读取的部分会被指出并略去。`,
		Flags: map[string]string{
			"kubeconfig":         "kubeconfig 文件的路径。",
			"context":            "kubeconfig 中的上下文。",
			"namespace":          "命名空间；默认是上下文的命名空间。",
			"as":                 "要伪装成的用户。",
			"as-group":           "要伪装成的用户组；可以重复。",
			"request-timeout":    "一个请求最长等待多久；0 表示不限。",
			"output":             "格式：table、wide、json、yaml、name 或 jsonpath=TEMPLATE。",
			"color":              "颜色：auto、always 或 never。",
			"lang":               "语言：en 或 zh；默认取自 ALTERSHIELD_LANG、LC_ALL 或 LANG。",
			"all-namespaces":     "列出所有命名空间。",
			"dry-run":            "client 只显示会请求什么；server 让 API Server 检查它，而不产生影响。",
			"yes":                "不询问。",
			"help":               "显示帮助。",
			"reason":             "理由；保留在工作负载的注解和发布的记录中。",
			"operator-namespace": "Operator 的命名空间。",
			"filename":           "工作负载所在的文件，- 表示标准输入。",
		},
	}
	return texts
}

// chineseReading returns the texts of the verbs that change nothing.
func chineseReading() map[string]Texts {
	return map[string]Texts{
		"list": {
			Short: "按当前发布的状态列出工作负载",
			Long:  "按当前发布的状态列出工作负载，需要人处理的在前。已验证的只计数；--all 列出它们。",
			Flags: map[string]string{
				"selector":  "记录（ChangeWorkload）的标签选择器。",
				"all":       "也列出已验证的工作负载。",
				"suspended": "列出已暂停的工作负载。",
				"running":   "列出发布正在进行或等待的工作负载。",
				"failed":    "列出发布失败的工作负载：已暂停、已回滚或被拒绝。",
				"since":     "列出在这段时间内开始的发布。",
			},
		},
		"status": {
			Short: "显示工作负载的发布、批次、未通过的原因，以及之前的发布",
			Long: `以树的形式显示工作负载的发布：Pod、批次、未通过的原因、变更，以及之前的发布。
加 -w 持续显示，直到 Ctrl-C；加 --until=done 则到发布结束为止。内容按终端的高度折叠。`,
			Flags: map[string]string{"watch": "在原处持续显示。", "until": "与 -w 一起：done 在发布结束时结束。"},
		},
		"why": {
			Short: "说明工作负载为何已暂停、被拒绝或缓慢，或者一个清单会不会被放行",
			Long: `说明工作负载为何已暂停、被拒绝、停住或缓慢，以及您可以做什么。
加 -f 则询问 API Server 这个清单会怎样：把 kubectl apply 的请求作为服务端 dry run 发出，
每个 Webhook 和策略都会作答，而什么都不改变。会被拦截时，退出码为 4。`,
			Flags: map[string]string{"server-side": "按 kubectl apply --server-side 询问。"},
		},
		"history": {
			Short: "列出工作负载的历次发布：结果、发布者、时间和变更",
			Long:  "列出工作负载已知的历次发布，最新的在前。ChangeWorkload 已不在的也列出：ChangeRecord 把它们保留 90 天。",
		},
		"diff": {
			Short: "比较历次发布的内容，或一个清单与当前发布的内容",
			Long: `比较工作负载当前的内容与之前一次发布的内容（默认是此前最近一次已验证的），或者比较两次发布。
已验证发布的内容会保留；其余的只知道它们变更了什么。可能是机密的值不显示，除非用 --full 要求显示有差异的 YAML 行。
加 -f 则用 dry run 询问 API Server 这个清单会改变什么；会被拦截时，退出码为 4。`,
			Flags: map[string]string{"full": "显示有差异的 YAML 行，其中的值可能是机密。", "yes": "与 --full 一起：不询问。"},
		},
		"events": {
			Short: "把工作负载及其记录的 Event 按时间列在一起",
			Long:  "把工作负载及其记录的 Event 按时间列在一起。加 -w 追加新的，直到 Ctrl-C。",
			Flags: map[string]string{"watch": "追加新的。"},
		},
		"wait": {
			Short: "等待工作负载的发布结束；用于流水线",
			Long: `等待最近一次发布结束，状态每变一次打印一行。退出码即结果。
Operator 自行回滚时，以被回滚的那次发布为准：回滚成功不是流水线的成功。`,
			Flags: map[string]string{"timeout": "等待多久。", "release": "发布的序号；默认是最近一次。"},
		},
		"policies": {
			Short: "列出一个工作负载的策略和冻结，以及它们为何与它有关",
			Long: `列出与工作负载有关的 ReleasePolicy、VerificationPolicy 和 ChangeFreeze 及其原因，与 Operator 的判断一致。
不写名字则列出命名空间和 Operator 命名空间中的。`,
		},
		"export": {
			Short: "导出发布记录：谁发布了什么，结果如何",
			Long: `把在一段时间内开始的发布的 ChangeRecord 导出为 CSV、JSON，或可以打印成 PDF 的 HTML。需要列出 changerecords 的权限。
加 --verify 校验全部记录链：被修改或删除的记录会被指出，退出码为 3。`,
			Flags: map[string]string{
				"all-namespaces": "导出所有命名空间。",
				"from":           "第一天或起始时间，例如 2026-01-31 或 2026-01-31T10:00:00Z；默认是 --to 之前 30 天。",
				"to":             "结束的那天或时间，不含在内；默认是现在。",
				"format":         "格式：csv、json 或 html。",
				"verify":         "校验记录链。",
			},
		},
		"dashboard": {
			Short: "在浏览器的页面中显示发布",
			Long: `为本机的浏览器提供一个页面，使用您自己的权限，直到按 Ctrl-C 或一小时内没有请求。它只监听 127.0.0.1，
地址中有一个密钥，没有它就什么都不回答：请勿外传。页面只读取；加 --read-only=false 后还有会写入的命令，每个都先做一次 dry run。`,
			Flags: map[string]string{
				"port":      "127.0.0.1 上的端口；0 表示任取一个空闲端口。",
				"read-only": "不提供会写入的命令。",
				"open":      "在浏览器中打开页面。",
			},
		},
		"doctor": {
			Short: "检查 Operator 的安装状况，并给出可用的办法",
			Long: `检查 Operator 的安装状况：它的类型、Pod、Leader、Webhook 和策略，什么处于变更管控之下，以及什么需要人处理。
用服务端 dry run 试发布一次，端到端地证明 Webhook 可用；什么都不改变。每个问题附上可用的命令（如果有），退出码为 3。
您无权读取的会被指出，但不算问题。加 -n 则只检查那个命名空间和 Operator 的命名空间中的对象。
--wait 反复检查，直到没有问题；到时则退出码为 124：用于安装脚本。`,
			Flags: map[string]string{"wait": "等待多久，直到没有问题。"},
		},
		"report": {
			Short: "把报告 Operator 问题所需的内容收集到一个 zip 文件",
			Long: `把 Operator 各类型的对象、管控下工作负载的元数据、Event、版本和 doctor 的输出收集到一个 zip 文件；加 --logs 还有 Operator 的日志。
其中没有 Secret、ConfigMap、工作负载的 Pod 模板和环境变量的值；像是登录信息的文本会被遮盖。
工作负载和用户的名字仍在其中：转交之前请先查看。权限不足时收集能读取的部分，并列出缺少什么。
加 -n 则只涉及那个命名空间和 Operator 的命名空间。-f - 写到标准输出。`,
			Flags: map[string]string{
				"filename": "要写入的文件，- 表示标准输出；默认是 altershield-report-<time>.zip。",
				"logs":     "加上 Operator 的日志。",
			},
		},
		"version": {
			Short: "打印插件和 Operator 的版本",
			Long: `打印插件的版本，以及由 Deployment 的镜像得知的 Operator 的版本；后者需要在其命名空间列出 deployments 的权限。
相差超过一个次版本时可能不匹配：会有一行警告。`,
			Flags: map[string]string{"client": "只打印插件的版本，不访问集群。"},
		},
		"completion": {
			Short: "打印用于补全命令、参数和名字的脚本",
			Long: `打印用于补全命令、参数和工作负载名字的脚本。
kubectl 用 PATH 中名为 kubectl_complete-altershield 的程序补全“kubectl altershield”的参数；“kubectl”打印它。`,
		},
		"replay": {
			Short: "显示一个策略对过去的发布会怎么说",
			Long: `对过去的一次发布，把 VerificationPolicy 中查看指标的检查逐次重做一遍，代码与 Operator 相同，数据来自指标源中的存量。只读取，不改变任何东西。
不加 --release 时是当前发布；加 --from、--to 和 --new-pods 则是任意一段过去，如同名字匹配的 Pod 在那时发布。
需要读取 VerificationSource 及其 Secret（如果有）的权限，或者 --source-url。有检查会判为不通过时，退出码为 4。`,
			Flags: map[string]string{
				"policy": "VerificationPolicy 所在的文件。", "release": "发布的序号；默认是当前发布。",
				"from": "没有记录的发布开始的时间，例如 2026-01-31T10:00:00Z。", "to": "观察到何时。", "new-pods": "其 Pod 名字的正则表达式。",
				"source-url": "要询问的 Prometheus 的地址，不带凭据，代替 VerificationSource。",
				"pod-label":  "Pod 名字所在的标签，用于 --source-url。", "namespace-label": "Pod 命名空间所在的标签，用于 --source-url。",
			},
		},
		"kind": {
			Short: "为声明的种类编写并试验 ControlledKind，不需要集群",
			Long:  "从 CRD 推断 ControlledKind，并用文件试验它。不需要集群。",
		},
		"kind infer": {
			Short: "打印一个 CRD 所提示的 ControlledKind",
			Long: `打印一个 CustomResourceDefinition 所提示的 ControlledKind，以及 Operator 所需的 ClusterRole。没有找到的写成注释，其余由您声明。
不需要集群。`,
			Flags: map[string]string{"version": "CRD 的版本；默认是最新的。"},
		},
		"kind test": {
			Short: "显示一个请求在某个 ControlledKind 下会有什么作用",
			Long: `显示创建（-f）、更新（-f 和 --old）或删除（--old）一个对象在某个 ControlledKind 下的作用：是不是发布、涉及哪些 Pod、
怎样停住、健康状况，以及哪些规则会拦截它。会被拦截时，退出码为 4。不加 --crd 时，不按结构检查 ControlledKind 的路径。不需要集群。`,
			Flags: map[string]string{
				"kind": "ControlledKind 所在的文件。", "crd": "CustomResourceDefinition 所在的文件。", "filename": "请求之后的对象所在的文件，- 表示标准输入。",
				"old": "请求之前的对象所在的文件。",
			},
		},
		"help": {Short: "显示一个命令的帮助", Long: "显示一个命令的帮助。"},
	}
}
