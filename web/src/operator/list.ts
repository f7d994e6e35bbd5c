/** One table for all lists, with columns, filters in the URL, pages, and exports. */

import { html, nothing, type TemplateResult } from "lit";

import { Problem } from "../api/problems.ts";
import { navigate } from "../router.ts";
import { session } from "../session.ts";
import { loadingView } from "../views/view.ts";
import { address, csvFile, Rows, save, TooLongError, wholeCsv, wholeTable } from "./pages.ts";
import { ConsoleView, duties } from "./view.ts";
import type { Duty } from "./roles.ts";
import { o, type OpWord } from "./words.ts";

export interface Column<Row> {
  label: OpWord;
  show: (row: Row) => TemplateResult | string | number;
  isNumber?: boolean;
}

export interface Filter {
  name: string;
  label: OpWord;
  /** Values of a dropdown. Without values, the filter is a text field. */
  options?: readonly { value: string; label: OpWord }[];
}

/** Definition of a list with rows of type `Row`. */
export interface ListOf<Row> {
  path: string;
  title: OpWord;
  /** Name of the exported file, without its extension. */
  file: string;
  /** Whether the API has no CSV for this list. */
  isWithoutCsv?: boolean;
  /** Duty that readers of the list need. */
  duty: Duty;
  columns: readonly Column<Row>[];
  filters?: readonly Filter[];
  /** Buttons of a row, if any. */
  actions?: (row: Row) => TemplateResult | typeof nothing;
}

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- a list shows rows of any kind
type Any = any;

export class OperatorList extends ConsoleView {
  static override properties = { ...ConsoleView.properties, list: {}, rows: { state: true } };
  declare list: ListOf<Any>;
  declare rows: Rows<Any>;
  #reading = new AbortController();
  #saving: AbortController | undefined;

  override connectedCallback(): void {
    super.connectedCallback();
    this.reload();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#reading.abort();
    this.#saving?.abort();
  }

  /** Filters from the URL, so that a link or a reload shows the same rows. */
  get #filters(): Record<string, string> {
    const query = new URLSearchParams(location.search);
    const names = this.list.filters?.map(({ name }) => name) ?? [];
    return Object.fromEntries(names.flatMap((name) => (query.get(name) ? [[name, query.get(name)!]] : [])));
  }

  override async refresh(): Promise<void> {
    const rows = new Rows(session.client, this.list.path, this.#filters);
    const before = this.rows;
    await rows.more();
    // Keep a list to which the reader has added pages.
    if (this.rows === before && before.items.length <= rows.items.length) this.rows = rows;
  }

  reload(): void {
    this.#reading.abort();
    this.#reading = new AbortController();
    this.rows = new Rows(session.client, this.list.path, this.#filters);
    this.#more();
  }

  #more(): void {
    const { rows } = this;
    const { signal } = this.#reading;
    void this.attempt(async () => {
      try {
        await rows.more(signal);
      } catch (error) {
        if (signal.aborted) return;
        duties().note(this.list.duty, error);
        throw error;
      }
      this.requestUpdate();
    });
  }

  override render() {
    const { list, rows } = this;
    const isSaving = this.#saving !== undefined;
    return html`
      <section class="list">
        <div class="tools">
          ${list.filters ? this.#filtersView(list.filters) : nothing}
          ${duties().may(list.duty) && !list.isWithoutCsv
            ? isSaving
              ? html`<button class="secondary" @click=${() => this.#saving?.abort()}>${o("cancel")}</button>`
              : html`<button class="secondary" @click=${() => this.#save("csv")}>${o("csv")}</button>
                  <button class="secondary" @click=${() => this.#save("xlsx")}>${o("xlsx")}</button>`
            : nothing}
        </div>
        ${this.news()}
        ${rows.items.length ? this.#table() : nothing}
        ${rows.next === undefined
          ? this.problem ? this.#again() : loadingView()
          : rows.next !== null
            ? html`<button class="secondary more" @click=${() => this.#more()}>${o("more")}</button>`
            : rows.items.length ? nothing : html`<p class="empty">${o("none")}</p>`}
      </section>
    `;
  }

  #again(): TemplateResult | typeof nothing {
    if (!duties().may(this.list.duty)) return nothing;
    return html`<button class="secondary more" @click=${() => this.reload()}>${o("again")}</button>`;
  }

  #filtersView(filters: readonly Filter[]) {
    const values = this.#filters;
    const change = (event: Event) => {
      event.preventDefault();
      const form = (event.target as HTMLElement).closest("form")!;
      const wanted = Object.fromEntries(
        [...new FormData(form)].map(([name, value]) => [name, typeof value === "string" ? value.trim() : ""]),
      );
      navigate(address(location.pathname, wanted), true);
      this.reload();
    };
    return html`
      <form class="filters" role="search" aria-label=${o("filters")} @submit=${change}>
        ${filters.map(({ name, label, options }) => {
          const value = values[name] ?? "";
          return html`<label>
            <span>${o(label)}</span>
            ${options
              ? html`<select name=${name} @change=${change}>
                  <option value="" ?selected=${!value}>${o("all")}</option>
                  ${options.map(
                    (option) =>
                      html`<option value=${option.value} ?selected=${option.value === value}>${o(option.label)}</option>`,
                  )}
                </select>`
              : html`<input name=${name} .value=${value} autocomplete="off" spellcheck="false" />`}
          </label>`;
        })}
        ${filters.every(({ options }) => options)
          ? nothing
          : html`<button class="secondary">${o("filter")}</button>`}
      </form>
    `;
  }

  /** Renders the table. Rows become cards on a narrow screen, so explicit roles keep it a table for screen readers. */
  #table() {
    const { columns, actions } = this.list;
    return html`
      <table role="table" aria-label=${o(this.list.title)}>
        <thead role="rowgroup">
          <tr role="row">
            ${columns.map(
              ({ label, isNumber }) =>
                html`<th role="columnheader" scope="col" class=${isNumber ? "number" : nothing}>${o(label)}</th>`,
            )}
            ${actions ? html`<th role="columnheader" scope="col">${o("actions")}</th>` : nothing}
          </tr>
        </thead>
        <tbody role="rowgroup">
          ${this.rows.items.map(
            (row: Any) => html`<tr role="row">
              ${columns.map(
                ({ label, show, isNumber }) =>
                  html`<td role="cell" class=${isNumber ? "number" : nothing} data-label=${o(label)}>
                    <div>${show(row)}</div>
                  </td>`,
              )}
              ${actions ? html`<td role="cell" class="acts">${actions(row)}</td>` : nothing}
            </tr>`,
          )}
        </tbody>
      </table>
    `;
  }

  #save(kind: "csv" | "xlsx"): void {
    const saving = (this.#saving = new AbortController());
    const filters = this.#filters;
    this.message = o("csv_begun");
    void this.attempt(async () => {
      try {
        const onPage = (n: number) => (this.message = o("csv_pages", { n }));
        const list = [session.client, this.list.path, filters, onPage, saving.signal] as const;
        const file = `${this.list.file}.${kind}`;
        if (kind === "csv") save(file, csvFile(await wholeCsv(...list)));
        else {
          const [table, { sheetOf }] = await Promise.all([wholeTable(...list), import("./sheet.ts")]);
          save(file, await sheetOf(table));
        }
        this.message = o("csv_done", { file });
      } catch (error) {
        this.message = "";
        if (error instanceof TooLongError) this.message = o("csv_long");
        else if (saving.signal.aborted) this.message = o("csv_cancelled");
        else throw error instanceof Problem ? error : new Problem("unknown");
      }
    }).finally(() => {
      this.#saving = undefined;
      this.requestUpdate();
    });
  }
}

customElements.define("op-list", OperatorList);
