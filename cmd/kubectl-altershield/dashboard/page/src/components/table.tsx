import type { ComponentChildren } from "preact";

export interface Column<Row> {
  name: string;
  // kind is number, wide or narrow; a wide one takes what is left.
  kind?: "number" | "wide" | "narrow" | "head";
  // width is a class that sets the width, so that tables below each other are aligned.
  width?: string;
  cell: (row: Row) => ComponentChildren;
}

// Table is a table with headers. On a narrow screen each row is a card, whose cells have their header beside them; the roles keep it a table.
export function Table<Row>({ caption, columns, rows, id, aligned }: { aligned?: boolean; caption: string; columns: Column<Row>[]; rows: Row[]; id: (row: Row) => string }) {
  return (
    <div class="scroll"><table role="table" class={aligned ? "aligned" : undefined}>
      <caption class="hidden">{caption}</caption>
      <thead role="rowgroup">
        <tr role="row">{columns.map((column) => <th role="columnheader" scope="col" class={[column.kind, column.width].filter(Boolean).join(" ") || undefined}>{column.name}</th>)}</tr>
      </thead>
      <tbody role="rowgroup">
        {rows.map((row) => (
          <tr role="row" key={id(row)}>
            {columns.map((column) => {
              const content = column.cell(row);
              return column.kind === "head"
                ? <th role="rowheader" scope="row" class="head"><div class="cell">{content}</div></th>
                : <td role="cell" class={column.kind} data-label={column.name} data-empty={content === null || content === "" || content === undefined ? "" : undefined}>{column.kind === "wide" ? content : <div class="cell">{content}</div>}</td>;
            })}
          </tr>
        ))}
      </tbody>
    </table></div>
  );
}
