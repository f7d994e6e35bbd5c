/** The open packet: the amount, then the list of claims. */

import { html, nothing, type TemplateResult } from "lit";

import { clock } from "../i18n/language.ts";
import { graphemes } from "../graphemes.ts";
import { duration, p, problemText } from "../i18n/packet.ts";
import { affixes, digits, spoken, unitWord } from "../money.ts";
import { sealView } from "./cover.ts";
import type { PacketFlow } from "./flow.ts";
import { isOver, type Emoji, type Feed } from "./states.ts";

const EMOJI = "🙏 ❤️ 🎉 👍 👏 🌹 🧧 😄 😍 🥳 🔥 💰".split(" ") as Emoji[];
const FIRST_EMOJI = 5;
const TEXT_LETTERS_MAX = 20;
const TEXT_BYTES_MAX = 80;

type Row = Feed["claims"][number];

/** Placeholder for the user's own row until the list contains that row. */
const NOBODY = { nickname: "", avatar_url: null, is_luckiest: null, thanks: null, thanks_text: null };

/** Renders the contents. *proofUrl* links to the check of the amounts, if the page has no such link of its own. */
export function insideView(flow: PacketFlow, proofUrl: string | undefined): TemplateResult {
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
      ${flow.shownState === "opened" && !flow.packet?.is_sender ? thanksView(flow) : nothing}
      ${proofUrl && flow.live.feed && flow.live.feed.status !== "open"
        ? html`<a class="plain" href=${proofUrl} target="_blank" rel="noopener">${p("verify")}</a>`
        : nothing}
    </div>
  `;
}

function resultView(flow: PacketFlow) {
  const { shownState: state, claim, packet, startsAtMs } = flow;
  if (state === "opened" && claim) {
    const isQueued = claim.payout === "queued";
    const isBest = ownOf(flow)?.is_luckiest;
    return html`
      <p class="amount ${isBest ? "is-best" : ""}" tabindex="-1">${moneyView(claim.amount_fen)}</p>
      <p class="after">
        ${isBest ? html`<em>${p("luckiest")}</em>` : nothing}
        ${flow.isRepeat ? html`${p("again")}<br />` : nothing}
        ${isQueued ? p("depositing") : p("deposited")}
      </p>
      ${packet?.is_sender ? endView(flow) : nothing}
    `;
  }
  if (state === "watching") {
    const left = flow.live.feed?.remaining_count ?? packet!.remaining_count;
    const mayTake = !packet?.is_sender || !packet.is_exclusive;
    return html`
      <p class="sorry" tabindex="-1">${p(left ? "left" : "gone", { n: left })}</p>
      ${startsAtMs ? html`<p class="after">${p("starts_at", { at: clock(startsAtMs) })}</p>` : nothing}
      ${left && mayTake
        ? html`<button type="button" class="plain" @click=${() => flow.showCover()}>
            ${p("take_own")}
          </button>`
        : nothing}
    `;
  }
  const isCancelled = flow.record?.status === "cancelled";
  return html`
    <p class="sorry" tabindex="-1">${p(state === "gone" ? "gone" : isCancelled ? "cancelled" : "expired")}</p>
    ${state === "expired" ? endView(flow) : nothing}
  `;
}

/** Renders the note about the refund of unclaimed money. */
function endView(flow: PacketFlow) {
  const { record } = flow;
  const { status, remaining_count: left } = flow.live.feed ?? record ?? {};
  const refunded = record?.refunded_fen ?? 0;
  if (!left || !status || status === "cancelled" || (flow.state === "opened" && !isOver({ status }))) return nothing;
  const isClosed = status === "closed";
  return html`<p class="after">
    ${refunded ? p("closed_hint", { amount: spoken(refunded) }) : p(isClosed ? "expired_hint" : "closing_hint")}
  </p>`;
}

function thanksView(flow: PacketFlow) {
  if (flow.thanks) {
    const { emoji, text } = flow.thanks;
    return html`<p class="thanked" role="status">${p("thanked")} ${emoji} ${text}</p>`;
  }
  const thank = (event: Event, emoji?: Emoji) => {
    event.preventDefault();
    const field = (event.currentTarget as Element).closest("form")!.querySelector("input")!;
    const text = field.value.trim();
    if (emoji || text) void flow.thank({ ...(emoji ? { emoji } : {}), ...(text ? { text } : {}) });
    else field.focus();
  };
  return html`<form class="thanks" aria-label=${p("thank")} @submit=${thank}>
    ${flow.thanksProblem ? html`<p role="alert">${problemText(flow.thanksProblem)}</p>` : nothing}
    <input
      name="thanks"
      autocomplete="off"
      enterkeyhint="send"
      aria-label=${p("thanks_text")}
      placeholder=${p("thanks_text")}
      @input=${shorten}
      @compositionend=${shorten}
    />
    <button class="say">${p("send_thanks")}</button>
    <div>
      ${(flow.showsAllEmoji ? EMOJI : EMOJI.slice(0, FIRST_EMOJI)).map(
        (emoji) => html`<button type="button" @click=${(event: Event) => thank(event, emoji)}>${emoji}</button>`,
      )}
      ${flow.showsAllEmoji
        ? nothing
        : html`<button type="button" aria-label=${p("more_emoji")} @click=${() => flow.showAllEmoji()}>…</button>`}
    </div>
  </form>`;
}

/** Truncates the text to the API's limit without splitting a character, but not during IME composition. */
function shorten(event: Event): void {
  if ((event as InputEvent).isComposing) return;
  const field = event.currentTarget as HTMLInputElement;
  const letters = graphemes(field.value).slice(0, TEXT_LETTERS_MAX);
  while (new TextEncoder().encode(letters.join("")).length > TEXT_BYTES_MAX) letters.pop();
  if (letters.join("") !== field.value) field.value = letters.join("");
}

function recordsView(flow: PacketFlow) {
  const { feed, claims, hasMore } = flow.live;
  if (!feed) return nothing;
  const own = ownOf(flow);
  const others = claims.filter((claim) => claim !== own);
  // The API lists the oldest rows first. Once all rows are loaded, show the newest first.
  if (!hasMore) others.reverse();
  return html`
    <section class="records" aria-label=${p("records")}>
      <p class="sum">${sumText(feed)}</p>
      ${claims.length === 0 && !flow.claim ? html`<p class="empty">${p("nobody_yet")}</p>` : nothing}
      <ol>
        ${flow.claim ? claimView({ ...NOBODY, ...own, ...flow.claim }, flow) : nothing}
        ${others.map((claim) => claimView(claim))}
      </ol>
      ${hasMore
        ? html`<button type="button" class="plain" @click=${() => void flow.live.askMore()}>
            ${p("more")}
          </button>`
        : nothing}
    </section>
  `;
}

/** Returns the viewer's row. The feed has no user ids, so the row must be the only one with the claim's time and amount. */
export function ownOf({ live, claim }: PacketFlow): Row | undefined {
  const same = live.claims.filter(
    ({ claimed_at_ms, amount_fen }) =>
      claimed_at_ms === claim?.claimed_at_ms && (amount_fen ?? claim.amount_fen) === claim.amount_fen,
  );
  return same.length === 1 ? same[0] : undefined;
}

/** Renders the amount in larger type than its unit. */
function moneyView(fen: number) {
  const [before, after] = affixes(unitWord());
  return html`${before}<b>${digits(fen)}</b>${after}`;
}

/** Returns the summary of the shares. While amounts are hidden, the summary has only the number of shares. */
function sumText(feed: Feed): string {
  const n = feed.claimed_count;
  const m = feed.count;
  const all = feed.total_fen;
  if (feed.emptied_in_ms !== null) {
    return p("emptied_in", { m, all: spoken(all), time: duration(feed.emptied_in_ms) });
  }
  const got = feed.claimed_fen;
  const sum = got === null ? p("sealed_sum") : p("taken_sum", { got: digits(got), all: spoken(all) });
  return `${p("taken", { n, m })} · ${sum}`;
}

function claimView(claim: Row, own?: PacketFlow) {
  const { amount_fen: amount } = claim;
  const nickname = own?.viewer.nickname || claim.nickname;
  const { emoji, text } = own?.thanks ?? { emoji: claim.thanks, text: claim.thanks_text };
  return html`
    <li class=${claim.is_luckiest ? "is-best" : ""}>
      ${sealView(nickname, own?.viewer.avatarUrl ?? claim.avatar_url)}
      <span class="taker">
        <span class="mine"><span class="name">${nickname}</span>${own ? html` <i>${p("you")}</i>` : nothing}</span>
        <time>${clock(claim.claimed_at_ms)}${emoji ? ` ${emoji}` : nothing}</time>
        ${text ? html`<q>${text}</q>` : nothing}
      </span>
      <span class="share">
        ${amount === null
          ? html`<span class="sealed" role="img" aria-label=${p("sealed")}></span>`
          : moneyView(amount)}
        ${claim.is_luckiest ? html`<em>${p("luckiest")}</em>` : nothing}
      </span>
    </li>
  `;
}
