// 页面的中文文案；键与 en.ts 相同，缺少时无法编译。

import type { Dictionary } from "./index";

export const zh: Dictionary = {
  states: {
    Pending: "Operator 尚未处理这次发布", Running: "正在等待或检测 Pod", Waiting: "发布在等待",
    Success: "期望的 Pod 全部通过", Suspend: "有 Pod 未通过：后续发布会被拦截", RolledBack: "工作负载已从这次发布回滚",
    Superseded: "验证完成前已有另一次发布", Failed: "已没有可检测的内容", NotChecked: "这次发布不检测",
  },
  notSuspended: "有 Pod 未通过；工作负载未被暂停",
  title: "AlterShield", skip: "跳到正文", menu: "视图", loading: "加载中…", retry: "重试", empty: "没有内容。",
  cluster: "集群", namespace: "命名空间", allNamespaces: "全部", search: "搜索", searchHint: "名称、发布者、原因", language: "语言",
  theme: { auto: "主题：跟随系统", light: "主题：浅色", dark: "主题：深色" },
  readOnly: "只读", copy: "复制为 kubectl", copyLine: "复制", copied: "已复制", copyFailed: "请选中该行后复制",
  showAll: "显示全部", more: (count) => `另有 ${count} 项`,
  nav: { first: "概览", calendar: "日历", dora: "交付", settings: "配置", doctor: "诊断" },
  unknown: "没有这个视图。", back: "回到概览", notFound: "这个工作负载尚无发布记录。",

  noKey: "此页面需要运行中的插件的密钥。请运行 kubectl altershield dashboard 并打开它打印的地址。",
  spent: "这个地址只能打开一次，而且已被打开过。请打开 kubectl altershield dashboard 打印的地址。如果打开它的不是您，请按 Ctrl-C 结束 kubectl altershield dashboard，并加 --open=false 重新启动。",
  expired: "这个地址只在一分钟内有效。请打开 kubectl altershield dashboard 打印的地址。",
  refused: (why) => `插件拒绝了实时列表：${why}`,
  stale: (at) => `实时数据已中断：数据截至 ${at}。`, staleNever: "无法连接插件。", retryIn: (time) => `${time} 后重试。`, retryNow: "立即连接",
  failed: (what) => `无法显示${what}。`, live: "实时",
  announce: (workload, release, state) => `${workload}，发布 ${release}：${state}`,

  lack: (verb, resource, where) => `您无权 ${verb} ${resource}${where}：`,
  lackIn: (namespace) => `（命名空间 ${namespace}）`, lackAll: "（所有命名空间）",

  needs: "需要处理", running: "进行中", day: "最近 24 小时", others: "其他", nobody: "没有需要处理的发布。", noneRunning: "没有进行中的发布。",
  noReleases: "最近 24 小时没有开始并结束的发布。", noMatch: "没有匹配的工作负载。",
  suspendedCount: (n) => `${n} 个已暂停`, failedCount: (n) => `${n} 个失败`, waitingCount: (n) => `${n} 个等待中`,
  uncheckedCount: (n) => `${n} 个未检测`, frozenUntil: (name, at) => `冻结 ${name} 至 ${at}`,
  workload: "工作负载", state: "状态", release: "发布", why: "原因", pods: "Pod", since: "时长", by: "发布者", progress: "进度",
  releaseNumber: (n) => `发布 ${n}`, step: (text) => `步骤 ${text}`,
  of: (n) => `共 ${n}`, passed: "通过", failedPods: "未通过", checking: "检测中", waiting: "等待", left: "未替换", unchecked: "未检测",
  ago: (time) => time, verdictDue: (time) => `结论应在 ${time}内给出`, overdue: "结论已逾期",
  median: "中位数", releases: "发布", hours: "24 小时，最新的在右侧",
  dayLabel: (n, bad) => `${n} 次发布，${bad} 次失败或回滚`, showMore: (n) => `再显示 ${n} 个`,

  from: (version) => `原版本 ${version}`, forTime: (time) => `已 ${time}`, timeline: "时间线", recorded: "已记录", began: "开始", ended: "始于",
  batches: (numbers) => `批次 ${numbers}`, batch: "批次", node: "节点", zone: "可用区", group: "Pod 分组", noNode: "无节点", noZone: "无可用区", noBatch: "不在批次中",
  podsHelp: "用方向键逐个查看 Pod。", verdicts: "结论", outcome: "结果", stage: "阶段", reason: "理由", message: "说明", durations: "PRE、POST",
  due: "应在", checks: "策略检查", policy: "策略", check: "检查", mode: "模式", verdict: "结论", changes: "变更", history: "历史", version: "版本", when: "时间",
  took: "用时", what: "内容", kept: "已保留", current: "当前", repair: "修复发布", observed: "仅观察", rollbackOf: (n) => `发布 ${n} 的回滚`,
  refusedUntil: (at) => `隔离至 ${at}`, events: "Event", time: "时间", object: "对象", count: "次数", policies: "策略与冻结", does: "作用", because: "依据",
  next: "可以做什么", may: "您有权限", mayNot: (right) => `您无权限：需要 ${right}`, mayUnknown: "",
  ways: { repair: "修复：发布更正", rollback: "回滚", withdraw: "撤回错误的结论", park: "停放：Pod 恢复原样", approve: "由发布者以外的用户批准下一步", resume: "恢复", breakglass: "紧急情况下用 BreakGlass 放行" }, toRelease: (n) => `到发布 ${n}`, failures: "未通过的 Pod", pod: "Pod",
  notRunning: "未运行的 Pod", notCreated: "无法创建 Pod：", rollsBack: (at) => `如果仍不运行，Operator 最迟于 ${at} 回滚`,
  parks: (freeze) => `后续发布会被 ChangeFreeze ${freeze} 扣住`, denies: (freeze) => `后续发布会被 ChangeFreeze ${freeze} 拦截`, untilTime: (at) => ` 直到 ${at}`, said: "理由：",
  replicas: (wanted, ready, updated) => `期望 ${wanted} · 就绪 ${ready} · 新 ${updated}`, atStep: (n) => `${n} 在步骤处等待`, suspended: "已暂停：后续发布会被拦截", held: "滚动已被 Operator 停住", paused: "用户已暂停滚动",
  noChanges: "没有已知的内容变更。", noEvents: "没有 Event；Event 只保留一小时。", noPolicies: "没有相关的策略或冻结。", noVerdicts: "尚无批次。", noPods: "尚无这次发布的 Pod。",
  compare: "比较", compareWith: (from, to) => `比较 ${from} 与 ${to}`, left1: "从", right1: "到", same: "没有差异。", hidden: "可能是机密的值不显示。",

  calendar: "日历", freezesNow: "冻结", noFreezes: "没有冻结。", active: "生效中", inactive: "未生效", until: "截止", nextTime: "下一次", parked: "扣住", action: "动作", name: "名称", lockKind: "锁", calendarKind: "日历",
  twoWeeks: "前一周与后一周", today: "现在", act: "操作",

  dora: "交付", doraHint: "依据发布记录计算的四项指标，共 13 周，或自第一条记录起。失败只指检测发现的失败：这些数字只宜与自身比较。",
  frequency: "部署频率", perWeek: "每周", failRate: "变更失败率", recoveryTime: "恢复时长", leadTime: "变更前置时间", week: (at) => `${at} 起的一周`,
  leftOut: (superseded, unchecked) => `未计入：${superseded} 次被取代，${unchecked} 次未检测。`, withoutLead: (share) => `${share} 的已验证发布没有提交时间。`,
  byNamespace: "按命名空间", none: "–", csv: "下载 CSV", verified: "已验证", rework: "返工",

  settings: "配置", setting: "配置项", value: "值", on: "开", off: "关", byDefault: "默认", problem: "问题", remark: "备注",
  doctor: "诊断", problems: (n) => (n === 0 ? "没有问题。" : `问题：${n} 个。`), topic: "主题", finding: "发现", help: "如何处理", examining: "正在检查安装…",
  results: { OK: "正常", Note: "提示", Problem: "问题", Unknown: "未知" },

  verbs: {
    rollback: "回滚…", "go-on": "继续…", approve: "批准…", deny: "否决…", hold: "暂停…", resume: "恢复…", verdict: "更正结论…", "break-glass": "紧急放行…",
    "freeze-lock": "冻结发布…", "freeze-unlock": "结束冻结…",
  },
  asks: {
    rollback: "回到已验证的版本", "go-on": "让发布继续", approve: "批准这次发布", deny: "否决这次发布", hold: "暂停滚动", resume: "让滚动继续",
    verdict: "更正一个批次的结论", "break-glass": "让下一次发布越过阻拦", "freeze-lock": "从现在起冻结发布", "freeze-unlock": "结束冻结",
  },
  fields: { to: "回到哪次发布", step: "步骤", changePod: "批次", pod: "Pod，或全部", verdict: "结论", lock: "冻结的名称", for: "时长", override: "可以越过什么", reason: "理由" },
  choices: { "": "默认", "pod=": "批次的全部 Pod", all: "全部", pass: "pass（通过）", fail: "fail（未通过）" },
  required: "必填", preview: "检查", confirm: "执行", cancel: "取消", close: "关闭", edit: "修改", working: "正在询问 API Server…", actFailed: "操作失败：", wouldChange: "将会改变", moved: (at, shown) => `工作负载现在是发布 ${at}，不再是发布 ${shown}。`,
  isChanged: "已完成", warnings: "警告", asCommand: "等价的 kubectl 命令",
};
