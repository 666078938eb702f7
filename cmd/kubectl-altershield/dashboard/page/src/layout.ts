// Where the cells of pods are: pure, so that 10,000 of them are one path for each state.

import type { Pod, PodState } from "./types";

export type Grouping = "batch" | "node" | "zone";

export interface Group { name: string; pods: Pod[] }

const order: PodState[] = ["failed", "checking", "waiting", "unchecked", "passed"];

// groupsOf returns pods in their groups: batches by number, nodes and zones with the most failures first.
export function groupsOf(pods: Pod[], by: Grouping): Group[] {
  const found = new Map<string, Pod[]>();
  for (const pod of pods) {
    const name = by === "batch" ? String(pod.batch ?? 0) : (pod[by] ?? "");
    const members = found.get(name);
    if (members === undefined) {
      found.set(name, [pod]);
    } else {
      members.push(pod);
    }
  }
  const groups = [...found].map(([name, members]) => ({ name, pods: members }));
  if (by === "batch") {
    return groups.sort((a, b) => (Number(a.name) || Infinity) - (Number(b.name) || Infinity));
  }
  for (const group of groups) {
    group.pods.sort((a, b) => order.indexOf(a.state) - order.indexOf(b.state));
  }
  const failures = (group: Group) => group.pods.filter((pod) => pod.state === "failed").length;
  return groups.sort((a, b) => failures(b) - failures(a) || a.name.localeCompare(b.name));
}

export const cell = 14;
export const size = 11;

export interface Placed { pod: Pod; x: number; y: number }

export interface Picture { placed: Placed[]; labels: { name: string; y: number; count: number }[]; width: number; height: number; columns: number }

const labelHeight = 20;

// place lays cells out in rows of a width. With labels each group has its own rows below its name.
export function place(groups: Group[], width: number, labelled: boolean): Picture {
  const columns = Math.max(1, Math.floor((width + cell - size) / cell));
  const picture: Picture = { placed: [], labels: [], width: columns * cell, height: 0, columns };
  let y = 0;
  let column = 0;
  for (const group of groups) {
    if (labelled) {
      picture.labels.push({ name: group.name, y: y + 13, count: group.pods.length });
      y += labelHeight;
      column = 0;
    }
    for (const pod of group.pods) {
      if (column === columns) {
        column = 0;
        y += cell;
      }
      picture.placed.push({ pod, x: column * cell, y });
      column++;
    }
    if (labelled) {
      y += cell + 4;
    }
  }
  picture.height = labelled ? y : y + cell;
  return picture;
}

// Each state has its own shape besides its colour: a full square, one with a cross, a ring, a dot, an empty square.
const shapes: Record<PodState, string> = {
  passed: "h11v11h-11z", failed: "h11v11h-11z", checking: "h11v11h-11zm3 3v5h5v-5z", waiting: "m4 4h3v3h-3z", unchecked: "h11v11h-11zm1.5 1.5v8h8v-8z",
};

// pathOf returns the path of the cells in a state.
export function pathOf(placed: Placed[], state: PodState): string {
  return placed.filter((one) => one.pod.state === state).map((one) => `M${one.x} ${one.y}${shapes[state]}`).join("");
}

// crossesOf returns the crosses on the failed cells.
export function crossesOf(placed: Placed[]): string {
  return placed.filter((one) => one.pod.state === "failed").map(({ x, y }) => `M${x + 3} ${y + 3}l5 5m0-5l-5 5`).join("");
}

// at returns the index of the cell at a point, or -1.
export function at(placed: Placed[], x: number, y: number): number {
  return placed.findIndex((one) => x >= one.x && x < one.x + cell && y >= one.y && y < one.y + cell);
}
