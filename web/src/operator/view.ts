/** Base of the console's views: the operator's duties, and the result of the last action. */

import { html, nothing, type TemplateResult } from "lit";

import { newKey } from "../api/keys.ts";
import type { Method, Schemas } from "../api/client.ts";
import { formatTime } from "../i18n/language.ts";
import { amountProblem, grouped, money, parseAmount, plainAmount } from "../money.ts";
import { session } from "../session.ts";
import { ask } from "../views/ask.ts";
import { problemView, View } from "../views/view.ts";
import { Duties, type Duty } from "./roles.ts";
import { o } from "./words.ts";

let cached: { scope: string; duties: Duties } | undefined;

/** Returns the duties of the signed-in operator. */
export function duties(): Duties {
  const scope = session.person?.scope ?? "";
  if (cached?.scope !== scope) cached = { scope, duties: new Duties(scope) };
  return cached.duties;
}

let named: { sub: string; token: Promise<string> } | undefined;

/** Loads this operator's token, as it appears in lists. The request also stores their name, which the audit log shows. */
export function ownToken(): Promise<string> {
  const sub = session.person?.sub ?? "";
  if (named?.sub !== sub) {
    const token = session.client.get("/admin/me").then((me) => me.user_token);
    token.catch(() => (named = undefined));
    named = { sub, token };
  }
  return named.token;
}

export type Awaiting = Schemas["AwaitingApproval"];
const REPEATS = 6;

export class ConsoleView extends View {
  static override properties = { ...View.properties, message: { state: true }, isBusy: { state: true } };
  /** Result of the last action, which screen readers announce. */
  declare message: TemplateResult | string;
  declare isBusy: boolean;

  constructor() {
    super();
    this.message = "";
    this.isBusy = false;
  }

  /** Runs *work*, which needs *duty*, unless another action is running. Hides the duty if the API refuses it. */
  protected async act(duty: Duty, work: () => Promise<TemplateResult | string>): Promise<void> {
    if (this.isBusy) return;
    this.isBusy = true;
    this.message = "";
    await this.attempt(async () => {
      try {
        this.message = await work();
      } catch (error) {
        duties().note(duty, error);
        throw error;
      }
    });
    this.isBusy = false;
  }

  /** Renders the result of the last action, which screen readers announce, or its problem. */
  protected news(): TemplateResult {
    return html`
      <p class=${this.message ? "message" : "unseen"} role="status">${this.message}</p>
      ${this.problem ? problemView(this.problem) : nothing}
    `;
  }
}

/** Sends an idempotent write under *key*, by default a new one. */
export function write<Answer extends object>(method: Method, path: string, body?: unknown, key = newKey()): Promise<Answer> {
  return session.client.ask<Answer>(method, path, { body, key, repeats: REPEATS });
}

/** Returns whether a write waits for another operator's approval. */
export function awaits(answer: object): answer is Awaiting {
  return "approval_id" in answer;
}

export function awaitingView(): TemplateResult {
  return html`${o("awaits")} <a href="/operator/approvals?status=awaiting">${o("approvals")}</a>`;
}

/** Returns a note about the packets that stay closed after an edit, or "" if there are none. */
export function closedText(edited: Partial<Pick<Schemas["CampaignAdmin"], "closed_packets">>): string {
  return edited.closed_packets ? o("closed_packets", { n: edited.closed_packets }) : "";
}

let handedOver = "";

/** Stores *message* for the view that opens next. */
export function handOver(message: string): void {
  handedOver = message;
}

/** Returns, once, the message that the previous view stored. */
export function takeOver(): string {
  const message = handedOver;
  handedOver = "";
  return message;
}

/** Asks for confirmation with the console's labels. Returns the form after *work*, or undefined if the operator cancels. */
export function confirm(
  title: string,
  body: TemplateResult,
  yes: string,
  work?: (form: FormData) => Promise<unknown>,
): Promise<FormData | undefined> {
  return ask(title, body, { yes, no: o("cancel") }, work);
}

/** Renders a question's labeled lines. */
export function facts(...lines: [string, TemplateResult | string | number][]): TemplateResult {
  return html`<dl class="facts">
    ${lines.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}
  </dl>`;
}

/** Formats a time with its date, because lists span many days. */
export function when(atMs: number | null | undefined): string {
  if (atMs === null || atMs === undefined) return "";
  return formatTime(atMs, { dateStyle: "short", timeStyle: "medium", hourCycle: "h23" });
}

/** Formats a time in the campaign's time zone. */
export function inZone(atMs: number, timeZone: string): string {
  return formatTime(atMs, { timeZone, dateStyle: "medium", timeStyle: "short", hourCycle: "h23" });
}

/** Returns the amount in *text* as it will be sent, or the reason why it is invalid. Empty for empty input. */
export function reading(text: string): string {
  if (!text.trim()) return "";
  const problem = amountProblem(text);
  return problem ? o(problem, { text: plainAmount(text) }) : money(parseAmount(text)!);
}

/** Formats an amount without its unit, for a column whose header names the unit. */
export function amountCell(fen: number | null | undefined): string {
  return fen === null || fen === undefined ? "" : grouped(fen);
}
