import { Failure, Mark, Notes, Section, Tag, Text } from "../components/basic";
import { Table, type Column } from "../components/table";
import { useResource } from "../resource";
import { shown } from "../text/safe";
import { t } from "../text";
import type { Setting, SettingList } from "../types";

export function Settings() {
  const { data, error, loading, again } = useResource<SettingList>("settings", {});
  const columns: Column<Setting>[] = [
    { name: t().setting, kind: "head", cell: (setting) => <code>{shown(setting.name)}</code> },
    { name: t().value, kind: "narrow", cell: (setting) => <><span>{setting.content ? shown(setting.content) : setting.enable ? t().on : t().off}</span>{setting.content && !setting.enable && <Tag>{t().off}</Tag>}{setting.default && <Tag>{t().byDefault}</Tag>}</> },
    { name: t().problem, kind: "wide", cell: (setting) => setting.problem && <><Mark shape="cross" tone="bad" /><Text of={setting.problem} /></> },
    { name: t().remark, kind: "wide", cell: (setting) => setting.remark && <Text of={setting.remark} /> },
  ];
  return (
    <>
      <h1 tabIndex={-1} class="hidden">{t().settings}</h1>
      <Section id="settings" title={t().settings}>
        <Notes of={data?.notes} />
        {error && <Failure what={t().settings} error={error} again={again} />}
        {!data && loading && <p class="muted">{t().loading}</p>}
        {data && <Table caption={t().settings} columns={columns} rows={data.items ?? []} id={(setting) => setting.name} />}
      </Section>
    </>
  );
}
