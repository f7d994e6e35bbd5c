/** One packet on its own page, and where to go from it. */

import { html, nothing } from "lit";

import type { Cover, Packet } from "../packet/states.ts";
import type { RedPacket } from "../packet/red-packet.ts";
import "../packet/red-packet.ts";
import { f } from "../i18n/frame.ts";
import { session } from "../session.ts";
import { isInWeChat } from "../user-agent.ts";
import { note } from "./commitments.ts";
import { View, wantsSignIn } from "./view.ts";

export class PacketView extends View {
  static override properties = {
    ...View.properties,
    packetId: {},
    packet: { state: true },
    status: { state: true },
  };
  declare packetId: string;
  declare packet: Packet | undefined;
  declare status: string;
  #isNamed = false;

  override render() {
    const ended = this.packet && ["emptied", "closing", "closed"].includes(this.status);
    return html`
      <section class="stage">
        <h1 class="unseen" tabindex="-1">${f("brand")}</h1>
        <red-packet
          packet-id=${this.packetId}
          via=${new URLSearchParams(location.search).get("via") ?? ""}
          .client=${session.client}
          @change=${this.#look}
          @signin=${() => wantsSignIn(this)}
        ></red-packet>
        <nav class="after-packet">
          ${this.packet
            ? html`<a href="/packets/${this.packetId}/share">${f("share_again")}</a>`
            : nothing}
          ${ended ? html`<a href="/packets/${this.packetId}/proof">${f("proof")}</a>` : nothing}
          ${session.person ? html`<a href="/send">${f("send_back")}</a>` : nothing}
        </nav>
      </section>
    `;
  }

  /** Notes the commitment as soon as the packet is known, for the check after its end. */
  readonly #look = (event: Event) => {
    const { flow } = event.currentTarget as RedPacket;
    const packet = flow?.packet;
    this.packet = packet;
    this.status = flow?.live.feed?.status ?? packet?.status ?? "open";
    if (flow?.cover) this.#name(flow.cover);
    if (packet?.status === "open") note(packet.packet_id, packet.commitment);
  };

  /** Names the document, and in WeChat the card of its link, by the packet; never an exclusive one. */
  #name(cover: Cover): void {
    if (this.#isNamed) return;
    this.#isNamed = true;
    const detail = cover.is_exclusive ? "" : cover.greeting;
    this.dispatchEvent(new CustomEvent("named", { detail, bubbles: true }));
    if (!isInWeChat() || !session.config?.wechat) return;
    const link = `${location.origin}/packets/${this.packetId}`;
    void import("../wechat-share.ts").then(({ setCard }) => setCard(cover, link));
  }
}

customElements.define("rp-packet-view", PacketView);
