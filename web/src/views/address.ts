/** Delivery address for won goods: a form for the winner until the handover, and the saved address. */

import { html, nothing } from "lit";

import type { Schemas } from "../api/client.ts";
import { t } from "../i18n/user.ts";
import { session } from "../session.ts";
import { atMost, problemView, typed, View } from "./view.ts";
import "./user.css";

type Prize = Schemas["GoodsAddress"];

const FIELDS = [
  ["name", "name", 32],
  ["phone", "tel", 40],
  ["address", "street-address", 120],
] as const;

/** Pattern for at least five digits in any script. The API cleans pasted numbers and checks their format. */
const FIVE_DIGITS = "(\\P{Nd}*\\p{Nd}){5}.*";

class Address extends View {
  static override properties = {
    ...View.properties,
    campaignId: { attribute: false },
    drawId: { attribute: false },
    prize: { state: true },
    isEditing: { state: true },
  };
  declare campaignId: string;
  declare drawId: string;
  declare prize: Prize | undefined;
  declare isEditing: boolean;

  /** Loads on the first update, because an element that is defined late has no properties when it is connected. */
  override firstUpdated(): void {
    this.#load();
  }

  get #path() {
    return `/campaigns/${this.campaignId}/draws/${this.drawId}/address` as const;
  }

  #load(): void {
    void this.attempt(async () => {
      this.prize = await session.client.get(this.#path);
      this.isEditing = this.prize.status === "won" && !this.prize.address;
    });
  }

  override render() {
    const { prize, problem } = this;
    if (problem && !prize) return problemView(problem, () => this.#load());
    if (!prize) return nothing;
    if (this.isEditing) return this.#form(prize);
    const over = prize.status === "won" ? undefined : prize.status;
    return html`<div class="address">
      <b role="status">${t(`goods_${prize.status}`)}</b>
      ${prize.address ? html`<small>${prize.name} ${prize.phone}<br />${prize.address}</small>` : nothing}
      ${over
        ? nothing
        : html`<button class="quiet" @click=${() => (this.isEditing = true)}>${t("address_edit")}</button>`}
    </div>`;
  }

  #form(prize: Prize) {
    return html`
      <form class="address" @submit=${this.#save}>
        <p class="hint">${t("address_hint")}</p>
        ${FIELDS.map(
          ([name, autocomplete, length]) => html`<label>
            <span>${t(`address_${name}`)}</span>
            <input
              name=${name}
              value=${prize[name] ?? ""}
              autocomplete=${autocomplete}
              inputmode=${name === "phone" ? "tel" : "text"}
              pattern=${name === "phone" ? FIVE_DIGITS : ".*\\S.*"}
              @input=${atMost(length)}
              required
            />
          </label>`,
        )}
        ${this.problem
          ? html`<p class="wrong" role="alert">
              ${this.problem.code === "version_conflict" ? t("address_late") : t("address_failed")}
            </p>`
          : nothing}
        <button class="secondary">${t("address_save")}</button>
      </form>
    `;
  }

  readonly #save = (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.target;
    const body = Object.fromEntries(FIELDS.map(([name]) => [name, typed(form, name)]));
    void this.attempt(async () => {
      this.prize = await session.client.ask("PUT", this.#path, { body, repeats: 3 });
      this.isEditing = false;
      this.dispatchEvent(new Event("saved", { bubbles: true }));
    });
  };
}

customElements.define("rp-address", Address);
