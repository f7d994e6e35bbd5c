/** One packet on its own page, with links to next steps. */

import { html, nothing, type TemplateResult } from "lit";

import { isOpen, isOver, type Cover, type Packet } from "../packet/states.ts";
import { ownOf } from "../packet/inside.ts";
import type { RedPacket } from "../packet/red-packet.ts";
import "../packet/red-packet.ts";
import { f } from "../i18n/frame.ts";
import { digits } from "../money.ts";
import { appHere } from "../providers/registry.ts";
import { session } from "../session.ts";
import { isSoundOn, playCoin, turnSound } from "../sound.ts";
import { note } from "./commitments.ts";
import type { Draft } from "./draft.ts";
import { problemView, View, wantsSignIn, WIDE } from "./view.ts";

/** Maximum number of shares in the prefilled form of a relay. */
const RELAY_COUNT_MAX = 100;

export class PacketView extends View {
  static override properties = {
    ...View.properties,
    packetId: {},
    packet: { state: true },
    status: { state: true },
    isInside: { state: true },
    code: { state: true },
    isBest: { state: true },
    isEnding: { state: true },
  };
  declare packetId: string;
  declare packet: Packet | undefined;
  declare status: Packet["status"];
  declare isInside: boolean;
  declare code: TemplateResult | undefined;
  declare isBest: boolean;
  declare isEnding: boolean;
  #isNamed = false;

  override connectedCallback(): void {
    super.connectedCallback();
    if (matchMedia(WIDE).matches) void this.#drawCode();
  }

  /** Draws a QR code for phones. Only wide screens have room for it. */
  async #drawCode(): Promise<void> {
    const { codeOf } = await import("./qr.ts");
    this.code = await codeOf(location.origin + location.pathname + location.search, f("scan_to_open"));
  }

  override render() {
    const isLive = !isOver(this);
    return html`
      <section class="stage">
        <h1 class="unseen" tabindex="-1">${f("brand")}</h1>
        <red-packet
          class=${this.isInside ? "is-open" : ""}
          packet-id=${this.packetId}
          via=${new URLSearchParams(location.search).get("via") ?? ""}
          .client=${session.client}
          .nickname=${session.person?.nickname}
          .avatarUrl=${session.person?.avatarUrl}
          @claimed=${this.#onClaimed}
          @change=${this.#look}
          @signin=${() => wantsSignIn(this)}
        ></red-packet>
        <nav class="after-packet">
          ${this.packet && isLive
            ? html`<a href="/packets/${this.packetId}/share">${f("share_again")}</a>`
            : nothing}
          ${this.packet?.is_sender && !this.packet.campaign_id && isLive
            ? html`<button class="quiet" ?disabled=${this.isEnding} @click=${this.#end}>${f("end_now")}</button>`
            : nothing}
          ${this.packet && !isLive
            ? html`<a href="/packets/${this.packetId}/proof">${f("proof")}</a>`
            : nothing}
          ${!isLive && this.packet?.campaign_id
            ? html`<a href="/campaigns/${this.packet.campaign_id}">${f("more_of_campaign")}</a>`
            : nothing}
          ${session.person
            ? this.isBest
              ? html`<a class="secondary" href="/send" @click=${this.#relay}>${f("relay")}</a>`
              : html`<a href="/send">${f("send_back")}</a>`
            : nothing}
          <button class="quiet" aria-pressed=${isSoundOn() ? "true" : "false"} @click=${this.#turnSound}>
            ${f(isSoundOn() ? "sound_on" : "sound_off")}
          </button>
        </nav>
        ${this.problem ? problemView(this.problem) : nothing}
        ${this.code
          ? html`<aside class="beside"><div class="qr">${this.code}</div><p class="hint">${f("scan_to_open")}</p></aside>`
          : nothing}
      </section>
    `;
  }

  readonly #onClaimed = () => {
    playCoin();
    this.dispatchEvent(new Event("amount", { bubbles: true }));
  };

  /** Prefills the send form with the user's amount and the packet's number of shares. */
  readonly #relay = () => {
    const { claim, cover, packet } = this.querySelector<RedPacket>("red-packet")!.flow!;
    const count = Math.min(packet!.count, claim!.amount_fen, RELAY_COUNT_MAX);
    const amount = digits(claim!.amount_fen);
    const draft: Partial<Draft> = { amount, count: `${count}`, greeting: cover?.greeting ?? "" };
    session.writes.begin("draft", session.person?.sub ?? "", draft);
  };

  readonly #turnSound = () => {
    turnSound(!isSoundOn());
    this.requestUpdate();
  };

  readonly #end = () =>
    void this.attempt(async () => {
      this.isEnding = true;
      try {
        const { endPacket } = await import("./end-packet.ts");
        if (await endPacket(this.packet!)) await this.querySelector<RedPacket>("red-packet")?.flow?.load();
      } finally {
        this.isEnding = false;
      }
    });

  /** Stores the commitment as soon as the packet is loaded, for the check after its end. */
  readonly #look = (event: Event) => {
    const { flow } = event.currentTarget as RedPacket;
    const packet = flow?.packet;
    this.packet = packet;
    this.status = flow?.live.feed?.status ?? packet?.status ?? "open";
    this.isBest = Boolean(flow?.packet && flow.claim && ownOf(flow)?.is_luckiest);
    this.isInside = flow !== undefined && isOpen(flow.state);
    if (flow?.cover) this.#name(flow.cover);
    if (packet?.status === "open") note(packet.packet_id, packet.commitment);
  };

  /** Sets the document's title and, in a provider's app, the link's card. An exclusive packet stays unnamed. */
  #name(cover: Cover): void {
    if (this.#isNamed) return;
    this.#isNamed = true;
    const detail = cover.is_exclusive ? "" : cover.greeting;
    this.dispatchEvent(new CustomEvent("named", { detail, bubbles: true }));
    const app = appHere();
    if (!app?.isSetUp(session.config!)) return;
    const link = `${location.origin}/packets/${this.packetId}`;
    void app.sharing().then((sharing) => sharing.setCard(session.client, cover, link));
  }
}

customElements.define("rp-packet-view", PacketView);
