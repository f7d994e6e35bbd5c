/** Actions on an existing campaign: publish, pause, resume, end, and send a rain. */

import { html } from "lit";

import type { Schemas } from "../api/client.ts";
import { amountProblem, parseYuan, yuanGrouped } from "../money.ts";
import { now } from "../now.ts";
import { session } from "../session.ts";
import { atMost } from "../views/view.ts";
import { bodyOf, stateOf, type Campaign } from "./plan.ts";
import { awaitingView, awaits, type Awaiting, closedText, confirm, facts, inZone, reading, write } from "./view.ts";
import { o } from "./words.ts";

export type Deed = "publish" | "pause" | "resume" | "end";

/** Actions that a campaign's state allows. */
export function deedsOf(campaign: Campaign, nowMs = now()): readonly Deed[] {
  const state = stateOf(campaign, nowMs);
  if (state === "draft") return ["publish"];
  if (state === "upcoming") return ["pause"];
  if (state === "running") return ["pause", "end"];
  return state === "paused" ? ["resume", "end"] : [];
}

/** Confirms *deed* with a preview, and does it under the shown version; undefined if canceled. */
export async function doDeed(campaign: Campaign, deed: Deed) {
  const body = html`
    <p>${o(`${deed}_hint`)}</p>
    ${facts(
      [o("starts"), inZone(campaign.starts_at_ms, campaign.timezone)],
      [o("ends"), inZone(campaign.ends_at_ms, campaign.timezone)],
    )}
  `;
  if (!(await confirm(`${o(deed)}: ${campaign.title}`, body, o(deed)))) return undefined;
  const sent = {
    ...bodyOf(campaign),
    version: campaign.version,
    ...(deed === "end"
      ? { ends_at_ms: Math.max(now(), campaign.starts_at_ms + 1) }
      : { status: deed === "pause" ? "off" : "on" }),
  };
  const answer = await write<Campaign | Awaiting>("PUT", `/admin/campaigns/${campaign.campaign_id}`, sent);
  return awaits(answer) ? awaitingView() : `${o(`${deed}_done`)} ${closedText(answer)}`;
}

/** Asks for a rain's sum, shares and greeting, and sends it from the budget; undefined if canceled. */
export async function sendRain(campaign: Campaign) {
  const field = (label: string, more: ReturnType<typeof html>) =>
    html`<label class="field tall"><span>${label}</span>${more}</label>`;
  const type = ({ target }: InputEvent) => {
    const input = target as HTMLInputElement;
    const read = reading(input.value);
    const isWrong = amountProblem(input.value) !== undefined;
    input.setCustomValidity(isWrong ? read || o("bad_amount") : "");
    input.nextElementSibling!.textContent = read;
  };
  const body = html`
    <p class="hint">${o("rain_hint", { left: yuanGrouped(campaign.budget_left_fen) })}</p>
    ${field(o("total"), html`<input name="total" inputmode="decimal" required autocomplete="off" @input=${type} /><small aria-live="polite"></small>`)}
    ${field(o("shares"), html`<input name="count" type="number" min="1" max="1000000" required autocomplete="off" />`)}
    ${field(o("greeting"), html`<input name="greeting" @input=${atMost(50)} autocomplete="off" placeholder=${o("greeting_default")} />`)}
  `;
  const form = await confirm(o("rain_title"), body, o("send_rain"));
  const text = (name: string) => {
    const value = form?.get(name);
    return typeof value === "string" ? value.trim() : "";
  };
  const totalFen = parseYuan(text("total"));
  if (!form || !totalFen) return undefined;
  const sent = {
    ...{ kind: "lucky", total_fen: totalFen, count: Number(text("count")), campaign_id: campaign.campaign_id },
    ...(text("greeting") && { greeting: text("greeting") }),
  };
  // Noted first: after a reload the same rain has the same key, and is sent once.
  const slot = `rain ${campaign.campaign_id}`;
  const { key } = session.writes.begin(slot, session.person?.sub ?? "", sent);
  await write<Schemas["SentPacket"]>("POST", "/admin/packets", sent, key);
  session.writes.end(slot);
  return o("rain_done", { n: sent.count, sum: yuanGrouped(totalFen) });
}
