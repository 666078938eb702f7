import { useMemo } from "preact/hooks";
import { Failure, Name, Notes, Section } from "../components/basic";
import { Table, type Column } from "../components/table";
import { Bars, type Bar } from "../components/bars";
import { before, byWeek, csv, factsOf, failRate, keysOf, median, since, weeksOf, type Keys } from "../delivery";
import { now } from "../live";
import { useResource } from "../resource";
import { chosen } from "../settings";
import { t } from "../text";
import { day, midnight, number, percent, span } from "../time";
import type { Export } from "../types";

// Measure is one of the four keys.
interface Measure { name: string; value: (keys: Keys) => number | undefined; text: (value: number) => string; unit?: string }

function measures(length: number): Measure[] {
  return [
    { name: t().frequency, value: (keys) => keys.deployments / length, text: (value) => number(value, 1), unit: t().perWeek },
    { name: t().failRate, value: failRate, text: percent },
    { name: t().recoveryTime, value: (keys) => median(keys.recoveries), text: span, unit: t().median },
    { name: t().leadTime, value: (keys) => median(keys.leads), text: span, unit: t().median },
  ];
}

function told(measure: Measure, keys: Keys): string {
  const value = measure.value(keys);
  return value === undefined ? t().none : measure.text(value);
}

export function Dora() {
  // Whole days: the figures needn't move while they are read.
  const end = useMemo(() => midnight(now.peek(), 1), []);
  const query = { namespace: chosen.value, from: new Date(since(end) - before).toISOString(), to: new Date(end).toISOString() };
  const { data, error, loading, again } = useResource<Export>("releases", query);
  const facts = useMemo(() => factsOf(data?.items ?? []).filter((fact) => fact.at >= since(end)), [data]);
  const keys = keysOf(facts);
  const byTime = byWeek(facts, end);
  const length = weeksOf(data?.items ?? [], end);
  const namespaces = [...new Set(facts.map((fact) => fact.namespace))].sort();
  return (
    <>
      <h1 tabIndex={-1}>{t().dora}</h1>
      <p class="muted">{t().doraHint}</p>
      <Notes of={data?.notes} />
      {error && <Failure what={t().dora} error={error} again={again} />}
      {!data && loading && <p class="muted">{t().loading}</p>}
      {data && (
        <>
          <div class="tiles">
            {measures(length).map((measure, index) => {
              const weekly = measures(1)[index] ?? measure;
              const bars: Bar[] = byTime.map(({ from, keys: of }) => ({ title: `${t().week(day(from))}: ${told(weekly, of)}`, value: weekly.value(of) ?? 0 }));
              return (
                <div class="tile" role="group" aria-label={measure.name}>
                  <h2>{measure.name}</h2>
                  <p><strong>{told(measure, keys)}</strong> {measure.value(keys) !== undefined && <span class="muted">{measure.unit}</span>}</p>
                  <Bars of={bars} label={`${measure.name}: ${bars.map((bar) => bar.title).join("; ")}`} />
                </div>
              );
            })}
          </div>
          <p class="muted">{t().leftOut(keys.superseded, keys.unchecked)} {keys.delivered > 0 && t().withoutLead(percent(1 - Math.min(1, keys.leads.length / keys.delivered)))}</p>
          <Section id="namespaces" title={t().byNamespace}>
            {namespaces.length === 0 ? <p class="muted">{t().empty}</p> : <ByNamespace length={length} rows={namespaces.map((name) => ({ name, keys: keysOf(facts.filter((fact) => fact.namespace === name)) }))} />}
          </Section>
        </>
      )}
    </>
  );
}

interface Row { name: string; keys: Keys }

function ByNamespace({ rows, length }: { rows: Row[]; length: number }) {
  const columns: Column<Row>[] = [
    { name: t().namespace, kind: "head", cell: (row) => <Name of={row.name} /> },
    { name: t().verified, kind: "number", cell: (row) => number(row.keys.verified) },
    ...measures(length).map((measure): Column<Row> => ({ name: measure.name, kind: "number", cell: (row) => told(measure, row.keys) })),
    { name: t().rework, kind: "number", cell: (row) => (row.keys.decided === 0 ? t().none : percent(row.keys.reworked / row.keys.decided)) },
  ];
  const save = () => {
    const lines = rows.map(({ name, keys }) => [name, keys.deployments, keys.verified, keys.bad, keys.superseded, keys.unchecked, failRate(keys) ?? "", median(keys.recoveries) ?? "", median(keys.leads) ?? ""]);
    const head = ["namespace", "deployments", "verified", "failed", "superseded", "unchecked", "change_fail_rate", "recovery_seconds_median", "lead_time_seconds_median"];
    const address = URL.createObjectURL(new Blob([csv([head, ...lines])], { type: "text/csv" }));
    const link = Object.assign(document.createElement("a"), { href: address, download: "delivery.csv" });
    link.click();
    setTimeout(() => URL.revokeObjectURL(address), 1_000);
  };
  return <><Table caption={t().byNamespace} columns={columns} rows={rows} id={(row) => row.name} /><p><button onClick={save}>{t().csv}</button></p></>;
}
