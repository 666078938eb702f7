import { useState } from "preact/hooks";
import { ActButton } from "../components/actions";
import { At, Failure, Mark, Name, Notes, Section, Tag, Text } from "../components/basic";
import { ReleaseMark } from "../components/day";
import { Dialog } from "../components/dialog";
import { Table, type Column } from "../components/table";
import { week } from "../delivery";
import { fiveMinutes, now } from "../live";
import { useResource } from "../resource";
import { chosen, session } from "../settings";
import { shown } from "../text/safe";
import { t } from "../text";
import { absolute, day, midnight, moment } from "../time";
import type { ActionList, Export, Freeze, FreezeList } from "../types";
import { lockVerb, unlockVerb, type Verb } from "../verbs";

const dayLong = week / 7;

export function Calendar() {
  const [acted, act] = useState(0);
  const [open, show] = useState<{ verb: Verb; namespace: string } | undefined>(undefined);
  const freezes = useResource<FreezeList>("freezes", { namespace: chosen.value }, `${acted} ${fiveMinutes()}`);
  const acts = session.value?.readOnly === false;
  const items = freezes.data?.items ?? [];
  const columns: Column<Freeze>[] = [
    { name: t().name, kind: "head", cell: (freeze) => <><Name of={freeze.name} /> <span class="kind">{freeze.lock ? t().lockKind : t().calendarKind}</span></> },
    { name: t().namespace, kind: "narrow", cell: (freeze) => <Name of={freeze.namespace} /> },
    { name: t().state, kind: "narrow", cell: (freeze) => <Activity of={freeze} /> },
    { name: t().action, kind: "narrow", cell: (freeze) => shown(freeze.action) },
    { name: t().until, kind: "narrow", cell: (freeze) => <At time={freeze.until} as={moment} /> },
    { name: t().nextTime, kind: "narrow", cell: (freeze) => <At time={freeze.next} as={moment} /> },
    { name: t().parked, kind: "number", cell: (freeze) => freeze.parked },
    { name: t().reason, kind: "wide", cell: (freeze) => freeze.reason && <Text of={freeze.reason} /> },
    ...(acts ? [{ name: t().act, kind: "narrow", cell: (freeze: Freeze) => freeze.lock && freeze.active && <LockButton verb={unlockVerb(freeze.name)} about={freeze.name} namespace={freeze.namespace} show={show} /> } as Column<Freeze>] : []),
  ];
  return (
    <>
      <h1 tabIndex={-1}>{t().calendar}</h1>
      {acts && chosen.value !== "" && <p><LockButton verb={lockVerb()} namespace={chosen.value} show={show} /></p>}
      <Weeks freezes={items} />
      <Section id="freezes" title={t().freezesNow} count={items.length}>
        <Notes of={freezes.data?.notes} />
        {freezes.error && <Failure what={t().calendar} error={freezes.error} again={freezes.again} />}
        {!freezes.data && freezes.loading && <p class="muted">{t().loading}</p>}
        {freezes.data && (items.length === 0 ? <p class="muted">{t().noFreezes}</p> : <Table caption={t().freezesNow} columns={columns} rows={items} id={(freeze) => freeze.namespace + "/" + freeze.name} />)}
      </Section>
      {open && <Dialog verb={open.verb} of={{ namespace: open.namespace, kind: "", name: "" }} close={(done) => { show(undefined); if (done) act((count) => count + 1); }} />}
    </>
  );
}

function LockButton({ verb, about, namespace, show }: { verb: Verb; about?: string; namespace: string; show: (of: { verb: Verb; namespace: string }) => void }) {
  const may = useResource<ActionList>("may-lock", { namespace });
  return <ActButton verb={verb} may={may.data} about={[namespace, about].filter(Boolean).join("-")} press={() => show({ verb, namespace })} />;
}

function Activity({ of }: { of: Freeze }) {
  return of.active ? <span class="state warn"><Mark shape="pause" tone="warn" />{t().active}</span> : <Tag>{t().inactive}</Tag>;
}

// Weeks shows a week of releases, and a week ahead of freezes, on one line of days.
function Weeks({ freezes }: { freezes: Freeze[] }) {
  const today = midnight(now.value);
  const days = Array.from({ length: 14 }, (_, index) => midnight(today, index - 7));
  const from = days[0] ?? today;
  const to = midnight(today, 7);
  const query = { namespace: chosen.value, from: new Date(from).toISOString(), to: new Date(midnight(today, 1)).toISOString() };
  const releases = useResource<Export>("releases", query, fiveMinutes(), chosen.value);
  const x = (time: number) => `${Math.round(((Math.min(Math.max(time, from), to) - from) / (to - from)) * 10_000) / 100}%`;
  const rows = freezes.slice(0, 20);
  const label = `${t().twoWeeks}: ${rows.map((freeze) => `${shown(freeze.name)} ${freeze.active ? t().active : t().inactive}`).join(", ")}`;
  return (
    <Section id="weeks" title={t().twoWeeks}>
      {releases.error && <Failure what={t().releases} error={releases.error} again={releases.again} />}
      <div class="weeks" tabIndex={0} role="group" aria-label={label}>
        <svg width="100%" height={64 + rows.length * 24} role="img" aria-label={label}>
          {days.map((at, index) => (
            <g>
              <rect class={index % 2 === 0 ? "band" : "band odd"} x={x(at)} width={`${Number.parseFloat(x(midnight(at, 1))) - Number.parseFloat(x(at))}%`} height="100%" />
              <text x={x((at + midnight(at, 1)) / 2)} y="14" text-anchor="middle">{day(at).replace(",", "")}</text>
            </g>
          ))}
          <svg y="28" width="100%" height="22" overflow="visible">
            {(releases.data?.items ?? []).map((item) => <ReleaseMark item={item} at={Date.parse(item.startedAt)} from={from} to={to} />)}
          </svg>
          {rows.map((freeze, index) => <FreezeBar of={freeze} y={58 + index * 24} x={x} end={to} />)}
          <line class="now" x1={x(now.value)} x2={x(now.value)} y1="20" y2="100%" />
        </svg>
      </div>
    </Section>
  );
}

// FreezeBar shows the time that is known of a freeze: from now to its end, or from its next beginning on.
function FreezeBar({ of, y, x, end }: { of: Freeze; y: number; x: (time: number) => string; end: number }) {
  const begin = of.active ? now.value : Date.parse(of.next ?? "");
  if (Number.isNaN(begin) || begin >= end) {
    return null;
  }
  const until = of.active && of.until ? Date.parse(of.until) : Math.min(end, begin + dayLong);
  const width = `${Math.max(0.5, Number.parseFloat(x(until)) - Number.parseFloat(x(begin)))}%`;
  return (
    <g>
      <title>{`${shown(of.namespace)}/${shown(of.name)}: ${of.active ? t().active : t().nextTime + " " + absolute(begin)}`}</title>
      <rect class={of.active ? "freeze active" : "freeze"} x={x(begin)} y={y} width={width} height="18" rx="3" />
      <text x={x(begin)} dx="6" y={y + 13}>{shown(of.name).slice(0, 40)}</text>
    </g>
  );
}
