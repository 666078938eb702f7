// The acting verbs: when they make sense for a release, and what they ask for.

import type { PodList, Release, Status } from "./types";

export type Fields = Record<string, string>;

// A Field is one of a text, or of choices, which may depend on other fields.
export interface Field { name: string; choices?: string[] | ((fields: Fields) => string[]); required?: boolean; first?: string }

export interface Verb { name: string; fields: Field[]; reason: "none" | "optional" | "required"; grave?: boolean }

const hours = ["30m", "1h", "4h", "24h"];

export function lockVerb(): Verb {
  return { name: "freeze-lock", reason: "required", fields: [{ name: "lock", required: true }, { name: "for", choices: hours, first: "1h" }] };
}

export function unlockVerb(lock: string): Verb {
  return { name: "freeze-unlock", reason: "none", fields: [{ name: "lock", choices: [lock], first: lock }] };
}

export function choicesOf(field: Field, fields: Fields): string[] | undefined {
  return typeof field.choices === "function" ? field.choices(fields) : field.choices;
}

// changedFields returns the fields after one was changed. Those that can't be as they were begin anew.
export function changedFields(verb: Verb, fields: Fields, name: string, value: string): Fields {
  const changed = { ...fields, [name]: value };
  for (const field of verb.fields) {
    if (choicesOf(field, changed)?.includes(changed[field.name] ?? "") === false) {
      changed[field.name] = field.first ?? "";
    }
  }
  return changed;
}

// verbsOf returns the verbs for a release, in the order of their buttons.
export function verbsOf(release: Release, status: Status | undefined, pods: PodList | undefined): Verb[] {
  const verbs: Verb[] = [];
  const workload = status?.workload;
  const isOpen = ["Running", "Pending", "Waiting"].includes(release.state);
  // Those that the operator goes back to: what is refused, or was left after its verification, is kept as well.
  const targets = (status?.earlier ?? []).filter((earlier, index, all) => earlier.target && all.findIndex((other) => other.target && other.version === earlier.version) === index);
  if (release.step && isOpen) {
    verbs.push({ name: "approve", reason: "optional", fields: [] }, { name: "deny", reason: "optional", fields: [] });
    verbs.push({ name: "go-on", reason: "optional", grave: true, fields: [{ name: "step", choices: ["", "all"], first: "" }] });
  }
  if (targets.length > 0) {
    verbs.push({ name: "rollback", reason: "optional", grave: true, fields: [{ name: "to", choices: targets.map((earlier) => String(earlier.release)), first: String(targets[0]?.release) }] });
  }
  const failed = (pods?.items ?? []).filter((pod) => pod.state === "failed" && pod.changePod);
  if (failed.length > 0) {
    const batches = [...new Set(failed.map((pod) => pod.changePod ?? ""))];
    verbs.push({ name: "verdict", reason: "required", grave: true, fields: [
      { name: "changePod", choices: batches, first: batches[0] },
      { name: "pod", choices: ({ changePod }) => ["", ...failed.filter((pod) => pod.changePod === changePod).map((pod) => pod.name)], first: "" },
      { name: "verdict", choices: ["pass", "fail"], first: "pass" },
    ] });
  }
  if (workload?.pausedByUser) {
    verbs.push({ name: "resume", reason: "optional", fields: [] });
  } else if (isOpen && workload?.known && !workload.held) {
    verbs.push({ name: "hold", reason: "optional", fields: [] });
  }
  if (["Suspend", "Waiting"].includes(release.state)) {
    const first = release.state === "Suspend" ? "Suspension" : "Freeze";
    verbs.push({ name: "break-glass", reason: "required", grave: true, fields: [
      { name: "override", choices: ["Freeze", "Suspension", "Approval", "Pace"], first }, { name: "for", choices: hours, first: "1h" },
    ] });
  }
  verbs.push(lockVerb());
  return verbs;
}
