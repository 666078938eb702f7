import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { post } from "../api";
import { actOf } from "../commands";
import type { Reference } from "../route";
import { shown } from "../text/safe";
import { t } from "../text";
import type { Requested, Side } from "../types";
import { changedFields, choicesOf, type Field, type Fields, type Verb } from "../verbs";
import { Copy, Failure, Mark, Text, Version } from "./basic";

type Phase = "form" | "asking" | "preview" | "acting" | "done";

// Shown is the release that the page shows. An observed one has another number than the workload knows.
type Shown = Side & { observed?: boolean };

// Dialog asks for what a verb needs, shows what a dry run would change, and acts only after that.
export function Dialog({ verb, of, at, close }: { verb: Verb; of: Reference; at?: Shown; close: (acted: boolean) => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useRef<HTMLHeadingElement>(null);
  const [fields, setFields] = useState<Fields>(Object.fromEntries(verb.fields.map((field) => [field.name, field.first ?? ""])));
  const [reason, setReason] = useState("");
  const [phase, go] = useState<Phase>("form");
  const [answer, keep] = useState<Requested | undefined>(undefined);
  // The page goes on to the next release; the dialog was opened for this one.
  const [opened] = useState(at);
  const [failure, fail] = useState<Error | undefined>(undefined);

  // Before the browser paints: a key pressed in between would go to the page behind.
  useLayoutEffect(() => { dialog.current?.showModal(); }, []);
  // The heading, not the button that acts: a second press of the same key must not act.
  useLayoutEffect(() => { if (phase === "preview" || phase === "done") heading.current?.focus(); }, [phase]);

  const send = async (dryRun: boolean) => {
    go(dryRun ? "asking" : "acting");
    fail(undefined);
    try {
      keep(await post<Requested>(`act/${verb.name}`, bodyOf(verb, of, fields, reason, dryRun, dryRun ? undefined : answer)));
      go(dryRun ? "preview" : "done");
    } catch (refusal) {
      fail(refusal as Error);
      go("form");
    }
  };
  const isFixed = phase !== "form";
  // A browser lets a page keep a dialog open once: what acts is shown again until it is known what became of it.
  return (
    <dialog ref={dialog} aria-labelledby="dialog-title" onClose={() => { if (phase === "acting") dialog.current?.showModal(); else close(phase === "done"); }} onCancel={(event) => { if (phase === "acting") event.preventDefault(); }}>
      <h2 id="dialog-title">{t().asks[verb.name]}</h2>
      <p class="muted"><bdi>{shown(of.name === "" ? of.namespace : of.namespace + "/" + of.name)}</bdi> {opened?.release !== undefined && <>{t().releaseNumber(opened.release)} <Version of={opened.version} /></>}</p>
      <form onSubmit={(event) => { event.preventDefault(); if (phase === "form") void send(true); }}>
        {verb.fields.map((field) => <Input field={field} choices={choicesOf(field, fields)} value={fields[field.name] ?? ""} fixed={isFixed} set={(value) => setFields(changedFields(verb, fields, field.name, value))} />)}
        {verb.reason !== "none" && <Input field={{ name: "reason", required: verb.reason === "required" }} value={reason} fixed={isFixed} set={setReason} />}
        {failure && <Failure says={t().actFailed} error={failure} />}
        {answer && (phase === "preview" || phase === "acting" || phase === "done") && <Preview of={answer} opened={opened} done={phase === "done"} heading={heading} />}
        <p class="line muted">{t().asCommand}</p>
        <Copy line={actOf(verb.name, of, fields, reason)} label={t().copyLine} />
        <div class="buttons">
          {phase === "form" && <button type="submit" class="primary">{t().preview}</button>}
          {(phase === "asking" || phase === "acting") && <span role="status">{t().working}</span>}
          {phase === "preview" && <button type="button" onClick={() => { fail(undefined); go("form"); }}>{t().edit}</button>}
          {phase === "preview" && <button type="button" class={verb.grave ? "primary grave" : "primary"} onClick={() => void send(false)}>{t().confirm}</button>}
          <button type="button" disabled={phase === "acting"} onClick={() => dialog.current?.close()}>{phase === "done" ? t().close : t().cancel}</button>
        </div>
      </form>
    </dialog>
  );
}

// bodyOf returns what to send. What acts names the release, the version and the step that the dry run saw, and the state of a batch or a lock, so that it
// can't hit others.
function bodyOf(verb: Verb, of: Reference, fields: Fields, reason: string, dryRun: boolean, seen: Requested | undefined) {
  const given = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== ""));
  const why = verb.reason === "none" || reason === "" ? {} : { reason };
  const workload = of.name === "" ? {} : { kind: of.kind, name: of.name };
  const from = seen?.from?.version ? { from: seen.from } : {};
  const at = seen?.at ? { at: seen.at } : {};
  const to = verb.name === "rollback" && seen?.to?.version ? { to: seen.to.version } : {};
  const step = verb.name === "go-on" && seen?.step ? { step: seen.step.split("/")[0] } : {};
  return { namespace: of.namespace, ...workload, ...given, ...why, ...from, ...at, ...to, ...step, dryRun };
}

function Input({ field, choices, value, fixed, set }: { field: Field; choices?: string[]; value: string; fixed: boolean; set: (value: string) => void }) {
  const required = field.required === true;
  return (
    <label class="field">
      <span>{t().fields[field.name]}{required && <span class="muted"> ({t().required})</span>}</span>
      {choices
        ? <select value={value} disabled={fixed} onChange={(event) => set(event.currentTarget.value)}>{choices.map((choice) => <option value={choice}>{t().choices[`${field.name}=${choice}`] ?? t().choices[choice] ?? shown(choice)}</option>)}</select>
        : <input name={field.name} value={value} required={required} disabled={fixed} maxLength={256} autocomplete="off" onInput={(event) => set(event.currentTarget.value)} />}
    </label>
  );
}

// movedTo returns the release that a workload is at, if that isn't the one that was shown.
function movedTo(of: Requested, opened: Shown | undefined): number | undefined {
  const isAnother = of.from?.release !== opened?.release || of.from?.version !== opened?.version;
  return opened && !opened.observed && isAnother ? of.from?.release : undefined;
}

function Preview({ of, opened, done, heading }: { of: Requested; opened?: Shown; done: boolean; heading: { current: HTMLHeadingElement | null } }) {
  const warnings = of.warnings ?? [];
  const moved = done ? undefined : movedTo(of, opened);
  return (
    <div class={done ? "preview done" : "preview"}>
      <h3 tabIndex={-1} ref={heading}>{done ? <><Mark shape="check" tone="good" />{t().isChanged}</> : t().wouldChange}</h3>
      {moved !== undefined && <p class="warn"><Mark shape="note" tone="warn" /> {t().moved(moved, opened?.release ?? 0)}</p>}
      <p><code><bdi>{shown(of.object)}</bdi></code> {of.from?.version && <Version of={of.from.version} />}{of.to?.version && <> → {of.to.release ? t().releaseNumber(of.to.release) : ""} <Version of={of.to.version} /></>}</p>
      {of.changes && of.changes.length > 0 && <ul class="changes">{of.changes.map((change) => <li><Text of={change} /></li>)}</ul>}
      {warnings.length > 0 && <><h4>{t().warnings}</h4><ul class="notes">{warnings.map((warning) => <li><Mark shape="note" tone="warn" /><Text of={warning} /></li>)}</ul></>}
    </div>
  );
}
