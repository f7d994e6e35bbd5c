/** Pages of an operators' list, to show one by one or to save as one file. */

import type { Client } from "../api/client.ts";

export interface Page<Row> {
  items: Row[];
  next: string | null;
}

/** Maximum number of pages to read until new rows arrive. A page may be short or empty without being the last. */
const READS_MAX = 10;
export const CSV_LIMIT = 100;
/** Maximum number of pages that a browser saves. Use the command line for longer lists. */
export const CSV_PAGES_MAX = 1000;

/** Returns the URL of a list with the non-empty values of *query*. */
export function address(path: string, query: Record<string, string | number | null | undefined>): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return text ? `${path}?${text}` : path;
}

/** Rows of a list that have been loaded so far. */
export class Rows<Row> {
  items: Row[] = [];
  /** Cursor of the next page: undefined before the first page, null after the last. */
  next: string | null | undefined;
  readonly #client: Client;
  readonly #path: string;
  readonly #filters: Record<string, string>;

  constructor(client: Client, path: string, filters: Record<string, string> = {}) {
    this.#client = client;
    this.#path = path;
    this.#filters = filters;
  }

  /** Reads up to READS_MAX pages, until new rows arrive or the list ends. */
  async more(signal?: AbortSignal): Promise<void> {
    const before = this.items.length;
    for (let reads = 0; reads < READS_MAX && this.next !== null; reads++) {
      const path = address(this.#path, { ...this.#filters, cursor: this.next });
      const page = await this.#client.get<Page<Row>>(path, signal ? { signal } : {});
      this.items = [...this.items, ...page.items];
      this.next = page.next;
      if (this.items.length > before) return;
    }
  }

  /** Merges *changed* into the row that *isIt* matches. */
  replace(isIt: (row: Row) => boolean, changed: Partial<Row>): void {
    this.items = this.items.map((row) => (isIt(row) ? { ...row, ...changed } : row));
  }
}

/** Thrown if the list has more pages than a browser saves. */
export class TooLongError extends Error {}

interface CsvPage {
  text: string;
  next: string | null;
}

/**
 * Reads all pages of a list as one CSV text with one header line.
 *
 * The API escapes cells for spreadsheets. If a page fails, the function throws: half a list of winners
 * looks like a complete one.
 */
export async function wholeCsv(
  client: Client,
  path: string,
  filters: Record<string, string> = {},
  onPage: (pages: number) => void = () => undefined,
  signal?: AbortSignal,
): Promise<string> {
  const lines: string[] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    if (lines.length === CSV_PAGES_MAX) throw new TooLongError();
    const page = await client.get<CsvPage>(
      address(path, { ...filters, limit: CSV_LIMIT, cursor }),
      { accept: "text/csv", read: readPage, ...(signal && { signal }) },
    );
    lines.push(lines.length ? withoutHead(page.text) : page.text);
    cursor = page.next;
    onPage(lines.length);
  }
  return lines.join("");
}

/** A list with its CSV columns and JSON values. */
export interface Table {
  columns: string[];
  items: Record<string, unknown>[];
}

/** Reads all pages of a list as objects. If a page fails, the function throws. */
export async function wholeTable(
  client: Client,
  path: string,
  filters: Record<string, string> = {},
  onPage: (pages: number) => void = () => undefined,
  signal?: AbortSignal,
): Promise<Table> {
  const abort = signal && { signal };
  const head = await client.get<CsvPage>(address(path, { ...filters, limit: 1 }), { accept: "text/csv", read: readPage, ...abort });
  const items: Table["items"] = [];
  let pages = 0;
  for (let cursor: string | null | undefined; cursor !== null; ) {
    if (pages === CSV_PAGES_MAX) throw new TooLongError();
    const page = await client.get<Page<Table["items"][number]>>(address(path, { ...filters, limit: CSV_LIMIT, cursor }), { ...abort });
    items.push(...page.items);
    cursor = page.next;
    onPage(++pages);
  }
  const [line = ""] = head.text.split("\r\n", 1);
  return { columns: line.split(",").map((name) => name.replace(/^"|"$/g, "")), items };
}

async function readPage(answer: Response): Promise<CsvPage> {
  return { text: await answer.text(), next: answer.headers.get("X-Next-Cursor") };
}

/** Removes the header line. Column names contain no line breaks. */
function withoutHead(text: string): string {
  const end = text.indexOf("\r\n");
  return end < 0 ? "" : text.slice(end + 2);
}

/** Returns a CSV file with a byte order mark, so that spreadsheets read it as UTF-8. */
export function csvFile(text: string): Blob {
  return new Blob(["\uFEFF", text], { type: "text/csv;charset=utf-8" });
}

/** Downloads *content* as a file. */
export function save(name: string, content: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
