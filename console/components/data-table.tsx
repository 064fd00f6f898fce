import type { ComponentChildren, VNode } from "preact";

export interface TableColumn<Row> {
  readonly title: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** Numbers are aligned at the end; `wide` takes the room that is left; `short` stays on one line. */
  readonly fit?: "number" | "wide" | "short";
  /** False: left out on a narrow screen. */
  readonly onNarrow?: boolean;
}

interface DataTableProps<Row> {
  /** The name of the table, for readers that do not see the page. */
  readonly label: string;
  readonly columns: readonly TableColumn<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  /** Shown instead of a table without rows. */
  readonly empty: ComponentChildren;
}

/** A plain table. On a narrow screen each row becomes a block of named values. */
export function DataTable<Row>({ label, columns, rows, keyOf, empty }: DataTableProps<Row>): VNode {
  if (rows.length === 0) return <>{empty}</>;
  const classOf = ({ fit, onNarrow }: TableColumn<Row>) =>
    [fit === undefined ? "" : `column-${fit}`, onNarrow === false ? "column-optional" : ""].join(" ").trim();
  return (
    <div class="table-frame">
      <table aria-label={label}>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.title} scope="col" class={classOf(column)}>
                {column.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map((column) => (
                <td key={column.title} class={classOf(column)} data-title={column.title}>
                  <div class="cell">{column.cell(row)}</div>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
