// The sentences of the page in English. zh.ts has the same keys, or doesn't compile.

import type { State } from "../types";

const states: Record<State, string> = {
  Pending: "the operator has not looked at the release yet", Running: "pods are awaited or checked", Waiting: "the release waits",
  Success: "every desired pod passed", Suspend: "a pod failed: further releases are rejected", RolledBack: "the workload went back from the release",
  Superseded: "another release began before this one was verified", Failed: "there is nothing to check any more", NotChecked: "the release is not checked",
};

export const en = {
  states, notSuspended: "a pod failed; the workload is not suspended",
  title: "AlterShield", skip: "Skip to the content", menu: "Views", loading: "Loading…", retry: "Try again", empty: "Nothing here.",
  cluster: "cluster", namespace: "Namespace", allNamespaces: "all", search: "Search", searchHint: "name, author, reason", language: "Language",
  theme: { auto: "Theme: as the system", light: "Theme: light", dark: "Theme: dark" },
  readOnly: "read-only", copy: "Copy as kubectl", copyLine: "Copy", copied: "Copied", copyFailed: "Select the line and copy it",
  showAll: "show all", more: (count: number) => `${count} more`,
  nav: { first: "Overview", calendar: "Calendar", dora: "Delivery", settings: "Settings", doctor: "Doctor" },
  unknown: "There is no such view.", back: "Back to the overview", notFound: "There is no record of this workload yet.",

  noKey: "This page needs the key of a running plugin. Run kubectl altershield dashboard and open the address that it prints.",
  spent: "This address was opened already: it is good once. Open the one that kubectl altershield dashboard printed. If it wasn't you that opened it, end kubectl altershield dashboard with Ctrl-C, and start it with --open=false.",
  expired: "This address was good for a minute. Open the one that kubectl altershield dashboard printed.",
  refused: (why: string) => `The plugin refuses the live list: ${why}`,
  stale: (at: string) => `Live data stopped: stale since ${at}.`, staleNever: "No connection to the plugin.", retryIn: (time: string) => `Next attempt in ${time}.`, retryNow: "Connect now",
  failed: (what: string) => `${what} can't be shown.`, live: "live",
  announce: (workload: string, release: number, state: string) => `${workload}, release ${release}: ${state}`,

  lack: (verb: string, resource: string, where: string) => `You may not ${verb} ${resource}${where}: `,
  lackIn: (namespace: string) => ` in namespace ${namespace}`, lackAll: " in all namespaces",

  needs: "Needs somebody", running: "Running", day: "Last 24 hours", others: "Everything else", nobody: "Nothing needs anybody.", noneRunning: "No release is running.",
  noReleases: "No release began and ended in the last 24 hours.", noMatch: "No workload matches.",
  suspendedCount: (n: number) => `${n} suspended`, failedCount: (n: number) => `${n} failed`, waitingCount: (n: number) => `${n} waiting`,
  uncheckedCount: (n: number) => `${n} not checked`, frozenUntil: (name: string, at: string) => `freeze ${name} until ${at}`,
  workload: "Workload", state: "State", release: "Release", why: "Why", pods: "Pods", since: "Since", by: "By", progress: "Progress",
  releaseNumber: (n: number) => `release ${n}`, step: (text: string) => `step ${text}`,
  of: (n: number) => `of ${n}`, passed: "passed", failedPods: "failed", checking: "checking", waiting: "waiting", left: "to come", unchecked: "not checked",
  ago: (time: string) => time, verdictDue: (time: string) => `verdict due in ${time}`, overdue: "verdict is overdue",
  median: "median", releases: "Releases", hours: "24 hours, newest right",
  dayLabel: (n: number, bad: number) => `${n} ${n === 1 ? "release" : "releases"}, ${bad} failed or rolled back`, showMore: (n: number) => `Show ${n} more`,

  from: (version: string) => `from ${version}`, forTime: (time: string) => `for ${time}`, timeline: "Time line", recorded: "recorded", began: "began", ended: "since",
  batches: (numbers: string) => `batches ${numbers}`, batch: "Batch", node: "Node", zone: "Zone", group: "Pods by", noNode: "no node", noZone: "no zone", noBatch: "not in a batch",
  podsHelp: "Use the arrow keys to go from pod to pod.", verdicts: "Verdicts", outcome: "Outcome", stage: "Stage", reason: "Reason", message: "Message", durations: "PRE, POST",
  due: "Due", checks: "Checks of policies", policy: "Policy", check: "Check", mode: "Mode", verdict: "Verdict", changes: "Changes", history: "History", version: "Version", when: "When",
  took: "Took", what: "What", kept: "kept", current: "current", repair: "repair", observed: "observed only", rollbackOf: (n: number) => `rollback of release ${n}`,
  refusedUntil: (at: string) => `refused until ${at}`, events: "Events", time: "Time", object: "Object", count: "Count", policies: "Policies and freezes", does: "Does", because: "Because",
  next: "What can be done", may: "you may", mayNot: (right: string) => `you may not: needs ${right}`, mayUnknown: "",
  ways: { repair: "Repair: release a correction", rollback: "Roll back", withdraw: "Withdraw a wrong verdict", park: "Park: the pods come back as before", approve: "Approve the next step, as another user than the author", resume: "Resume", breakglass: "Break the glass in an emergency" }, toRelease: (n: number) => `to release ${n}`, failures: "Failed pods", pod: "Pod",
  notRunning: "Pods that don't run", notCreated: "pods can't be created:", rollsBack: (at: string) => `the operator rolls back by ${at} if they don't run`,
  parks: (freeze: string) => `a further release would be parked by ChangeFreeze ${freeze}`, denies: (freeze: string) => `a further release would be denied by ChangeFreeze ${freeze}`, untilTime: (at: string) => ` until ${at}`, said: "reason:",
  replicas: (wanted: number, ready: number, updated: number) => `${wanted} wanted · ${ready} ready · ${updated} new`, atStep: (n: number) => `${n} wait at the step`, suspended: "suspended: further releases are denied", held: "rollout held by the operator", paused: "rollout paused by a user",
  noChanges: "No change of the content is known.", noEvents: "No Events; they are kept for an hour only.", noPolicies: "No policies and no freezes concern it.", noVerdicts: "No batch yet.", noPods: "No pod of the release is known yet.",
  compare: "Compare", compareWith: (from: string, to: string) => `Compare ${from} with ${to}`, left1: "from", right1: "to", same: "No differences.", hidden: "Values that may be secret are not shown.",

  calendar: "Calendar", freezesNow: "Freezes", noFreezes: "There are no freezes.", active: "active", inactive: "not active", until: "Until", nextTime: "Next", parked: "Parked", action: "Action", name: "Name", lockKind: "lock", calendarKind: "calendar",
  twoWeeks: "One week back, one week ahead", today: "now", act: "Act",

  dora: "Delivery", doraHint: "The four keys from the records of releases, over 13 weeks, or since the first record. Failures are those that checks saw: compare the figures with themselves only.",
  frequency: "Deployment frequency", perWeek: "per week", failRate: "Change fail rate", recoveryTime: "Recovery time", leadTime: "Change lead time", week: (at: string) => `week of ${at}`,
  leftOut: (superseded: number, unchecked: number) => `Left out: ${superseded} superseded, ${unchecked} not checked.`, withoutLead: (share: string) => `${share} of verified releases have no commit time.`,
  byNamespace: "By namespace", none: "–", csv: "Download as CSV", verified: "Verified", rework: "Rework",

  settings: "Settings", setting: "Setting", value: "Value", on: "on", off: "off", byDefault: "default", problem: "Problem", remark: "Remark",
  doctor: "Doctor", problems: (n: number) => (n === 0 ? "No problems." : `Problems: ${n}.`), topic: "Topic", finding: "Finding", help: "What helps", examining: "Examining the installation…",
  results: { OK: "fine", Note: "note", Problem: "problem", Unknown: "unknown" } as Record<string, string>,

  verbs: {
    rollback: "Roll back…", "go-on": "Go on…", approve: "Approve…", deny: "Deny…", hold: "Pause…", resume: "Resume…", verdict: "Correct a verdict…", "break-glass": "Break glass…",
    "freeze-lock": "Freeze releases…", "freeze-unlock": "End the lock…",
  } as Record<string, string>,
  asks: {
    rollback: "Go back to a verified version", "go-on": "Let the release go on", approve: "Approve the release", deny: "Deny the release", hold: "Pause the rollout", resume: "Let the rollout go on",
    verdict: "Correct the verdict of a batch", "break-glass": "Let the next release pass what would stop it", "freeze-lock": "Freeze releases from now on", "freeze-unlock": "End the lock",
  } as Record<string, string>,
  fields: { to: "Release to go back to", step: "Step", changePod: "Batch", pod: "Pod, or all", verdict: "Verdict", lock: "Name of the lock", for: "For how long", override: "What may be passed", reason: "Reason" } as Record<string, string>,
  choices: { "": "default", "pod=": "all of the batch", all: "all", pass: "pass", fail: "fail" } as Record<string, string>,
  required: "required", preview: "Check", confirm: "Do it", cancel: "Cancel", close: "Close", edit: "Change", working: "Asking the API server…", actFailed: "This failed:", wouldChange: "This would change", moved: (at: number, shown: number) => `The workload is at release ${at} by now, not at release ${shown}.`,
  isChanged: "Done", warnings: "Warnings", asCommand: "The same with kubectl",
};
