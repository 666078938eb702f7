import { Copy, Failure, Mark, Section, type Tone } from "../components/basic";
import { here } from "../commands";
import { Table, type Column } from "../components/table";
import { useResource } from "../resource";
import { shown } from "../text/safe";
import { sentence } from "../text/sentences";
import { t } from "../text";
import type { Diagnosis, Finding } from "../types";

const looks: Record<string, [string, Tone]> = { OK: ["check", "good"], Problem: ["cross", "bad"], Note: ["note", "warn"], Unknown: ["ring", "quiet"] };

export function Doctor() {
  const { data, error, loading, again } = useResource<Diagnosis>("doctor", {});
  const columns: Column<Finding>[] = [
    { name: t().outcome, kind: "narrow", cell: (finding) => <Result of={finding.result} /> },
    { name: t().topic, kind: "head", cell: (finding) => shown(sentence("topic." + finding.topic, [])) },
    { name: t().finding, kind: "wide", cell: (finding) => <bdi class="text">{shown(sentence("symptom." + finding.symptom, finding.values ?? []))}</bdi> },
    { name: t().help, kind: "wide", cell: (finding) => finding.help && <Copy line={here(finding.help)} label={t().copyLine} /> },
  ];
  return (
    <>
      <h1 tabIndex={-1} class="hidden">{t().doctor}</h1>
      <Section id="doctor" title={t().doctor}>
        {error && <Failure what={t().doctor} error={error} again={again} />}
        {!data && loading && <p class="muted" role="status">{t().examining}</p>}
        {data && <p class="summary-line"><Mark shape={data.problems === 0 ? "check" : "cross"} tone={data.problems === 0 ? "good" : "bad"} />{t().problems(data.problems)} <button onClick={again}>{t().retry}</button></p>}
        {data && <Table caption={t().doctor} columns={columns} rows={data.items ?? []} id={(finding) => finding.symptom + (finding.values ?? []).join()} />}
      </Section>
    </>
  );
}

function Result({ of }: { of: string }) {
  const [shape, tone] = looks[of] ?? ["ring", "quiet"];
  return <span class={`state ${tone}`}><Mark shape={shape} tone={tone} />{t().results[of] ?? shown(of)}</span>;
}
