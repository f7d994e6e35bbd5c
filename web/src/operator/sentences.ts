/** Sentences about operators' actions, requests and changes. */

import { html, nothing, type TemplateResult } from "lit";

import type { Schemas } from "../api/client.ts";
import { graphemes } from "../graphemes.ts";
import { fill, language, translate } from "../i18n/language.ts";
import { money } from "../money.ts";
import { FIELDS, SENTENCES, VALUES } from "./sentence-words.ts";
import { when } from "./view.ts";
import { o, wordOf } from "./words.ts";

type Action = Schemas["ListedAction"];
type Approval = Schemas["ListedApproval"];
type Change = Schemas["ActionChange"];

/** Returns the sentence about an action. In English, it is the API's summary. */
export function sentenceOf(row: Action | Approval): string {
  if (language() === "en") return row.summary;
  const key = "action" in row ? row.action : (`asks_${row.kind}` as const);
  const facts = Object.fromEntries(row.changes.map(({ field, after }) => [field, valueOf(field, after)]));
  if ("amount_fen" in row) facts.amount_fen = valueOf("amount_fen", String(row.amount_fen));
  const isNew = row.changes.every(({ before }) => before === null);
  const text = fill(SENTENCES[key] ?? row.summary, {
    ...facts,
    subject: subjectText(row),
    lock: lockText(row),
    edited: translate(isNew ? "新建了" : "修改了"),
  });
  return `${row.operator.user ?? row.operator.id} ${text}`;
}

/** Returns a text about a packet's passphrase and recipients. Older rows lack these facts. */
function lockText({ changes }: Action | Approval): string {
  const after = (name: string) => changes.find(({ field }) => field === name)?.after ?? "";
  const passphrase = { true: translate("，需要口令"), false: translate("，不用口令") }[after("has_passphrase")] ?? "";
  const count = after("recipients");
  return passphrase + (Number(count) ? fill("，只给指定的 {count} 人", { count }) : "");
}

function subjectText({ subject, subject_user: user }: Action | Approval): string {
  const [kind = "", id = ""] = subject.split(/:(.*)/s);
  if (kind === "user") return user ?? id;
  if (kind === "switch") return fill("“{name}”开关", { name: wordOf(`switch_${id}`) });
  return kind in FIELDS ? `${translate(FIELDS[kind]!)} ${id}` : subject;
}

/** Returns the display name of a changed field. */
function fieldOf(field: string): string {
  if (language() !== "en") return translate(FIELDS[field] ?? field);
  return field.replace(/_(at_ms|fen|ms)$/, (_, unit: string) => (unit === "at_ms" ? " at" : "")).replaceAll("_", " ");
}

/** Formats a value: money in the unit of account, times as local times. */
export function valueOf(field: string, text: string | null): string {
  if (text === null || text === "") return "—";
  if (field.endsWith("_fen") && /^-?\d{1,15}$/.test(text)) return money(Number(text));
  if (/(_at|until)_ms$/.test(field) && /^\d{1,15}$/.test(text)) return when(Number(text));
  if (field === "on") return o(text === "true" ? "turn_on" : "turn_off");
  if (text === "true" || text === "false") return o(text === "true" ? "yes" : "no");
  if (["status", "winner", "verdict", "kind", "mode", "audience_mode"].includes(field)) return wordOf(text);
  return (language() !== "en" && translate(VALUES[`${field}.${text}`] ?? "")) || text;
}

const DEFAULTS: readonly (string | null)[] = [null, "", "0", "{}", "[]", "false"];

/** Returns whether a new object's field has its default value. */
export function isDefault({ before, after }: Change): boolean {
  return before === null && DEFAULTS.includes(after);
}

/** Returns the changes to show: one per rule and prize, without version and edit counters. */
export function readable(changes: readonly Change[]): Change[] {
  return changes
    .filter(({ field }) => field !== "version" && field !== "audience_edits")
    .flatMap((change) => (change.field === "rules" ? rulesOf(change) : change.field === "prizes" ? oddsOf(change) : [change]));
}

/** Returns the odds of the other prizes, which the approver of a cash prize sees. */
function oddsOf({ after }: Change): Change[] {
  const prizes = JSON.parse(after ?? "{}") as Record<string, Record<string, string | number | boolean>>;
  return Object.entries(prizes).map(([id, odds]) => {
    const set = Object.entries(odds).filter(([, value]) => value);
    const text = set.map(([field, value]) => `${fieldOf(field)} ${valueOf(field, String(value))}`).join(", ");
    return { field: id, before: text, after: text };
  });
}

function rulesOf({ before, after }: Change): Change[] {
  const [old, now] = [before, after].map((text) => JSON.parse(text ?? "{}") as Record<string, number>);
  return Object.keys({ ...old, ...now })
    .map((field) => ({ field, before: textOf(old?.[field]), after: textOf(now?.[field]) }))
    .filter((rule) => before === after || rule.before !== rule.after);
}

const textOf = (value: number | undefined) => (value === undefined ? null : String(value));

/** Renders the exact changes, collapsed unless *isOpen*: each field with its values before and after. */
export function changesView(recorded: readonly Change[], isOpen = false): TemplateResult | typeof nothing {
  const changes = readable(recorded);
  const shown = changes.filter((change) => !isDefault(change));
  if (!changes.length) return nothing;
  return html`<details class="changes" ?open=${isOpen}>
    <summary>${o("changed_n", { n: shown.length })}</summary>
    ${linesOf(shown)}
    ${shown.length < changes.length
      ? html`<details><summary>${o("defaults_n", { n: changes.length - shown.length })}</summary>${linesOf(changes.filter(isDefault))}</details>`
      : nothing}
  </details>`;
}

/** Number of characters above which a value is shortened. An import lists hundreds of users in one value. */
const SHORT_MAX = 300;

function linesOf(changes: readonly Change[]) {
  const short = (text: string) =>
    text.length > SHORT_MAX ? html`<details><summary>${graphemes(text).slice(0, 80).join("")}…</summary>${text}</details>` : text;
  return html`<ul>
    ${changes.map(
      ({ field, before, after }) =>
        html`<li>
          <b>${fieldOf(field)}</b>
          ${before === null || before === after ? nothing : html`<span>${short(valueOf(field, before))}</span> →`}
          <span>${short(valueOf(field, after))}</span>
        </li>`,
    )}
  </ul>`;
}
