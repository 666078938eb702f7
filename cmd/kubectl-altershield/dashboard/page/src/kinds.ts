// Kinds by their names and API groups: KIND.GROUP as kubectl takes it, or a built-in kind alone.

import type { Reference } from "./route";
import type { Release } from "./types";

const builtIn: Record<string, string> = { Deployment: "apps", StatefulSet: "apps", DaemonSet: "apps", CronJob: "batch", Job: "batch" };

export function kindOf(kind: string, group = ""): string {
  return group === "" || builtIn[kind] === group ? kind : kind + "." + group;
}

// groupOf returns the group of an API version.
export function groupOf(apiVersion = ""): string {
  return apiVersion.slice(0, Math.max(0, apiVersion.indexOf("/")));
}

export function wordOf(kind: string): string {
  return kind.split(".", 1)[0] ?? "";
}

export function isBuiltIn(kind: string): boolean {
  return Object.hasOwn(builtIn, kind);
}

export function referenceOf(release: Release): Reference {
  return { namespace: release.namespace, kind: kindOf(release.kind, groupOf(release.workloadAPIVersion)), name: release.workload };
}
