/** Lists as spreadsheets for people. Cells follow the same rules as in cli/redpacket_cli/files.py. */

import writeXlsxFile, { type Cell } from "write-excel-file/browser";

import type { Table } from "./pages.ts";

const TIME = "yyyy-mm-dd hh:mm:ss";
/** Column width in characters, enough for a date and time. */
const WIDTH = 20;

/** Returns a list as an .xlsx file: ids as text, sums as numbers, times in this browser's time zone. */
export function sheetOf({ columns, items }: Table): Promise<Blob> {
  const head = columns.map((column): Cell => ({ value: column.replace(/_ms$/, ""), type: String, fontWeight: "bold" }));
  const rows = items.map((item) => columns.map((column) => cellOf(column, item[column])));
  const widths = columns.map(() => ({ width: WIDTH }));
  return writeXlsxFile([head, ...rows], { columns: widths, stickyRowsCount: 1 }).toBlob();
}

/** Returns a cell. Text is never written as a formula, and becomes a number only in `_yuan` columns. */
export function cellOf(column: string, value: unknown): Cell {
  if (value === null || value === undefined || value === "") return null;
  if (typeof value === "number" && column.endsWith("_at_ms")) return { value: localTime(value), type: Date, format: TIME };
  if (typeof value === "number") return { value, type: Number };
  if (column.endsWith("_yuan")) return { value: Number(value), type: Number, format: "0.00" };
  return { value: typeof value === "string" ? value : JSON.stringify(value), type: String };
}

/** Shifts a time to the local zone, because spreadsheets have no time zones and the library writes UTC. */
function localTime(atMs: number): Date {
  const at = new Date(atMs);
  return new Date(atMs - at.getTimezoneOffset() * 60_000);
}
