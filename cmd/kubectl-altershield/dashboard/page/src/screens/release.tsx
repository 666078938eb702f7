import { useEffect, useRef, useState } from "preact/hooks";
import { Actions } from "../components/actions";
import { At, Copy, Failure, Kind, Name, Notes, PodsByMessage, Section, StateMark, Tag, Text, toneOf, Version } from "../components/basic";
import { PodBar } from "../components/bar";
import { PodCells } from "../components/cells";
import { Timeline } from "../components/timeline";
import { here } from "../commands";
import { byWorkload, fiveMinutes, keyOf, now } from "../live";
import { useResource } from "../resource";
import type { Reference } from "../route";
import { shown } from "../text/safe";
import { rightOf } from "../text/sentences";
import { t } from "../text";
import { moment, recent } from "../time";
import type { Freeze, NotRunning, PodList, Release, Status, Way, Why, Workload } from "../types";
import { Changes, EventsOf, History, PoliciesOf, Verdicts } from "./parts";

// longest is how long changes may be put off.
const longest = 5_000;

// useChanges counts the changes of a value, once it stayed the same for a second, or for five in which it didn't: a release changes with every
// pod. That it comes is one too: it may be newer than what was read meanwhile.
function useChanges(value: string | undefined): number {
  const [seen, see] = useState({ value, count: 0 });
  const since = useRef<number | undefined>(undefined);
  useEffect(() => {
    if (value === seen.value) {
      since.current = undefined;
      return undefined;
    }
    since.current ??= Date.now();
    const wait = Math.max(0, Math.min(1_000, since.current + longest - Date.now()));
    const timer = setTimeout(() => {
      since.current = undefined;
      see({ value, count: seen.count + 1 });
    }, wait);
    return () => clearTimeout(timer);
  }, [value, seen]);
  return seen.count;
}

// presentOf returns the present release. A list calls a workload RolledBack whose present release is that rollback, and tells why the release before
// it went back and until when that one is refused. The page is about the present release, which its own status tells.
function presentOf(live?: Release, own?: Release): Release | undefined {
  if (live?.state !== "RolledBack" || live.release !== own?.release || live.version !== own.version) {
    return live ?? own;
  }
  return { ...live, state: own.state, reason: own.reason, why: own.why, refusedUntil: own.refusedUntil };
}

export function ReleasePage({ of }: { of: Reference }) {
  const live = byWorkload.value.get(keyOf(of));
  const [acted, act] = useState(0);
  // A pause, an Event or a policy may be no change of the release.
  const occasion = `${useChanges(live && JSON.stringify(live))} ${acted} ${fiveMinutes()}`;
  const query = { namespace: of.namespace, kind: of.kind, name: of.name };
  const status = useResource<Status>("status", query, occasion);
  const pods = useResource<PodList>("pods", query, occasion);
  const why = useResource<Why>("why", query, occasion);
  const present = presentOf(live, status.data?.present);
  return (
    <>
      <Head of={of} release={present} workload={status.data?.workload} from={status.data?.from} />
      {present && <Actions of={of} release={present} status={status.data} pods={pods.data} query={query} occasion={occasion} done={() => act((count) => count + 1)} />}
      <Notes of={status.data?.notes} />
      {status.error && <Failure what={t().release} error={status.error} again={status.again} />}
      {!status.data && status.loading && <p class="muted">{t().loading}</p>}
      {status.data && !status.data.present && <p class="muted">{t().notFound}</p>}
      {present && (
        <>
          <Reasons release={present} notRunning={status.data?.notRunning} why={why.data} />
          {why.error && <Failure what={t().next} error={why.error} again={why.again} />}
          {status.data && <Timeline release={present} batches={status.data.batches ?? []} />}
          <Section id="pods" title={t().pods}>
            {pods.error && <Failure what={t().pods} error={pods.error} again={pods.again} />}
            <Notes of={pods.data?.notes} />
            {pods.data ? <PodCells list={pods.data} /> : pods.loading && <p class="muted">{t().loading}</p>}
          </Section>
          <Verdicts release={present} status={status.data} />
          <Changes release={present} />
          <History of={of} query={query} occasion={occasion} />
          <EventsOf query={query} occasion={occasion} />
          <PoliciesOf query={query} occasion={occasion} />
        </>
      )}
    </>
  );
}

function Head({ of, release, workload, from }: { of: Reference; release?: Release; workload?: Workload; from?: string }) {
  return (
    <div class="head">
      <h1 tabIndex={-1}><bdi><span class="muted">{shown(of.namespace)}/</span>{shown(of.name)}</bdi><Kind of={of.kind} /></h1>
      {release && (
        <p class="facts">
          <StateMark of={release} />
          {release.since && <span>{t().forTime("")}<At time={release.since} /></span>}
          <span>{t().releaseNumber(release.release)} {from && <><Version of={from} /> → </>}<Version of={release.version} /></span>
          {release.by && <span><span class="muted">{t().by}</span> <Name of={release.by} /></span>}
          {release.releaseReason && <span><span class="muted">{t().said}</span> <Text of={release.releaseReason} /></span>}
          {release.step && <Tag>{t().step(shown(release.step))}</Tag>}
          {release.repair && <Tag tone="warn">{t().repair}</Tag>}
          {release.observed && <Tag>{t().observed}</Tag>}
          {(release.rollbackOf ?? 0) > 0 && <Tag tone="warn">{t().rollbackOf(release.rollbackOf ?? 0)}</Tag>}
          {release.refusedUntil && <Tag tone="bad">{t().refusedUntil(moment(Date.parse(release.refusedUntil)))}</Tag>}
        </p>
      )}
      {release && <PodBar pods={release.pods} long />}
      {workload?.known && (
        <p class="facts muted">
          <span>{t().replicas(workload.wanted, workload.ready, Math.max(0, workload.updated - (workload.gated ?? 0)))}</span>
          {(workload.gated ?? 0) > 0 && <span>{t().atStep(workload.gated ?? 0)}</span>}
          {workload.suspended && <span>{t().suspended}</span>}
          {workload.held && <span>{t().held}</span>}
          {workload.pausedByUser && <span>{t().paused}{workload.pauseReason && <>: <Text of={workload.pauseReason} /></>}</span>}
          {workload.requestReason && <span>{t().said} <Text of={workload.requestReason} /></span>}
        </p>
      )}
    </div>
  );
}

// Reasons says why the release is in its state, and what can be done.
function Reasons({ release, notRunning, why }: { release: Release; notRunning?: NotRunning; why?: Why }) {
  const failures = why?.failures ?? [];
  const freezes = why?.freezes ?? [];
  if (!release.why && !release.reason && !notRunning && failures.length === 0 && freezes.length === 0 && !why?.ways?.length) {
    return null;
  }
  return (
    <div class={`reasons ${toneOf(release.state)}-edge`}>
      {(release.why || release.reason) && <p class="why"><strong>{t().why}</strong> <Text of={release.why || release.reason} /></p>}
      {notRunning && <Waits of={notRunning} />}
      {failures.length > 0 && (
        <ul class="failures" aria-label={t().failures}>
          {failures.map((pod) => <li><Name of={pod.pod} /> <Text of={pod.message} /></li>)}
          {(why?.moreFailures ?? 0) > 0 && <li class="muted">{t().more(why?.moreFailures ?? 0)}</li>}
        </ul>
      )}
      {freezes.length > 0 && <ul class="failures">{freezes.map((freeze) => <Stop by={freeze} />)}</ul>}
      {why?.ways && why.ways.length > 0 && <><h2>{t().next}</h2><ul class="ways">{why.ways.map((way) => <WayOut way={way} />)}</ul></>}
    </div>
  );
}

// Waits says which pods don't run, what they wait for, and when the operator rolls back because of that.
function Waits({ of }: { of: NotRunning }) {
  return (
    <>
      <PodsByMessage of={of.pods} label={t().notRunning}>{of.notCreated && <li>{t().notCreated} <Text of={of.notCreated} /></li>}</PodsByMessage>
      {of.rollbackAt && <p>{t().rollsBack(recent(Date.parse(of.rollbackAt), now.value))}</p>}
    </>
  );
}

// Stop says what a freeze makes of a further release.
function Stop({ by }: { by: Freeze }) {
  const name = shown(`${by.namespace}/${by.name}`);
  return <li>{by.action === "Deny" ? t().denies(name) : t().parks(name)}{by.until && t().untilTime(moment(Date.parse(by.until)))}{by.reason && <>: <Text of={by.reason} /></>}</li>;
}

function WayOut({ way }: { way: Way }) {
  return (
    <li class={way.may === false ? "denied" : ""}>
      <span>
        {t().ways[way.name] ?? shown(way.name)} {way.to && (way.release ? t().toRelease(way.release) : <Version of={way.to} />)}{" "}
        <span class="muted">{way.may === undefined ? t().mayUnknown : way.may ? t().may : t().mayNot(shown(rightOf(way.needs)))}</span>
      </span>
      <div>{way.commands.map((command) => <Copy line={here(command)} label={t().copyLine} />)}</div>
    </li>
  );
}

