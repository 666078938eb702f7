import { useMemo } from "preact/hooks";
import { before, failRate, factsOf, isBad, keysOf, median, outcomeOf } from "../delivery";
import { now } from "../live";
import { useResource } from "../resource";
import { chosen } from "../settings";
import { shown } from "../text/safe";
import { t } from "../text";
import { absolute, clock, hour, percent, span } from "../time";
import type { Export, Recorded } from "../types";
import { Failure, Name, Notes, Section } from "./basic";

const long = 24 * 3_600_000;
const minute = 60_000;

// Day shows the releases of the last 24 hours: a row for each namespace, a mark for each release at its time.
export function Day() {
  // The period moves every five minutes, so that the records aren't read more often.
  const end = Math.ceil(now.value / (5 * minute)) * 5 * minute;
  const query = { namespace: chosen.value, from: new Date(end - long - before).toISOString(), to: new Date(end).toISOString() };
  const { data, error, loading, again } = useResource<Export>("releases", query, 0, chosen.value);
  const items = useMemo(() => byNamespace(data?.items ?? [], end - long), [data, end]);
  return (
    <Section id="day" title={t().day}>
      <Notes of={data?.notes} />
      {error && <Failure what={t().day} error={error} again={again} />}
      {!data && loading && <p class="muted">{t().loading}</p>}
      {data && items.length === 0 && <p class="muted">{t().noReleases}</p>}
      {items.length > 0 && (
        <table role="table" class="day">
          <caption class="hidden">{t().day}</caption>
          <thead role="rowgroup">
            <tr role="row">
              <th role="columnheader" scope="col">{t().namespace}</th><th role="columnheader" scope="col" class="strip"><span class="hidden">{t().hours}</span><Hours end={end} /></th>
              <th role="columnheader" scope="col" class="number">{t().failRate}</th><th role="columnheader" scope="col" class="number">{t().recoveryTime}</th>
            </tr>
          </thead>
          <tbody role="rowgroup">{items.map(([namespace, releases]) => <Row key={namespace} namespace={namespace} releases={releases} end={end} />)}</tbody>
        </table>
      )}
    </Section>
  );
}

// byNamespace returns the releases of the namespaces that have one since a time, with those before it.
function byNamespace(items: Recorded[], since: number): [string, Recorded[]][] {
  const found = new Map<string, Recorded[]>();
  for (const item of items) {
    found.set(item.namespace, [...(found.get(item.namespace) ?? []), item]);
  }
  return [...found].filter(([, releases]) => releases.some((item) => Date.parse(item.startedAt) >= since)).sort(([a], [b]) => a.localeCompare(b));
}

function Row({ namespace, releases: all, end }: { namespace: string; releases: Recorded[]; end: number }) {
  const keys = keysOf(factsOf(all).filter((fact) => fact.at >= end - long));
  const releases = all.filter((item) => Date.parse(item.startedAt) >= end - long);
  const rate = failRate(keys);
  const recovery = median(keys.recoveries);
  return (
    <tr role="row">
      <th role="rowheader" scope="row" class="head"><Name of={namespace} /></th>
      <td role="cell" class="strip" data-label={t().releases}>
        <svg class="marks" width="100%" height="22" role="img" aria-label={t().dayLabel(releases.length, releases.filter((item) => isBad(outcomeOf(item))).length)}>
          <line x1="0" x2="100%" y1="11" y2="11" />
          {releases.map((item) => <ReleaseMark item={item} at={Date.parse(item.startedAt)} from={end - long} to={end} />)}
        </svg>
      </td>
      <td role="cell" class="number" data-label={t().failRate}>{rate === undefined ? t().none : percent(rate)}</td>
      <td role="cell" class="number" data-label={t().recoveryTime}>{recovery === undefined ? t().none : span(recovery)}</td>
    </tr>
  );
}

const marks: Record<string, string> = {
  Verified: "M-4 0l3 3L4.5-3.5", Failed: "M-3.5-3.5l7 7M3.5-3.5l-7 7", RolledBack: "M-1-4.5L-4.5-1.5l3.5 3M-4.5-1.5H1.5a2.7 2.7 0 0 1 0 5.5H-1",
  Superseded: "M-3 0a3 3 0 1 0 6 0 3 3 0 1 0-6 0", Unchecked: "M-3 0a3 3 0 1 0 6 0 3 3 0 1 0-6 0",
};

// ReleaseMark is a mark at the time of a release.
export function ReleaseMark({ item, at, from, to }: { item: Recorded; at: number; from: number; to: number }) {
  const outcome = outcomeOf(item);
  return (
    <svg x={`${Math.round(((at - from) / (to - from)) * 10_000) / 100}%`} y="11" class={outcome in marks ? `release ${outcome}` : "release"} overflow="visible">
      <title>{`${shown(item.workload.name)} ${t().releaseNumber(item.release)}: ${shown(outcome)}, ${absolute(at)}`}</title>
      <circle r="8" class="target" /><path d={marks[outcome]} />
    </svg>
  );
}

function Hours({ end }: { end: number }) {
  // Full hours of the time zone, which may be between those of UTC.
  const beside = new Date(Math.floor(end / (60 * minute)) * 60 * minute).getMinutes() * minute;
  const first = Math.ceil((end - long + beside) / (3 * 60 * minute)) * 3 * 60 * minute - beside;
  const ticks = Array.from({ length: 8 }, (_, index) => first + index * 3 * 60 * minute);
  return (
    <svg class="ticks" width="100%" height="14" aria-hidden="true">
      {ticks.map((at) => <text x={`${((at - end + long) / long) * 100}%`} y="11"><title>{clock(at)}</title>{hour(at)}</text>)}
    </svg>
  );
}
