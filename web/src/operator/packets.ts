/** The list of packets, and one packet with its claims. In both views, operators can end a packet early. */

import { html, nothing } from "lit";

import type { Schemas } from "../api/client.ts";
import { PACKET_ID } from "../api/ids.ts";
import { navigate } from "../router.ts";
import { session } from "../session.ts";
import { atMost } from "../views/view.ts";
import { mayEnd } from "./deciding.ts";
import "./list.ts";
import type { OperatorList } from "./list.ts";
import { claims, idOrRef, packets, sharers, type Packet } from "./lists.ts";
import { address } from "./pages.ts";
import { confirm, ConsoleView, duties, facts, write } from "./view.ts";
import { o } from "./words.ts";

const IS_ID = new RegExp(`^${PACKET_ID}$`);

export class OperatorPackets extends ConsoleView {
  static override properties = { ...ConsoleView.properties, packetId: {} };
  /** Id of the packet. Empty for the list of all packets. */
  declare packetId: string;

  override render() {
    return this.packetId ? this.#one(this.packetId) : this.#all();
  }

  #all() {
    const actions = (row: Packet) => (mayEnd(row, duties()) ? this.#button(idOrRef(row)) : nothing);
    return html`<h1 tabindex="-1">${o("packets")}</h1>
      ${this.news()}<op-list .list=${{ ...packets(), actions }}></op-list>`;
  }

  #one(id: string) {
    return html`<h1 tabindex="-1">${o("claims")}</h1>
      <p class="ways">
        <code>${id}</code>
        ${IS_ID.test(id)
          ? html`<a href="/packets/${id}" target="_blank">${o("as_users")}</a>`
          : html`<button class="secondary" ?disabled=${this.isBusy} @click=${() => this.#lookUp(id)}>${o("look_up")}</button>`}
        ${duties().may("end_packet") ? this.#button(id) : nothing}
      </p>
      ${this.news()}<op-list .list=${claims(id)}></op-list>
      <h2>${o("sharers")}</h2>
      <op-list .list=${sharers(id)}></op-list>`;
  }

  async #lookUp(ref: string): Promise<void> {
    await this.act("read", async () => {
      const { items } = await session.client.get<Schemas["PacketPage"]>(address("/admin/packets", { packet: ref }));
      navigate(`/operator/packets/${items[0]!.packet_id}`, true);
      return o("look_up_done");
    });
  }

  #button(id: string) {
    return html`<button class="secondary" ?disabled=${this.isBusy} @click=${() => this.#end(id)}>${o("end")}</button>`;
  }

  async #end(id: string): Promise<void> {
    const body = html`
      ${facts([o("packet"), html`<code>${id}</code>`])}
      <p>${o("end_packet_hint")}</p>
      <label class="field tall">
        <span>${o("reason")}</span><input name="reason" required @input=${atMost(100)} autocomplete="off" />
      </label>
      <p class="hint">${o("reason_hint")}</p>
    `;
    const agreed = await confirm(o("end_packet_title"), body, o("end"));
    if (!agreed) return;
    await this.act("end_packet", async () => {
      await write<Schemas["EndedPacket"]>("POST", `/admin/packets/${id}/end`, { reason: agreed.get("reason") });
      const list = this.querySelector<OperatorList>("op-list");
      for (const [before, status] of [["open", "closing"], ["unpaid", "cancelled"]] as const) {
        list?.rows.replace((row: Packet) => idOrRef(row) === id && row.status === before, { status });
      }
      list?.requestUpdate();
      return o("end_packet_done");
    });
  }
}

customElements.define("op-packets", OperatorPackets);
