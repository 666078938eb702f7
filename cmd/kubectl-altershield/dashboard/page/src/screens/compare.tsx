import { Failure, Section, Text, Version } from "../components/basic";
import { useResource } from "../resource";
import { addressOf, type Reference } from "../route";
import { shown } from "../text/safe";
import { t } from "../text";
import type { Diff, Side } from "../types";

export function Compare({ of, from, to }: { of: Reference; from: string; to: string }) {
  const { data, error, loading, again } = useResource<Diff>("diff", { namespace: of.namespace, kind: of.kind, name: of.name, from, to });
  return (
    <>
      <p class="path"><a href={addressOf(of)}><bdi>{shown(of.namespace)}/{shown(of.name)}</bdi></a></p>
      <h1 tabIndex={-1}>{t().compareWith(shown(from), shown(to))}</h1>
      {error && <Failure what={t().compare} error={error} again={again} />}
      {!data && loading && <p class="muted">{t().loading}</p>}
      {data && (
        <>
          <p class="facts"><SideFacts of={data.from} /> <span aria-hidden="true">→</span> <SideFacts of={data.to} /></p>
          <Section id="changes" title={t().changes} count={data.changes?.length ?? 0}>
            {(data.changes?.length ?? 0) === 0 ? <p class="muted">{t().same}</p> : <ul class="changes">{data.changes.map((change) => <li><Text of={change} /></li>)}</ul>}
            <p class="muted">{t().hidden}</p>
          </Section>
          {data.full && <pre class="full">{data.full.map((line) => <span class={line.startsWith("+") ? "good" : line.startsWith("-") ? "bad" : ""}>{shown(line)}{"\n"}</span>)}</pre>}
        </>
      )}
    </>
  );
}

function SideFacts({ of }: { of: Side }) {
  return <span>{of.release ? t().releaseNumber(of.release) : ""} <Version of={of.version} /></span>;
}
