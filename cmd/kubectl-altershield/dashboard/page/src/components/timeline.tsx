import type { ComponentChildren } from "preact";
import { now } from "../live";
import { shown } from "../text/safe";
import { t } from "../text";
import { recent, span } from "../time";
import type { Batches, Release } from "../types";
import { At, Mark, Section, StateMark, type Tone } from "./basic";

const looks: Record<Batches["outcome"], [string, Tone]> = { failed: ["cross", "bad"], passed: ["check", "good"], checking: ["turn", "busy"], "not checked": ["ring", "quiet"] };

// Timeline shows a release from its record to its present state: batches of one outcome are one step.
export function Timeline({ release, batches }: { release: Release; batches: Batches[] }) {
  const first = (batch: Batches) => Number.parseInt(batch.numbers, 10) || 0;
  const steps = [...batches].sort((a, b) => first(a) - first(b));
  return (
    <Section id="timeline" title={t().timeline}>
      <ol class="timeline">
        {release.started && <Step tone="quiet" shape="ring" title={t().recorded}><At time={release.started} as={(at) => recent(at, now.value)} /></Step>}
        {steps.map((batch) => {
          const [shape, tone] = looks[batch.outcome] ?? ["ring", "quiet"];
          return <Step tone={tone} shape={shape} title={t().batches(shown(batch.numbers))}><BatchFacts of={batch} /></Step>;
        })}
        <li class="last"><StateMark of={release} />{release.since && <span class="muted"><At time={release.since} as={(at) => recent(at, now.value)} /></span>}</li>
      </ol>
    </Section>
  );
}

function Step({ shape, tone, title, children }: { shape: string; tone: Tone; title: string; children: ComponentChildren }) {
  return <li><span class={`state ${tone}`}><Mark shape={shape} tone={tone} />{title}</span><span class="muted">{children}</span></li>;
}

function BatchFacts({ of }: { of: Batches }) {
  if (of.outcome === "checking") {
    const left = of.due === undefined ? undefined : (Date.parse(of.due) - now.value) / 1000;
    return <>{of.stage && shown(of.stage)} {left !== undefined && (left < 0 ? t().overdue : t().verdictDue(span(left)))}</>;
  }
  const parts = [of.preSeconds && `PRE ${span(of.preSeconds)}`, of.postSeconds && `POST ${span(of.postSeconds)}`].filter(Boolean);
  return <>{parts.length > 0 ? parts.join(" · ") : shown(of.outcome)}</>;
}
