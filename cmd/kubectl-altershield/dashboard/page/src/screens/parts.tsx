// The parts of a release's page that are tables.

import { useState } from "preact/hooks";
import { PodBar } from "../components/bar";
import { At, Failure, Mark, Name, Notes, PodsByMessage, Section, StateMark, Tag, Text, Version, type Tone } from "../components/basic";
import { Table, type Column } from "../components/table";
import type { Query } from "../api";
import { now } from "../live";
import { useResource } from "../resource";
import { comparison, type Reference } from "../route";
import { shown } from "../text/safe";
import { t } from "../text";
import { moment, span } from "../time";
import type { Batches, Check, Event, EventList, Policy, PolicyList, Release, ReleaseList, Status } from "../types";

// Verdicts shows the batches of a release. Where they aren't read, as there are too many or the user may not, the counts and the failed pods stand in.
export function Verdicts({ release, status }: { release: Release; status?: Status }) {
  const batches = status?.batches ?? [];
  const checks = status?.checks ?? [];
  const failed = status?.failedPods ?? [];
  const isCounted = release.pods.passed + release.pods.failed + release.pods.checking > 0;
  const columns: Column<Batches>[] = [
    { name: t().batch, kind: "head", cell: (batch) => <span class="number">{shown(batch.numbers)}</span> },
    { name: t().outcome, kind: "narrow", cell: (batch) => <Outcome of={batch.outcome} /> },
    { name: t().stage, kind: "narrow", cell: (batch) => batch.stage && <code>{shown(batch.stage)}</code> },
    { name: t().message, kind: "wide", cell: (batch) => (batch.message || batch.reason) && <><Text of={batch.message || batch.reason} />{batch.pods && <span class="muted pods"> {batch.pods.map(shown).join(", ")}</span>}</> },
    { name: t().durations, kind: "number", cell: (batch) => [batch.preSeconds, batch.postSeconds].some(Boolean) && `${span(batch.preSeconds ?? 0)}, ${span(batch.postSeconds ?? 0)}` },
    { name: t().due, kind: "narrow", cell: (batch) => batch.due && <Due at={batch.due} /> },
  ];
  const ofChecks: Column<Check>[] = [
    { name: t().check, kind: "head", cell: (check) => <Name of={check.name} /> },
    { name: t().verdict, kind: "narrow", cell: (check) => <Outcome of={check.verdict} /> },
    { name: t().policy, kind: "narrow", cell: (check) => <Name of={check.policy} /> },
    { name: t().mode, kind: "narrow", cell: (check) => shown(check.mode) },
    { name: t().message, kind: "wide", cell: (check) => check.message && <Text of={check.message} /> },
  ];
  return (
    <Section id="verdicts" title={t().verdicts}>
      {batches.length === 0 && (isCounted ? <PodBar pods={release.pods} long /> : checks.length === 0 && <p class="muted">{t().noVerdicts}</p>)}
      {batches.length === 0 && failed.length > 0 && <><h3>{t().failures}</h3><PodsByMessage of={failed} label={t().failures} /></>}
      {batches.length > 0 && <Table caption={t().verdicts} columns={columns} rows={batches} id={(batch) => batch.numbers + batch.outcome} />}
      {checks.length > 0 && <><h3>{t().checks}</h3><Table caption={t().checks} columns={ofChecks} rows={checks} id={(check) => check.policy + "/" + check.name} /></>}
    </Section>
  );
}

const looks: Record<string, [string, Tone]> = { failed: ["cross", "bad"], fail: ["cross", "bad"], passed: ["check", "good"], pass: ["check", "good"], checking: ["turn", "busy"] };

function Outcome({ of }: { of: string }) {
  const [shape, tone] = looks[of.toLowerCase()] ?? ["ring", "quiet"];
  return <span class={`state ${tone}`}><Mark shape={shape} tone={tone} />{shown(of)}</span>;
}

function Due({ at }: { at: string }) {
  const left = (Date.parse(at) - now.value) / 1000;
  return <span class={left < 0 ? "warn" : ""}>{left < 0 ? t().overdue : t().verdictDue(span(left))}</span>;
}

export function Changes({ release }: { release: Release }) {
  const changes = release.changes ?? [];
  return (
    <Section id="changes" title={t().changes}>
      {changes.length === 0 ? <p class="muted">{t().noChanges}</p> : <ul class="changes">{changes.map((change) => <li><Text of={change} /></li>)}</ul>}
    </Section>
  );
}

export function History({ of, query, occasion }: { of: Reference; query: Query; occasion: unknown }) {
  const { data, error, again } = useResource<ReleaseList>("history", query, occasion);
  const items = data?.items ?? [];
  const columns: Column<Release>[] = [
    { name: t().release, kind: "head", cell: (item) => <span class="number">{item.release}</span> },
    { name: t().outcome, kind: "narrow", cell: (item) => <StateMark of={item} /> },
    { name: t().version, kind: "narrow", cell: (item) => <Version of={item.version} /> },
    { name: t().when, kind: "narrow", cell: (item) => <At time={item.started ?? item.since} as={moment} /> },
    { name: t().took, kind: "number", cell: (item) => item.tookSeconds && span(item.tookSeconds) },
    { name: t().by, kind: "narrow", cell: (item) => item.by && <Name of={item.by} /> },
    { name: t().what, kind: "wide", cell: (item) => <What of={item} /> },
  ];
  return (
    <Section id="history" title={t().history}>
      <Notes of={data?.notes} />
      {error && <Failure what={t().history} error={error} again={again} />}
      {items.length > 0 && <Table caption={t().history} columns={columns} rows={items} id={(item) => item.release + item.version + (item.observed ?? "")} />}
      {items.length > 1 && <CompareForm of={of} items={items} />}
    </Section>
  );
}

function What({ of }: { of: Release }) {
  return (
    <>
      <Text of={of.changes?.join(" · ") || of.why} />
      {of.releaseReason && <span class="muted"> {t().said} <Text of={of.releaseReason} /></span>}
      {of.current && <Tag>{t().current}</Tag>}
      {of.kept && <Tag tone="good">{t().kept}</Tag>}
      {of.repair && <Tag tone="warn">{t().repair}</Tag>}
      {(of.rollbackOf ?? 0) > 0 && <Tag tone="warn">{t().rollbackOf(of.rollbackOf ?? 0)}</Tag>}
      {of.refusedUntil && <Tag tone="bad">{t().refusedUntil(moment(Date.parse(of.refusedUntil)))}</Tag>}
    </>
  );
}

function CompareForm({ of, items }: { of: Reference; items: Release[] }) {
  const numbers = [...new Set(items.map((item) => String(item.release)))];
  const [from, setFrom] = useState(numbers[1] ?? "");
  const [to, setTo] = useState(numbers[0] ?? "");
  const choice = (value: string, set: (chosen: string) => void, label: string) => (
    <label>{label} <select value={value} onChange={(event) => set(event.currentTarget.value)}>{numbers.map((one) => <option value={one}>{one}</option>)}</select></label>
  );
  return <p class="compare">{choice(from, setFrom, t().left1)} {choice(to, setTo, t().right1)} <a class="button" href={comparison(of, from, to)}>{t().compare}</a></p>;
}

export function EventsOf({ query, occasion }: { query: Query; occasion: unknown }) {
  const { data, error, again } = useResource<EventList>("events", query, occasion);
  const columns: Column<Event>[] = [
    { name: t().time, kind: "narrow", cell: (event) => <At time={event.time} as={moment} /> },
    { name: t().reason, kind: "head", cell: (event) => <span class={event.type === "Warning" ? "warn" : ""}>{event.type === "Warning" && <Mark shape="note" tone="warn" />}{shown(event.reason)}</span> },
    { name: t().object, kind: "narrow", cell: (event) => <Name of={event.object} /> },
    { name: t().message, kind: "wide", cell: (event) => <Text of={event.message} /> },
    { name: t().count, kind: "number", cell: (event) => event.count > 1 && event.count },
  ];
  const items = [...(data?.items ?? [])].reverse();
  return (
    <Section id="events" title={t().events}>
      <Notes of={data?.notes} />
      {error && <Failure what={t().events} error={error} again={again} />}
      {data && items.length === 0 && <p class="muted">{t().noEvents}</p>}
      {items.length > 0 && <Table caption={t().events} columns={columns} rows={items} id={(event) => [event.time, event.reason, event.object, event.message].join()} />}
    </Section>
  );
}

export function PoliciesOf({ query, occasion }: { query: Query; occasion: unknown }) {
  const { data, error, again } = useResource<PolicyList>("policies", query, occasion);
  const columns: Column<Policy>[] = [
    { name: t().policy, kind: "head", cell: (policy) => <><Name of={policy.name} /> <span class="kind">{shown(policy.kind)}</span></> },
    { name: t().namespace, kind: "narrow", cell: (policy) => <Name of={policy.namespace} /> },
    { name: t().does, kind: "wide", cell: (policy) => <Text of={policy.does} /> },
    { name: t().because, kind: "wide", cell: (policy) => <Text of={policy.because} /> },
  ];
  return (
    <Section id="policies" title={t().policies}>
      <Notes of={data?.notes} />
      {error && <Failure what={t().policies} error={error} again={again} />}
      {data && data.items.length === 0 && <p class="muted">{t().noPolicies}</p>}
      {data && data.items.length > 0 && <Table caption={t().policies} columns={columns} rows={data.items} id={(policy) => [policy.kind, policy.namespace, policy.name].join("/")} />}
    </Section>
  );
}
