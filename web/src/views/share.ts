/** Share view: the link, its QR code, and a card to save as an image, with the code and greeting. */

import { html, nothing } from "lit";

import { clock } from "../i18n/language.ts";
import { p } from "../i18n/packet.ts";
import { t } from "../i18n/user.ts";
import type { Packet } from "../packet/states.ts";
import { money } from "../money.ts";
import { appHere } from "../providers/registry.ts";
import { isNameless, session } from "../session.ts";
import "./copy.ts";
import { qrView } from "./qr.ts";
import { boneView, View } from "./view.ts";
import "./user.css";

export class ShareView extends View {
  static override properties = {
    ...View.properties,
    packetId: {},
    modules: { state: true },
    packet: { state: true },
    link: { state: true },
  };
  declare packetId: string;
  declare modules: boolean[][] | undefined;
  declare packet: Packet | undefined;
  declare link: string;

  constructor() {
    super();
    this.link = "";
  }

  override connectedCallback(): void {
    super.connectedCallback();
    void this.attempt(async () => {
      const path = `/packets/${this.packetId}` as const;
      const packet = session.client.get(`${path}?limit=1`);
      this.link = `${location.origin}${path}`;
      const me = session.client.get("/me").catch(() => undefined);
      const { encode } = await import("uqr");
      // The link names its sharer, so that operators see who referred a claim.
      const via = (await me)?.user_token;
      if (via) this.link += `?via=${via}`;
      this.modules = encode(this.link, { border: 0, ecc: "M" }).data;
      this.packet = await packet;
      if (appHere()?.isSetUp(session.config!)) await this.#setCard(this.packet);
    });
  }

  override async refresh(): Promise<void> {
    this.packet = await session.client.get(`/packets/${this.packetId}?limit=1`);
  }

  override render() {
    const { link } = this;
    const onShare = () => void navigator.share({ url: link, text: this.#greeting() }).catch(() => undefined);
    return html`
      <section class="share">
        <h1 tabindex="-1">${t("share_title")}</h1>
        <p class="lead">${t("share_lead")}</p>
        <div class="ticket">
          ${this.packet?.cover_url
            ? html`<img class="ticket-cover" src=${this.packet.cover_url} alt="" referrerpolicy="no-referrer" />`
            : nothing}
          <p class="greeting">${this.packet ? this.#greeting() : boneView()}</p>
          <div class="qr">${this.modules ? qrView(this.modules, t("qr")) : nothing}</div>
          <p>${t("qr")}</p>
        </div>
        ${this.packet ? this.#receipt(this.packet) : html`<p class="hint">${boneView()}<br />${boneView()}</p>`}
        <div class="row link">
          <label class="unseen" for="link">${t("link")}</label>
          <input id="link" readonly .value=${link} />
          <rp-copy .text=${this.#sentence()}></rp-copy>
        </div>
        ${appHere()
          ? html`<button class="primary" @click=${this.#point}>${t("share_now")}</button>`
          : nothing}
        ${"share" in navigator && !appHere()
          ? html`<button class="primary" @click=${onShare}>${t("share_now")}</button>`
          : nothing}
        <div class="row spread">
          <button class="quiet" ?disabled=${!this.modules} @click=${this.#saveCard}>${t("card")}</button>
          <a href="/packets/${this.packetId}">${t("open_it")}</a>
        </div>
      </section>
    `;
  }

  /** Returns a chat message with the link. It never contains an amount or the details of an exclusive packet. */
  #sentence(): string {
    const { packet, link } = this;
    if (!packet) return link;
    if (packet.is_exclusive || isNameless(packet.sender)) return t("share_text_alone", { link });
    return t("share_text", { name: packet.sender.nickname, greeting: this.#greeting(), link });
  }

  #receipt({ total_fen, count, expires_at_ms }: Packet) {
    return html`<p class="hint">
      ${money(total_fen)} · ${t("shares", { n: count })}<br />${t("share_life", { time: clock(expires_at_ms) })}
    </p>`;
  }

  #greeting(): string {
    return this.packet?.greeting || p("default_greeting");
  }

  readonly #saveCard = async () => {
    const [{ drawCard, loadArt }, { savePicture }] = await Promise.all([import("./card.ts"), import("./picture.ts")]);
    const sender = session.person?.nickname ?? "";
    const art = await loadArt(this.packet?.cover_url);
    const canvas = drawCard(this.#greeting(), sender, this.modules!, t("card_text"), art);
    await savePicture(this, canvas, "red-packet.png");
  };

  readonly #point = () => void appHere()?.sharing().then((sharing) => sharing.pointAtMenu());

  async #setCard(packet: Packet): Promise<void> {
    const sharing = await appHere()?.sharing();
    await sharing?.setCard(session.client, { ...packet, nickname: packet.sender.nickname }, this.link);
  }
}

customElements.define("rp-share", ShareView);
