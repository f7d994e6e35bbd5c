/** The open packet: the amount, then who took how much. */

import { html, nothing, type TemplateResult } from "lit";

import { clock } from "../i18n/language.ts";
import { duration, p } from "../i18n/packet.ts";
import { yuan } from "../money.ts";
import { sealView } from "./cover.ts";
import type { PacketFlow } from "./flow.ts";
import type { Emoji, Feed } from "./states.ts";

const EMOJI = "🙏 ❤️ 🎉 👍 👏 🌹 🧧 😄 😍 🥳 🔥 💰".split(" ") as Emoji[];

export function insideView(flow: PacketFlow): TemplateResult {
  const { cover } = flow;
  return html`
    <div class="inside">
      <header class="crown"></header>
      <div class="who">
        ${sealView(cover?.nickname, cover?.avatar_url)}
        <span class="name">${p("from", { name: cover?.nickname ?? p("someone") })}</span>
        ${cover?.kind === "lucky" ? html`<span class="chip" aria-hidden="true">拼</span>` : nothing}
      </div>
      <p class="greeting">${cover?.greeting || p("default_greeting")}</p>
      ${resultView(flow)} ${recordsView(flow)}
    </div>
  `;
}

function resultView(flow: PacketFlow) {
  const { state, claim, packet } = flow;
  if (state === "opened" && claim) {
    const isQueued = claim.payout === "queued";
    return html`
      <p class="amount" tabindex="-1"><b>${yuan(claim.amount_fen)}</b> <span>${p("yuan")}</span></p>
      <p class="after">
        ${flow.isRepeat ? html`${p("again")}<br />` : nothing}
        ${isQueued ? p("depositing") : p("deposited")}
      </p>
      ${packet?.is_sender ? nothing : thanksView(flow)}
    `;
  }
  if (state === "sent") {
    const left = flow.live.feed?.remaining_count ?? packet!.remaining_count;
    return html`
      <p class="sorry" tabindex="-1">${p("left", { n: left })}</p>
      ${left && !packet!.is_exclusive
        ? html`<button type="button" class="plain" @click=${() => flow.takeOwn()}>
            ${p("take_own")}
          </button>`
        : nothing}
    `;
  }
  const refunded = packet?.refunded_fen ?? 0;
  return html`
    <p class="sorry" tabindex="-1">${p(state === "gone" ? "gone" : "expired")}</p>
    ${state === "expired"
      ? html`<p class="after">
          ${refunded ? p("closed_hint", { amount: yuan(refunded) }) : p("expired_hint")}
        </p>`
      : nothing}
  `;
}

function thanksView(flow: PacketFlow) {
  if (flow.thanks) return html`<p class="after" role="status">${p("thanked")} ${flow.thanks}</p>`;
  return html`<div class="thanks" role="group" aria-label=${p("thank")}>
    <p class="after">${p("thank")}</p>
    ${EMOJI.map(
      (emoji) => html`<button type="button" @click=${() => void flow.thank(emoji)}>${emoji}</button>`,
    )}
  </div>`;
}

function recordsView(flow: PacketFlow) {
  const { feed, claims, hasMore } = flow.live;
  if (!feed) return nothing;
  // The feed has no viewer: the own claim is the one of the same millisecond.
  const same = claims.filter((claim) => claim.claimed_at_ms === flow.claim?.claimed_at_ms);
  const own = same.length === 1 ? same[0] : undefined;
  return html`
    <section class="records" aria-label=${p("records")}>
      <p class="sum">${sumText(feed)}</p>
      ${claims.length === 0 ? html`<p class="empty">${p("nobody_yet")}</p>` : nothing}
      <ol>
        ${claims.map((claim) => claimView(claim, claim === own ? flow : undefined))}
      </ol>
      ${hasMore
        ? html`<button type="button" class="plain" @click=${() => void flow.live.askMore()}>
            ${p("more")}
          </button>`
        : nothing}
    </section>
  `;
}

/** Amounts may be hidden until the end: then only the numbers of shares are told. */
function sumText(feed: Feed): string {
  const n = feed.claimed_count;
  const m = feed.count;
  const all = feed.total_fen;
  if (feed.emptied_in_ms !== null) {
    return p("emptied_in", { m, all: yuan(all), time: duration(feed.emptied_in_ms) });
  }
  const got = feed.claimed_fen;
  const sum = got === null ? p("sealed_sum") : p("taken_sum", { got: yuan(got), all: yuan(all) });
  return `${p("taken", { n, m })} · ${sum}`;
}

function claimView(claim: Feed["claims"][number], own?: PacketFlow) {
  const amount = own?.claim?.amount_fen ?? claim.amount_fen;
  const thanks = own?.thanks ?? claim.thanks;
  return html`
    <li>
      ${sealView(claim.nickname, claim.avatar_url)}
      <span class="taker">
        <span class="name">${claim.nickname}${own ? html` <i>${p("you")}</i>` : nothing}</span>
        <time>${clock(claim.claimed_at_ms)}${thanks ? ` ${thanks}` : nothing}</time>
      </span>
      <span class="share">
        ${amount === null
          ? html`<span class="sealed" role="img" aria-label=${p("sealed")}></span>`
          : html`<b>${yuan(amount)}</b> ${p("yuan")}`}
        ${claim.is_luckiest ? html`<em>${p("luckiest")}</em>` : nothing}
      </span>
    </li>
  `;
}
