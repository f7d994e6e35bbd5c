/** Actions on an existing campaign: publish, pause, resume, end, and send or plan a rain. */

import { html } from "lit";

import type { Schemas } from "../api/client.ts";
import { BOUNDS } from "../api/limits.ts";
import { amountProblem, money, parseAmount } from "../money.ts";
import { now } from "../now.ts";
import { session } from "../session.ts";
import { atMost } from "../views/view.ts";
import type { Look } from "./live.ts";
import { atMs, bodyOf, localText, stateOf, type Campaign } from "./plan.ts";
import { awaitingView, awaits, type Awaiting, closedText, confirm, facts, inZone, reading, write } from "./view.ts";
import { o } from "./words.ts";

/** Describes who may take part, by the list's mode and size. */
export function audienceText({ audience_mode: mode, audience_size: n }: Campaign): string {
  return o(mode ? `audience_${mode}` : "audience_none", { n }) + (mode || !n ? "" : o("audience_unused", { n }));
}

export type Deed = "publish" | "pause" | "resume" | "end";

/** Returns the actions that a campaign's state allows. */
export function deedsOf(campaign: Campaign, nowMs = now()): readonly Deed[] {
  const state = stateOf(campaign, nowMs);
  if (state === "draft") return ["publish"];
  if (state === "upcoming") return ["pause"];
  if (state === "running") return ["pause", "end"];
  return state === "paused" ? ["resume", "end"] : [];
}

/** Asks for confirmation with a preview, and applies *deed* to the displayed version. Returns undefined if canceled. */
export async function doDeed(campaign: Campaign, deed: Deed, { taken, left, unclaimedFen, unfollowed }: Look) {
  const body = html`
    <p>${o(`${deed}_hint`)}</p>
    ${facts(
      [o("starts"), inZone(campaign.starts_at_ms, campaign.timezone)],
      [o("ends"), inZone(campaign.ends_at_ms, campaign.timezone)],
      [o("who_takes_part"), audienceText(campaign)],
      [o("taken"), taken],
      [o("left"), left],
      [o("unclaimed"), `${money(unclaimedFen)} ${unfollowed ? o("unfollowed", { n: unfollowed }) : ""}`],
    )}
  `;
  if (!(await confirm(`${o(deed)}: ${campaign.title}`, body, o(deed)))) return undefined;
  const sent = {
    ...bodyOf(campaign),
    version: campaign.version,
    // `end_now` uses the server's clock.
    ...(deed === "end" ? { end_now: true } : { status: deed === "pause" ? "off" : "on" }),
  };
  const answer = await write<Campaign | Awaiting>("PUT", `/admin/campaigns/${campaign.campaign_id}`, sent);
  return awaits(answer) ? awaitingView() : `${o(`${deed}_done`)} ${closedText(answer)}`;
}

function field(label: string, more: ReturnType<typeof html>) {
  return html`<label class="field tall"><span>${label}</span>${more}</label>`;
}

function sumField(leftFen: number) {
  const type = ({ target }: InputEvent) => {
    const input = target as HTMLInputElement;
    const isOver = (parseAmount(input.value) ?? 0) > leftFen;
    const read = isOver ? o("over_budget", { left: money(leftFen) }) : reading(input.value);
    const isWrong = isOver || amountProblem(input.value) !== undefined;
    input.setCustomValidity(isWrong ? read || o("bad_amount") : "");
    input.nextElementSibling!.textContent = read;
  };
  // Hide the note, because the field shows the reason.
  const hide = ({ target }: Event) => ((target as HTMLInputElement).nextElementSibling!.textContent = "");
  const input = html`<input name="total" data-api="total_fen" inputmode="decimal" required autocomplete="off" @input=${type} @invalid=${hide} />`;
  return field(o("total"), html`${input}<small aria-live="polite"></small>`);
}

function textOf(form: FormData, name: string): string {
  const value = form.get(name);
  return typeof value === "string" ? value.trim() : "";
}

/** Asks for a rain's start, rounds and total, and schedules it. Returns undefined if canceled. */
export async function planRain(campaign: Campaign) {
  const { campaign_id: id, quota_per_user: quota, timezone } = campaign;
  const starts = localText(Math.max(now() + 120_000, campaign.starts_at_ms), timezone);
  const number = (name: "seconds" | "rounds" | "packets" | "count", value: number) => {
    const [min, max] = BOUNDS.RainBody[name];
    return field(o(`rain_${name}`), html`<input name=${name} type="number" min=${min} max=${max} .value=${String(value)} required />`);
  };
  const body = html`
    <p class="hint">${o("plan_rain_hint", { left: money(campaign.budget_left_fen), quota: quota || o("no_limit") })}</p>
    ${sumField(campaign.budget_left_fen)} ${field(o("starts"), html`<input name="starts" data-api="starts_at_ms" type="datetime-local" .value=${starts} required />`)}
    ${number("seconds", 20)} ${number("rounds", 1)} ${number("packets", Math.min(6, quota || 6))} ${number("count", 100)}
  `;
  let done: string | undefined;
  await confirm(o("plan_rain_title"), body, o("plan_rain"), async (form) => {
    const [totalFen, startsMs] = [parseAmount(textOf(form, "total"))!, atMs(textOf(form, "starts"), timezone)!];
    const [seconds, rounds, packets, count] = ["seconds", "rounds", "packets", "count"].map((name) => Number(textOf(form, name)));
    const sent = { starts_at_ms: startsMs, seconds, rounds, total_fen: totalFen, count, packets };
    const { rains } = await once<Schemas["PlannedRain"]>(`planned rain ${id}`, `/admin/campaigns/${id}/rains`, sent);
    done = o("plan_rain_done", { n: rains.length, at: inZone(startsMs, timezone), sum: money(totalFen) });
  });
  return done;
}

/** Stores the idempotency key before the write, so that the same rain is sent only once, even after a reload. */
async function once<Answer extends object>(slot: string, path: string, sent: object): Promise<Answer> {
  const { key } = session.writes.begin(slot, session.person?.sub ?? "", sent);
  const answer = await write<Answer>("POST", path, sent, key);
  session.writes.end(slot);
  return answer;
}

/** Asks for a rain's total, shares and greeting, and sends it from the budget. Returns undefined if canceled. */
export async function sendRain(campaign: Campaign) {
  const body = html`
    <p class="hint">${o("rain_hint", { left: money(campaign.budget_left_fen) })}</p>
    ${sumField(campaign.budget_left_fen)}
    ${field(o("shares"), html`<input name="count" type="number" min=${BOUNDS.SendBody.count[0]} max=${BOUNDS.SendBody.count[1]} required autocomplete="off" />`)}
    ${field(o("greeting"), html`<input name="greeting" @input=${atMost(50)} autocomplete="off" placeholder=${o("greeting_default")} />`)}
  `;
  let done: string | undefined;
  await confirm(o("rain_title"), body, o("send_rain"), async (form) => {
    const totalFen = parseAmount(textOf(form, "total"))!;
    const greeting = textOf(form, "greeting");
    const sent = {
      ...{ kind: "lucky", total_fen: totalFen, count: Number(textOf(form, "count")), campaign_id: campaign.campaign_id },
      ...(greeting && { greeting }),
    };
    await once<Schemas["SentPacket"]>(`rain ${campaign.campaign_id}`, "/admin/packets", sent);
    done = o("rain_done", { n: sent.count, sum: money(totalFen) });
  });
  return done;
}
