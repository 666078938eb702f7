// The four keys of DORA, from the newest record of each release: the same definitions as the operator's metrics (docs/records.md). A verdict
// that was withdrawn is in an older record, so its recovery isn't counted here.

import { groupOf, kindOf } from "./kinds";
import { midnight } from "./time";
import type { Outcome, Recorded } from "./types";

export const week = 7 * 24 * 3_600_000;
export const weeks = 13;

// since returns when the weeks before an end begin, at midnight.
export function since(end: number): number {
  return midnight(end, -7 * weeks);
}

// weeksOf returns over how many weeks the releases before an end are counted: those since the first record, as there may be none of before, and at
// least one.
export function weeksOf(items: Recorded[], end: number): number {
  // No arguments for Math.min: there may be more records than a call takes.
  const first = items.reduce((earliest, item) => Math.min(earliest, Date.parse(item.startedAt)), end);
  return Math.min(weeks, Math.max(1, (end - Math.max(since(end), first)) / week));
}

// before is how much earlier releases are read than they are counted: what ends a failure, or has the commit time of the release before, is known
// by the release before.
export const before = week;

export interface Keys {
  // deployments are the verified releases that are neither a repair nor a rollback.
  deployments: number; verified: number; bad: number; reworked: number; decided: number; superseded: number; unchecked: number;
  recoveries: number[]; leads: number[];
  // delivered counts the verified releases that could have a commit time.
  delivered: number;
}

interface Fact {
  namespace: string; at: number; outcome: Outcome; type: Recorded["type"]; recovery?: number; lead?: number;
}

// factsOf returns what each release adds. The releases of a workload are compared with the ones before.
export function factsOf(items: Recorded[]): Fact[] {
  const byWorkload = new Map<string, Recorded[]>();
  for (const item of items) {
    const of = item.workload;
    const key = [item.namespace, kindOf(of.kind, groupOf(of.apiVersion)), of.name, of.uid].join("/");
    const releases = byWorkload.get(key);
    if (releases) {
      releases.push(item);
    } else {
      byWorkload.set(key, [item]);
    }
  }
  const facts: Fact[] = [];
  for (const releases of byWorkload.values()) {
    releases.sort((a, b) => Date.parse(a.startedAt) - Date.parse(b.startedAt) || a.release - b.release);
    releases.forEach((item, index) => facts.push(factOf(item, releases[index - 1])));
  }
  return facts;
}

export function isBad(outcome: Outcome): boolean {
  return outcome === "Failed" || outcome === "RolledBack";
}

// outcomeOf returns how a release ended in the end: one that a rollback left after its verification didn't hold.
export function outcomeOf(item: Recorded): Outcome {
  return item.outcome === "Verified" && (item.rolledBackBy ?? 0) > 0 ? "RolledBack" : item.outcome;
}

function factOf(item: Recorded, previous: Recorded | undefined): Fact {
  const fact: Fact = { namespace: item.namespace, at: Date.parse(item.startedAt), outcome: outcomeOf(item), type: item.type };
  if (item.outcome !== "Verified") {
    return fact;
  }
  const ended = Date.parse(item.endedAt);
  const failing = previous && (previous.failingSince ?? (isBad(previous.outcome) ? previous.endedAt : undefined));
  const since = Date.parse(failing ?? item.rollback?.time ?? "");
  if (!Number.isNaN(since)) {
    fact.recovery = Math.max(0, ended - since) / 1000;
  }
  const commit = Date.parse(item.commitTime ?? "");
  if (item.type !== "Rollback" && commit <= ended && item.commitTime !== previous?.commitTime) {
    fact.lead = (ended - commit) / 1000;
  }
  return fact;
}

export function keysOf(facts: Fact[]): Keys {
  const keys: Keys = { deployments: 0, verified: 0, bad: 0, reworked: 0, decided: 0, superseded: 0, unchecked: 0, recoveries: [], leads: [], delivered: 0 };
  for (const fact of facts) {
    if (fact.recovery !== undefined) {
      keys.recoveries.push(fact.recovery);
    }
    if (fact.lead !== undefined) {
      keys.leads.push(fact.lead);
    }
    if (fact.outcome === "Superseded" || fact.outcome === "Unchecked") {
      keys[fact.outcome === "Superseded" ? "superseded" : "unchecked"]++;
      continue;
    }
    keys.decided++;
    keys.reworked += fact.type === "Release" ? 0 : 1;
    if (fact.type === "Rollback") {
      continue;
    }
    if (isBad(fact.outcome)) {
      keys.bad++;
      continue;
    }
    keys.verified++;
    keys.delivered++;
    keys.deployments += fact.type === "Release" ? 1 : 0;
  }
  return keys;
}

// failRate is the share of bad releases; undefined without any that was decided.
export function failRate(keys: Keys): number | undefined {
  return keys.verified + keys.bad === 0 ? undefined : keys.bad / (keys.verified + keys.bad);
}

export function median(values: number[]): number | undefined {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
}

// byWeek returns the keys of each week, oldest first.
export function byWeek(facts: Fact[], end: number): { from: number; keys: Keys }[] {
  return Array.from({ length: weeks }, (_, index) => {
    const [from, to] = [midnight(end, -7 * (weeks - index)), midnight(end, -7 * (weeks - index - 1))];
    return { from, keys: keysOf(facts.filter((fact) => fact.at >= from && fact.at < to)) };
  });
}

// csv returns lines for a spreadsheet. A text that it would take for a formula is quoted with an apostrophe.
export function csv(rows: (string | number)[][]): string {
  const field = (value: string | number) => {
    const text = typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? "'" + value : String(value);
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return rows.map((row) => row.map(field).join(",")).join("\r\n") + "\r\n";
}
