/** The closed packet: its sender, the greeting, and the coin to tap. */

import { html, nothing, svg, type TemplateResult } from "lit";

import { graphemes } from "../graphemes.ts";
import { duration, p, problemText } from "../i18n/packet.ts";
import { spoken } from "../money.ts";
import { now } from "../now.ts";
import type { PacketFlow } from "./flow.ts";
import { canListen } from "./speech.ts";

export interface CoverDeeds {
  isLeaving: boolean;
  /** Whether the cover's picture failed to load, so the plain cover is shown. */
  isBare: boolean;
  loseArt: () => void;
  isListening: boolean;
  take: (event: Event) => void;
  listen: () => void;
  retry: () => void;
  watch: () => void;
  signIn: () => void;
}

const MICROPHONE = html`<svg viewBox="0 0 24 24" aria-hidden="true">
  <rect x="9" y="3" width="6" height="11" rx="3" />
  <path d="M6 11a6 6 0 0 0 12 0M12 17v4M9 21h6" />
</svg>`;
const STOP = html`<svg viewBox="0 0 24 24" aria-hidden="true">
  <rect x="7" y="7" width="10" height="10" rx="2" />
</svg>`;
const SPARKS = Array.from({ length: 14 });

export function coverView(flow: PacketFlow, deeds: CoverDeeds): TemplateResult {
  const { cover, state } = flow;
  const isTurning = state === "opening" || state === "confirming";
  const art = !deeds.isBare && cover?.cover_url;
  return html`
    <div
      class="cover ${deeds.isLeaving ? "is-leaving" : ""} ${art ? "has-art" : ""}"
      ?inert=${deeds.isLeaving}
    >
      <div class="flap">
        ${art
          ? html`<img src=${art} alt="" referrerpolicy="no-referrer" @error=${deeds.loseArt} />`
          : nothing}
      </div>
      <form class="front" @submit=${deeds.take}>
        ${state === "missing" || state === "loading"
          ? html`<p class="greeting"></p>`
          : html`
              <div class="who">
                ${sealView(cover?.nickname, cover?.avatar_url)}
                <span class="name">${cover ? p("from", { name: cover.nickname }) : p("for_you")}</span>
              </div>
              ${greetingView(cover?.greeting || p("default_greeting"))}
            `}
        ${phraseView(flow, deeds)}
        <div class="middle">${coinView(flow, deeds, isTurning)}</div>
        <div class="note">
          ${noteView(flow, deeds)}
          ${flow.canWatch
            ? html`<button type="button" class="plain" @click=${deeds.watch}>${p("watch")}</button>`
            : nothing}
        </div>
      </form>
      ${deeds.isLeaving ? html`<div class="burst">${SPARKS.map(() => html`<i></i>`)}</div>` : nothing}
    </div>
  `;
}

/** Renders long greetings in smaller type, so that the coin does not move. */
function greetingView(text: string): TemplateResult {
  const { length } = graphemes(text);
  const size = length > 28 ? "is-longer" : length > 14 ? "is-long" : "";
  return html`<p class="greeting ${size}">${text}</p>`;
}

/** Renders a person's first letter on a seal, under their picture if the API has one. */
export function sealView(nickname = "", avatarUrl: string | null = null): TemplateResult {
  const [letter = "福"] = graphemes(nickname.trim());
  const show = ({ type, currentTarget }: Event) =>
    ((currentTarget as HTMLElement).hidden = type === "error");
  return html`<span class="seal" aria-hidden="true">
    ${letter.toUpperCase()}
    ${avatarUrl
      ? html`<img
          src=${avatarUrl}
          alt=""
          loading="lazy"
          referrerpolicy="no-referrer"
          @load=${show}
          @error=${show}
        />`
      : nothing}
  </span>`;
}

function coinView(flow: PacketFlow, deeds: CoverDeeds, isTurning: boolean) {
  const { state } = flow;
  if (state === "loading") return html`<span class="coin is-quiet" aria-hidden="true">福</span>`;
  if (state === "missing" || state === "refused") {
    return html`<span class="coin is-quiet is-still" aria-hidden="true">福</span>`;
  }
  if (state === "signed_out") {
    return html`<button type="button" class="plate" @click=${deeds.signIn}>${p("sign_in")}</button>`;
  }
  const isGrab = flow.cover?.is_two_step && state !== "admitted" && !isTurning;
  const waitS = Math.ceil((flow.waitUntilMs - now()) / 1000);
  const isOff = isTurning || !flow.canTap;
  const isWaiting = isOff && waitS > 0 && !isTurning;
  const text = isWaiting ? String(waitS) : isGrab ? p("grab") : p("open");
  const word = isWaiting ? "" : isGrab ? p("grab_word") : p("open_word");
  return html`
    <button
      class="coin ${isTurning ? "is-turning" : ""}"
      aria-label=${isGrab ? p("grab_label") : p("open_label")}
      aria-disabled=${isOff ? "true" : "false"}
    >
      ${state === "admitted" ? ringView((flow.admittedUntilMs - now()) / flow.admittedForMs) : nothing}
      ${word ? html`<span data-sign=${text}><small>${word}</small></span>` : html`<span>${text}</span>`}
    </button>
  `;
}

/** Renders the remaining fraction of the time as a ring around the coin. */
function ringView(part: number): TemplateResult {
  const left = Math.max(0, Math.min(1, part)) * 100;
  return html`<svg class="ring" viewBox="0 0 124 124" aria-hidden="true">
    ${svg`<circle cx="62" cy="62" r="58" pathLength="100" stroke-dasharray="${left} 100" />`}
  </svg>`;
}

function phraseView(flow: PacketFlow, deeds: CoverDeeds) {
  if (!flow.cover?.needs_passphrase || !["ready", "opening", "confirming"].includes(flow.state)) {
    return nothing;
  }
  const { problem } = flow;
  return html`
    <div class="phrase">
      <label for="phrase">${p("say")}</label>
      <div class="row">
        <input
          id="phrase"
          name="passphrase"
          autocomplete="off"
          enterkeyhint="go"
          maxlength="200"
          ?readonly=${flow.state !== "ready"}
          aria-invalid=${problem === "passphrase_mismatch" ? "true" : "false"}
        />
        ${canListen()
          ? micView(deeds.isListening, deeds.listen)
          : nothing}
      </div>
    </div>
  `;
}

/** Renders the button that starts and stops listening. */
export function micView(isListening: boolean, listen: () => void): TemplateResult {
  return html`<button
    type="button"
    class="mic"
    aria-label=${p(isListening ? "stop_listening" : "listen")}
    @click=${listen}
  >
    ${isListening ? STOP : MICROPHONE}
  </button>`;
}

function noteView(flow: PacketFlow, deeds: CoverDeeds) {
  const { state, problem, cover } = flow;
  switch (state) {
    case "loading":
      return p("loading");
    case "opening":
      return p("opening");
    case "confirming":
      return problem === "offline" ? problemText("offline") : p("confirming");
    case "admitted":
      return html`<strong>${p("admitted")}</strong>
        <span>${p("admitted_hint", { s: secondsUntil(flow.admittedUntilMs) })}</span>`;
    case "waiting": {
      const leftMs = (cover?.starts_at_ms ?? 0) - now();
      return leftMs > 0 ? p("starts_in", { time: duration(leftMs) }) : p("starts_soon");
    }
    case "missing":
      return html`<strong>${problemText(problem ?? "packet_not_found")}</strong>
        ${problem && problem !== "packet_not_found"
          ? html`<button type="button" class="plain" @click=${deeds.retry}>${p("retry")}</button>`
          : nothing}`;
    case "refused":
      return html`<strong>${problemText(problem ?? "forbidden")}</strong>`;
    default:
      if (problem) return html`<strong>${problemText(problem)}</strong>`;
      if (cover?.is_exclusive) return p("exclusive");
      return cover ? p(cover.kind === "lucky" ? "lucky_kind" : "equal_kind") : nothing;
  }
}

function secondsUntil(atMs: number): number {
  return Math.max(0, Math.round((atMs - now()) / 1000));
}

/** Returns what screen readers announce when the state changes. */
export function announcement(flow: PacketFlow): string {
  const { shownState: state, problem, claim } = flow;
  if (state === "opened" && claim) return p("live_open", { amount: spoken(claim.amount_fen) });
  if (state === "opening") return p("opening");
  if (state === "confirming") return p("confirming");
  if (state === "gone") return p("gone");
  if (state === "expired") return p("expired");
  if (state === "admitted") return p("admitted");
  return problem ? problemText(problem) : "";
}
