import { useState } from "preact/hooks";
import type { Query } from "../api";
import { useResource } from "../resource";
import type { Reference } from "../route";
import { session } from "../settings";
import { shown } from "../text/safe";
import { rightOf } from "../text/sentences";
import { t } from "../text";
import type { ActionList, PodList, Release, Status } from "../types";
import { verbsOf, type Verb } from "../verbs";
import { Notes } from "./basic";
import { Dialog } from "./dialog";

interface Given { of: Reference; release: Release; status?: Status; pods?: PodList; query: Query; occasion: unknown; done: () => void }

// Actions are the verbs that act on a release. A read-only page has none: what can be done is listed as lines for the shell.
export function Actions(given: Given) {
  return session.value === undefined || session.value.readOnly ? null : <Buttons {...given} />;
}

function Buttons({ of, release, status, pods, query, occasion, done }: Given) {
  const may = useResource<ActionList>("may", query, occasion);
  const [open, show] = useState<Verb | undefined>(undefined);
  return (
    <>
      <ul class="actions">
        {verbsOf(release, status, pods).map((verb) => <li key={verb.name}><ActButton verb={verb} may={may.data} press={() => show(verb)} /></li>)}
      </ul>
      <Notes of={may.data?.notes} />
      {open && <Dialog verb={open} of={of} at={release} close={(acted) => { show(undefined); if (acted) done(); }} />}
    </>
  );
}

// ActButton is the button of a verb, greyed where the user lacks the right, which is told beside it.
export function ActButton({ verb, may, about, press }: { verb: Verb; may?: ActionList; about?: string; press: () => void }) {
  const action = may?.items?.find((item) => item.verb === verb.name);
  const denied = action?.may === false ? t().mayNot(shown(action.right ?? rightOf(action.needs))) : undefined;
  const why = ["why", verb.name, about].filter(Boolean).join("-");
  return (
    <>
      <button class={verb.grave ? "grave" : ""} disabled={denied !== undefined} aria-describedby={denied && why} onClick={press}>{t().verbs[verb.name]}</button>
      {denied && <span class="denied" id={why}>{denied}</span>}
    </>
  );
}
