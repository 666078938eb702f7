import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { at, crossesOf, groupsOf, pathOf, place, size, type Grouping, type Placed } from "../layout";
import { shown } from "../text/safe";
import { t } from "../text";
import { number } from "../time";
import type { Pod, PodList, PodState } from "../types";
import { Text } from "./basic";

const states: PodState[] = ["failed", "checking", "waiting", "unchecked", "passed"];
const groupings: Grouping[] = ["batch", "node", "zone"];
const mostGroups = 40;

// PodCells shows the pods of a release as cells. The arrow keys and the mouse tell about one.
export function PodCells({ list }: { list: PodList }) {
  const [by, group] = useState<Grouping>("batch");
  const [all, showAll] = useState(false);
  const [chosen, choose] = useState(-1);
  const pods = list.items ?? [];
  const { frame, width } = useWidth(pods.length > 0);
  const groups = useMemo(() => groupsOf(pods, by), [list, by]);
  const picture = useMemo(() => place(by === "batch" || all ? groups : groups.slice(0, mostGroups), width, by !== "batch"), [groups, width, all]);
  if (pods.length === 0) {
    return <p class="muted">{t().noPods}</p>;
  }
  const held = picture.placed[chosen];
  const move = (event: KeyboardEvent) => {
    const steps: Record<string, number> = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: picture.columns, ArrowUp: -picture.columns, Home: -Infinity, End: Infinity };
    const step = steps[event.key];
    if (step !== undefined) {
      event.preventDefault();
      choose(Math.max(0, Math.min(picture.placed.length - 1, chosen < 0 ? 0 : chosen + step)));
    }
  };
  const label = summary(list);
  return (
    <div class="cells">
      <div class="toolbar">
        <Legend list={list} />
        <span role="group" aria-label={t().group}>{t().group} {groupings.map((one) => <button aria-pressed={one === by} onClick={() => { group(one); choose(-1); }}>{t()[one].toLowerCase()}</button>)}</span>
      </div>
      <div ref={frame} class="frame" tabIndex={0} role="group" aria-label={`${label}. ${t().podsHelp}`} onKeyDown={move} onFocus={() => choose(Math.max(0, chosen))} onBlur={() => choose(-1)}>
        <svg width={picture.width} height={picture.height} aria-hidden="true"
          onMouseMove={(event) => choose(at(picture.placed, event.offsetX, event.offsetY))} onMouseLeave={() => choose(-1)}>
          <Paths placed={picture.placed} />
          {picture.labels.map((one) => <text x="0" y={one.y}>{nameOf(one.name, by)} <tspan class="muted">{number(one.count)}</tspan></text>)}
          {held && <rect class="chosen" x={held.x - 1.5} y={held.y - 1.5} width={size + 3} height={size + 3} />}
        </svg>
      </div>
      <p class="podline" role="status">{held ? <PodLine pod={held.pod} /> : <span class="muted">{label}</span>}</p>
      {by !== "batch" && !all && groups.length > mostGroups && <button onClick={() => showAll(true)}>{t().showMore(groups.length - mostGroups)}</button>}
      {(list.more ?? 0) > 0 && <p class="muted">{t().more(list.more ?? 0)}</p>}
    </div>
  );
}

// Paths doesn't depend on the chosen cell, so that moving from cell to cell draws nothing else.
function Paths({ placed }: { placed: Placed[] }) {
  return useMemo(() => <>{states.map((state) => <path class={state} d={pathOf(placed, state)} fill-rule="evenodd" />)}<path class="cross" d={crossesOf(placed)} /></>, [placed]);
}

function useWidth(isThere: boolean) {
  const frame = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(600);
  useEffect(() => {
    if (frame.current === null) {
      return undefined;
    }
    const watch = new ResizeObserver(([entry]) => { if (entry) setWidth(Math.floor(entry.contentRect.width)); });
    watch.observe(frame.current);
    return () => watch.disconnect();
  }, [isThere]);
  return { frame, width };
}

function nameOf(name: string, by: Grouping): string {
  return name === "" ? (by === "node" ? t().noNode : t().noZone) : shown(name);
}

const words: Record<PodState, "failedPods" | "checking" | "waiting" | "unchecked" | "passed"> = { failed: "failedPods", checking: "checking", waiting: "waiting", unchecked: "unchecked", passed: "passed" };

function countsOf(list: PodList): [PodState, number][] {
  return states.map((state): [PodState, number] => [state, list.counts?.[state] ?? list.items.filter((pod) => pod.state === state).length]).filter(([, count]) => count > 0);
}

function summary(list: PodList): string {
  return `${t().pods}: ${countsOf(list).map(([state, count]) => `${number(count)} ${t()[words[state]]}`).join(", ")}`;
}

function Legend({ list }: { list: PodList }) {
  return (
    <ul class="legend">
      {countsOf(list).map(([state, count]) => (
        <li>
          <svg width={size} height={size} aria-hidden="true"><Paths placed={[{ pod: { name: "", state }, x: 0, y: 0 }]} /></svg>
          {number(count)} {t()[words[state]]}
        </li>
      ))}
    </ul>
  );
}

function PodLine({ pod }: { pod: Pod }) {
  const facts = [pod.node, pod.zone, pod.batch ? `${t().batch} ${pod.batch}` : t().noBatch, pod.stage].filter((fact): fact is string => !!fact);
  return <><bdi><strong>{shown(pod.name)}</strong></bdi> {t()[words[pod.state]]} <span class="muted">{facts.map(shown).join(" · ")}</span> {pod.reason && <Text of={pod.reason} />}</>;
}
