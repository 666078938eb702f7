import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { wordOf } from "../kinds";
import { hasNamesake, now } from "../live";
import { partsOf, shown, upTo } from "../text/safe";
import { noteOf } from "../text/sentences";
import { t } from "../text";
import { absolute, number, span } from "../time";
import type { FailedPod, Note, Release, State } from "../types";

const longest = 400;

// Text shows a text of others: isolated, so that its direction stays its own, and cut if it is very long.
export function Text({ of }: { of: string | undefined }) {
  const [whole, showWhole] = useState(false);
  const text = shown(of ?? "");
  const isLong = text.length > longest && !whole;
  return (
    <>
      <bdi class="text">
        {upTo(partsOf(text), isLong ? longest : Infinity).map((part) =>
          part.link === undefined ? part.text : <a href={part.link} target="_blank" rel="noopener noreferrer">{part.text}</a>)}
      </bdi>
      {isLong && <button class="plain" onClick={() => showWhole(true)}>{t().showAll}</button>}
    </>
  );
}

// Name shows the name of an object.
export function Name({ of }: { of: string }) {
  const text = shown(of);
  return <bdi class={text.length > 28 ? "name long" : "name"}>{text}</bdi>;
}

// Kind shows the kind of a workload, with its group where another kind has the same name. A Deployment needs none.
export function Kind({ of }: { of: string }) {
  return of === "Deployment" ? null : <>{" "}<span class="kind">{shown(hasNamesake(of) ? of : wordOf(of))}</span></>;
}

export function Version({ of }: { of: string | undefined }) {
  return of ? <code title={shown(of)}>{shown(of).slice(0, 7)}</code> : null;
}

// At shows a time, or how long ago it was, with the time and its zone as the title.
export function At({ time, as }: { time: string | undefined; as?: (at: number) => string }) {
  const at = Date.parse(time ?? "");
  if (Number.isNaN(at)) {
    return null;
  }
  return <time dateTime={time} title={absolute(at)}>{as ? as(at) : span((now.value - at) / 1000)}</time>;
}

const shapes: Record<string, string> = {
  cross: "M4 4l8 8M12 4l-8 8", check: "M3 8.5l3.5 3.5L13 4.5", back: "M6 3L2.5 6.5 6 10M3 6.5h6.5a3.5 3.5 0 0 1 0 7H7",
  pause: "M5.5 3.5v9M10.5 3.5v9", ring: "M8 3a5 5 0 1 1 0 10A5 5 0 1 1 8 3", turn: "M8 2.5a5.5 5.5 0 1 1-5.5 5.5", note: "M8 3v6M8 12.5v.1",
};

export type Tone = "bad" | "good" | "warn" | "busy" | "quiet";

export function Mark({ shape, tone }: { shape: string; tone: Tone }) {
  return <svg class={`mark ${tone} ${shape}`} viewBox="0 0 16 16" width="16" height="16" aria-hidden="true"><path d={shapes[shape]} /></svg>;
}

const looks: Record<State, [string, Tone]> = {
  Suspend: ["cross", "bad"], Failed: ["cross", "bad"], Success: ["check", "good"], RolledBack: ["back", "warn"], Waiting: ["pause", "warn"],
  Running: ["turn", "busy"], Pending: ["turn", "busy"], Superseded: ["ring", "quiet"], NotChecked: ["ring", "quiet"],
};

export function toneOf(state: State): Tone {
  return looks[state]?.[1] ?? "quiet";
}

// StateMark shows a state by its mark, its colour and its word.
export function StateMark({ of: { state: of, notSuspended } }: { of: Release }) {
  const [shape, tone] = looks[of] ?? ["ring", "quiet"];
  return <span class={`state ${tone}`} title={notSuspended ? t().notSuspended : t().states[of]}><Mark shape={shape} tone={tone} />{shown(of)}</span>;
}

export function Tag({ tone, children }: { tone?: Tone; children: ComponentChildren }) {
  return <span class={`tag ${tone ?? ""}`}>{children}</span>;
}

export function Notes({ of }: { of: Note[] | undefined }) {
  if (!of || of.length === 0) {
    return null;
  }
  return <ul class="notes" role="note">{of.map((note) => <li><Mark shape="note" tone="warn" />{shown(noteOf(note))}</li>)}</ul>;
}

// Failure tells that something can't be shown, or what else failed.
export function Failure({ what, says, error, again }: { what?: string; says?: string; error: Error; again?: () => void }) {
  return (
    <p class="failure" role="alert">
      <Mark shape="cross" tone="bad" />{says ?? t().failed(what ?? "")} <Text of={error.message} />
      {again && <button onClick={again}>{t().retry}</button>}
    </p>
  );
}

// Copy shows a line for the shell, and copies it.
export function Copy({ line, label }: { line: string; label?: string }) {
  // The line may become another one, which isn't copied.
  const [tried, keep] = useState({ line: "", done: false });
  const copy = () => navigator.clipboard.writeText(line).then(() => keep({ line, done: true }), () => keep({ line, done: false }));
  return (
    <span class="copy">
      <code><bdi>{shown(line)}</bdi></code>
      <button onClick={copy} title={shown(line)}>{label ?? t().copy}</button>
      <span class="told" role="status">{tried.line === line && (tried.done ? t().copied : t().copyFailed)}</span>
    </span>
  );
}

const mostNames = 3;

// PodsByMessage lists pods by what is said of them: each message once, with its first pods.
export function PodsByMessage({ of, label, children }: { of: FailedPod[]; label: string; children?: ComponentChildren }) {
  const found = new Map<string, string[]>();
  for (const { pod, message = "" } of of) {
    found.set(message, [...(found.get(message) ?? []), pod]);
  }
  return (
    <ul class="failures" aria-label={label}>
      {[...found].map(([message, pods]) => (
        <li>{pods.slice(0, mostNames).map((pod) => <><Name of={pod} /> </>)}{pods.length > mostNames && <span class="muted">{t().more(pods.length - mostNames)} </span>}<Text of={message} /></li>
      ))}
      {children}
    </ul>
  );
}

export function Section({ id, title, count, children }: { id: string; title: string; count?: number; children: ComponentChildren }) {
  return (
    <section aria-labelledby={id}>
      <h2 id={id}>{title}{count !== undefined && <span class="count">{number(count)}</span>}</h2>
      {children}
    </section>
  );
}
