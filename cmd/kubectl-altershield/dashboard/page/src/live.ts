// The live list: one stream of lines for the page. After a cut it connects again, at first after a second, later after half a minute.

import { batch, computed, signal } from "@preact/signals";
import { open, Refusal } from "./api";
import { isBuiltIn, kindOf, referenceOf, wordOf } from "./kinds";
import type { Reference } from "./route";
import type { Line, Note, Release } from "./types";

export interface Connection {
  state: "connecting" | "live" | "stale" | "refused";
  // since is when the last line came, retry when the page connects again.
  since?: number; retry?: number; why?: string; reason?: string;
}

export const connection = signal<Connection>({ state: "connecting" });
export const byWorkload = signal<ReadonlyMap<string, Release>>(new Map());
// isListed tells whether a list has come at all: without one, nothing is known, which is not the same as nothing to do.
export const isListed = signal(false);
export const listNotes = signal<Note[]>([]);
// changed is a change of state to announce.
export const changed = signal<Release | undefined>(undefined);

// now is the time by the plugin's clock, which the times of releases are compared with; it moves every five seconds.
const skew = signal(0);
// ticked is the time by the clock of this machine.
export const ticked = signal(Date.now());
export const now = computed(() => ticked.value + skew.value);
setInterval(() => { if (!document.hidden) ticked.value = Date.now(); }, 5_000);

// fiveMinutes changes every five minutes: what isn't in the stream is read again then.
export function fiveMinutes(): number {
  return Math.ceil(now.value / 300_000);
}

const firstWait = 1_000;
const longestWait = 30_000;
// Beats come every 15 s, once the plugin has the first list, for which it has a time of its own.
const silence = 40_000;

export function keyOf(of: Reference): string {
  return [of.namespace, of.kind, of.name].join("/");
}

const kinds = computed(() => new Set([...byWorkload.value.values()].map((release) => referenceOf(release).kind)));

// hasNamesake reports whether there is another kind of the same name.
export function hasNamesake(kind: string): boolean {
  return isBuiltIn(wordOf(kind)) || [...kinds.value].some((other) => other !== kind && wordOf(other) === wordOf(kind));
}

let hurry: (() => void) | undefined;

// reconnect ends the pause before the next attempt.
export function reconnect(): void {
  hurry?.();
}

// hiddenFor is how long a tab may be hidden until it leaves its stream. A browser opens six connections to the plugin for all tabs, and the plugin
// ends when nobody has looked for an hour.
const hiddenFor = 60_000;

function visible(): Promise<void> {
  return new Promise((resolve) => {
    const look = () => {
      if (!document.hidden) {
        document.removeEventListener("visibilitychange", look);
        resolve();
      }
    };
    document.addEventListener("visibilitychange", look);
    look();
  });
}

// listen connects for as long as the page is open and seen. namespace gives the one to list, once the plugin answers.
export async function listen(namespace: () => Promise<string>): Promise<void> {
  let wait = firstWait;
  for (;;) {
    await visible();
    const failure = await namespace().then((of) => once(of, () => { wait = firstWait; }), (reason: unknown) => reason);
    if (failure instanceof Refusal && (failure.status === 401 || failure.status === 403)) {
      connection.value = { ...connection.peek(), state: "refused", why: failure.message, reason: failure.reason };
      if (failure.reason !== "Forbidden") {
        return;
      }
      await pause(longestWait); // the user lacks a right for this list alone, and may get it
      continue;
    }
    if (document.hidden) {
      connection.value = { ...connection.peek(), state: "stale", retry: undefined, why: undefined };
      continue; // at once when it is seen again
    }
    const why = failure instanceof Error ? failure.message : undefined;
    connection.value = { ...connection.peek(), state: "stale", retry: Date.now() + wait, why };
    await pause(wait);
    wait = Math.min(wait * 2, longestWait);
  }
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    hurry = () => { clearTimeout(timer); resolve(); };
  });
}

// once reads one stream to its end, and returns why it ended.
async function once(namespace: string, good: () => void): Promise<unknown> {
  const abort = new AbortController();
  let watchdog: ReturnType<typeof setTimeout> | undefined;
  const watch = () => {
    clearTimeout(watchdog);
    watchdog = setTimeout(() => abort.abort(), silence);
  };
  let leaving: ReturnType<typeof setTimeout> | undefined;
  const leave = () => {
    clearTimeout(leaving);
    leaving = document.hidden ? setTimeout(() => abort.abort(), hiddenFor) : undefined;
  };
  document.addEventListener("visibilitychange", leave);
  leave();
  try {
    const answer = await open("stream", { namespace }, { signal: abort.signal });
    watch();
    const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) {
        return undefined;
      }
      watch();
      const lines = (rest + value).split("\n");
      rest = lines.pop() ?? "";
      if (!take(lines)) {
        return undefined;
      }
      if (lines.length > 0) {
        good();
      }
    }
  } catch (failure) {
    return failure;
  } finally {
    clearTimeout(watchdog);
    clearTimeout(leaving);
    document.removeEventListener("visibilitychange", leave);
    abort.abort();
  }
}

// take applies lines. It returns false if the plugin asks the page to connect again.
function take(lines: string[]): boolean {
  let goesOn = true;
  batch(() => {
    const next = new Map(byWorkload.peek());
    let touched = false;
    for (const text of lines) {
      const line = text.trim() === "" ? undefined : (JSON.parse(text) as Line);
      if (line === undefined) {
        continue;
      }
      if (line.type === "resync") {
        goesOn = false;
      } else if (line.type === "stale") {
        connection.value = { ...connection.peek(), state: "stale", retry: undefined, why: line.error };
      } else {
        touched = apply(line, next) || touched;
        connection.value = { state: "live", since: Date.now() };
      }
    }
    if (touched) {
      byWorkload.value = next;
    }
  });
  return goesOn;
}

function apply(line: Line, next: Map<string, Release>): boolean {
  switch (line.type) {
    case "snapshot":
      next.clear();
      for (const release of line.list.items ?? []) {
        next.set(keyOf(referenceOf(release)), release);
      }
      listNotes.value = line.list.notes ?? [];
      isListed.value = true;
      setClock(line.now);
      return true;
    case "release": {
      const key = keyOf(referenceOf(line.release));
      const before = next.get(key);
      if (before?.state !== line.release.state || before.release !== line.release.release) {
        changed.value = line.release;
      }
      next.set(key, line.release);
      return true;
    }
    case "gone":
      return next.delete(keyOf({ namespace: line.namespace, kind: kindOf(line.kind, line.group), name: line.workload }));
    case "beat":
      setClock(line.now);
  }
  return false;
}

function setClock(at: string): void {
  ticked.value = Date.now();
  skew.value = Date.parse(at) - ticked.value || 0;
}
