import { useMemo, useState } from "preact/hooks";
import { At, Failure, Kind, Mark, Name, Notes, Section, StateMark, Tag, Text } from "../components/basic";
import { PodBar } from "../components/bar";
import { Day } from "../components/day";
import { Table, type Column } from "../components/table";
import { referenceOf } from "../kinds";
import { byWorkload, connection, fiveMinutes, isListed, keyOf, listNotes, now } from "../live";
import { useResource } from "../resource";
import { addressOf } from "../route";
import { chosen, search } from "../settings";
import { shown } from "../text/safe";
import { t } from "../text";
import { moment } from "../time";
import type { FreezeList, Release, State } from "../types";

const dayLong = 24 * 3_600_000;
const page = 100;

// needsSomebody reports whether a release waits for people. What isn't checked does so for a day: many workloads are by choice.
function needsSomebody(release: Release, at: number): boolean {
  return ["Suspend", "Failed", "Waiting"].includes(release.state) ||
    (release.state === "NotChecked" && at - Date.parse(release.started ?? "") < dayLong);
}

function isRunning(release: Release): boolean {
  return release.state === "Running" || release.state === "Pending";
}

function matches(release: Release, namespace: string, text: string): boolean {
  const wanted = text.trim().toLowerCase();
  return (namespace === "" || release.namespace === namespace) && (wanted === "" ||
    [release.namespace + "/" + release.workload, release.by, release.why, release.reason, release.state].some((part) => part?.toLowerCase().includes(wanted)));
}

const urgency: State[] = ["Suspend", "Failed", "Waiting", "NotChecked", "Running", "Pending", "RolledBack", "Superseded", "Success"];

function order(a: Release, b: Release): number {
  return urgency.indexOf(a.state) - urgency.indexOf(b.state) || a.namespace.localeCompare(b.namespace) || a.workload.localeCompare(b.workload);
}

export function First() {
  const sorted = useMemo(() => [...byWorkload.value.values()].sort(order), [byWorkload.value]);
  const shownOnes = sorted.filter((release) => matches(release, chosen.value, search.value));
  // By the minute: the lists need no finer time.
  const at = Math.floor(now.value / 60_000) * 60_000;
  const waiting = shownOnes.filter((release) => needsSomebody(release, at));
  const running = shownOnes.filter(isRunning);
  const others = shownOnes.filter((release) => !needsSomebody(release, at) && !isRunning(release));
  const isSearch = search.value.trim() !== "";
  if (!isListed.value) {
    return <><h1 tabIndex={-1}>{t().nav.first}</h1>{connection.value.state === "connecting" && <p class="muted">{t().loading}</p>}</>;
  }
  return (
    <>
      <h1 tabIndex={-1} class="hidden">{t().nav.first}</h1>
      <Notes of={listNotes.value} />
      <Section id="needs" title={t().needs} count={waiting.length}>
        <Summary of={waiting} />
        {waiting.length > 0 ? <Releases caption={t().needs} rows={waiting} /> : isSearch ? <p class="muted">{t().noMatch}</p> : <p class="calm"><Mark shape="check" tone="good" />{t().nobody}</p>}
      </Section>
      <Section id="running" title={t().running} count={running.length}>
        {running.length === 0 ? <p class="muted">{isSearch ? t().noMatch : t().noneRunning}</p> : <Releases caption={t().running} rows={running} />}
      </Section>
      <Day />
      <Section id="others" title={t().others} count={others.length}>
        {shownOnes.length === 0 ? <p class="muted">{t().noMatch}</p> : others.length > 0 && <Releases caption={t().others} rows={others} />}
      </Section>
    </>
  );
}

function Summary({ of }: { of: Release[] }) {
  const freezes = useResource<FreezeList>("freezes", { namespace: chosen.value }, fiveMinutes());
  const count = (state: State) => of.filter((release) => (release.notSuspended ? "Failed" : release.state) === state).length;
  const parts: [State, (n: number) => string][] = [
    ["Suspend", t().suspendedCount], ["Failed", t().failedCount], ["Waiting", t().waitingCount], ["NotChecked", t().uncheckedCount],
  ];
  const active = (freezes.data?.items ?? []).filter((freeze) => freeze.active && freeze.until);
  const texts = [
    ...parts.map(([state, text]) => (count(state) > 0 ? text(count(state)) : "")),
    ...active.slice(0, 3).map((freeze) => t().frozenUntil(shown(freeze.name), moment(Date.parse(freeze.until ?? "")))),
  ].filter((text) => text !== "");
  return (
    <>
      {texts.length > 0 && <ul class="summary">{texts.map((text) => <li>{text}</li>)}</ul>}
      {freezes.error && <Failure what={t().freezesNow} error={freezes.error} again={freezes.again} />}
    </>
  );
}

function Releases({ caption, rows }: { caption: string; rows: Release[] }) {
  const [limit, showTo] = useState(page);
  const columns: Column<Release>[] = [
    { name: t().workload, kind: "head", width: "w-workload", cell: (release) => <WorkloadLink of={release} /> },
    { name: t().state, kind: "narrow", width: "w-state", cell: (release) => <StateMark of={release} /> },
    { name: t().release, kind: "narrow", width: "w-release", cell: (release) => <><span class="number">{release.release}</span>{release.step && <Tag>{t().step(shown(release.step))}</Tag>}</> },
    { name: t().pods, kind: "narrow", width: "w-pods", cell: (release) => <PodBar pods={release.pods} /> },
    { name: t().why, kind: "wide", cell: (release) => whatOf(release) && <Text of={whatOf(release)} /> },
    { name: t().by, kind: "narrow", width: "w-by", cell: (release) => release.by && <Name of={release.by} /> },
    { name: t().since, kind: "number", width: "w-since", cell: (release) => <At time={release.since} /> },
  ];
  return (
    <>
      <Table aligned caption={caption} columns={columns} rows={rows.slice(0, limit)} id={(release) => keyOf(referenceOf(release))} />
      {rows.length > limit && <button class="more" onClick={() => showTo(limit + 5 * page)}>{t().showMore(Math.min(rows.length - limit, 5 * page))}</button>}
    </>
  );
}

// whatOf returns why a release is in its state, or what a verified one changed.
function whatOf(release: Release): string | undefined {
  return release.state === "Success" ? release.changes?.[0] : release.why || release.reason;
}

function WorkloadLink({ of }: { of: Release }) {
  return (
    <a href={addressOf(referenceOf(of))}>
      <bdi><span class="muted">{shown(of.namespace)}/</span>{shown(of.workload)}</bdi>
      <Kind of={referenceOf(of).kind} />
    </a>
  );
}

