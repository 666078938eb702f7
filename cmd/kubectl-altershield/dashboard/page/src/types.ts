// The JSON contract of the plugin, cli.altershield/v1 (package view), as far as the page shows it.

export type State = "Pending" | "Running" | "Waiting" | "Success" | "Suspend" | "RolledBack" | "Superseded" | "Failed" | "NotChecked";

export interface Pods { desired: number; waiting: number; checking: number; passed: number; failed: number }

export interface Release {
  namespace: string; kind: string; workloadAPIVersion?: string; workload: string; changeWorkload: string;
  release: number; version: string; state: State; reason?: string; why?: string; by?: string; releaseReason?: string;
  started?: string; since?: string; tookSeconds?: number; pods: Pods; changes?: string[];
  kept?: boolean; target?: boolean; current?: boolean; observed?: boolean; repair?: boolean; rollbackOf?: number; refusedUntil?: string; step?: string;
  // notSuspended is set where a release failed whose workload is not suspended.
  notSuspended?: boolean;
}

export interface Note { verb: string; resource: string; namespace?: string; lacks: string }

export interface ReleaseList { items: Release[]; notes?: Note[] }

export interface Batches {
  numbers: string; count: number; outcome: "failed" | "checking" | "passed" | "not checked"; stage?: string; reason?: string; message?: string;
  pods?: string[]; preSeconds?: number; postSeconds?: number; due?: string;
}

export interface Workload {
  namespace: string; kind: string; name: string; known: boolean; release?: number; version?: string; wanted: number; ready: number; updated: number;
  // gated is how many of the updated pods wait at the gate of a step, and so don't run.
  gated?: number; suspended: boolean; held: boolean; pausedByUser: boolean; pauseReason?: string; requestReason?: string;
}

export interface Check { policy: string; name: string; mode: string; verdict: string; message?: string }

export interface FailedPod { pod: string; message?: string }

export interface NotRunning { pods: FailedPod[]; notCreated?: string; rollbackAt?: string }

export interface Status {
  present?: Release; from?: string; workload: Workload; batches?: Batches[]; failedPods?: FailedPod[]; notRunning?: NotRunning; checks?: Check[];
  earlier?: Release[]; notes?: Note[];
}

export interface Right { verb: string; group?: string; resource: string; subresource?: string; namespace?: string; name?: string }

export interface Way { name: "repair" | "rollback" | "withdraw" | "park" | "approve" | "resume" | "breakglass"; commands: string[]; to?: string; release?: number; needs: Right; may?: boolean }

export interface Why { failures?: FailedPod[]; moreFailures?: number; freezes?: Freeze[]; refused?: Release[]; ways?: Way[]; notes?: Note[] }

export type PodState = "waiting" | "checking" | "passed" | "failed" | "unchecked";

export interface Pod { name: string; node?: string; zone?: string; batch?: number; changePod?: string; state: PodState; stage?: string; reason?: string }

export interface PodList { items: Pod[]; counts?: Partial<Record<PodState, number>>; more?: number; notes?: Note[] }

export interface Event { time?: string; type: string; reason: string; object: string; message: string; count: number }

export interface EventList { items: Event[]; notes?: Note[] }

export interface Policy { kind: string; namespace: string; name: string; does: string; because: string }

export interface PolicyList { items: Policy[]; notes?: Note[] }

export interface Side { release?: number; version?: string }

export interface Diff { from: Side; to: Side; changes: string[]; full?: string[] }

export interface Freeze {
  namespace: string; name: string; lock: boolean; action: string; active: boolean; until?: string; next?: string; parked: number; reason?: string;
}

export interface FreezeList { items: Freeze[]; notes?: Note[] }

export interface Setting { name: string; enable: boolean; content?: string; default: boolean; problem?: string; remark?: string }

export interface SettingList { items: Setting[]; notes?: Note[] }

export interface Finding { topic: string; result: string; symptom: string; values?: string[]; help?: string }

export interface Diagnosis { problems: number; items: Finding[] }

export type Outcome = "Verified" | "Failed" | "RolledBack" | "Superseded" | "Unchecked";

export interface Recorded {
  namespace: string; changeRecord: string; workload: { apiVersion: string; kind: string; name: string; uid?: string }; release: number; correction?: number;
  version: string; type: "Release" | "Repair" | "Rollback"; releasedBy?: string; startedAt: string; endedAt: string; commitTime?: string; failingSince?: string;
  outcome: Outcome; reason?: string; message?: string; rollback?: { time: string }; rolledBackBy?: number;
}

export interface Export { items: Recorded[]; notes?: Note[] }

export interface Session {
  cluster: string; server: string; user: string; readOnly: boolean; version: string; namespace: string; language: string; now: string;
  // context, kubeconfig, as and asGroups are flags of the lines to copy.
  context?: string; kubeconfig?: string; as?: string; asGroups?: string[];
}

export interface Action { verb: string; needs: Right; right?: string; may?: boolean }

export interface ActionList { items: Action[]; notes?: Note[] }

export interface Requested {
  kind: string; namespace: string; workload?: string; object: string; from?: Side; to?: Side; at?: string; by?: string; step?: string;
  changes?: string[]; reason?: string; warnings?: string[]; dryRun?: boolean;
}

export type Line =
  | { type: "snapshot"; list: ReleaseList; now: string }
  | { type: "release"; release: Release }
  | { type: "gone"; namespace: string; kind: string; group?: string; workload: string }
  | { type: "beat"; now: string }
  | { type: "stale"; error: string }
  | { type: "resync" };
