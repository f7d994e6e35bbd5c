/** Covers that ship with the page, and how the packet looks with the chosen one. */

import { html, nothing } from "lit";

import type { Client, Schemas } from "../api/client.ts";
import { p } from "../i18n/packet.ts";
import { t, type Word } from "../i18n/people.ts";
import { session } from "../session.ts";
import "../packet/red-packet.ts";
import type { Draft } from "./draft.ts";
import { View } from "./view.ts";

const COVERS = ["spring", "lantern", "dragonboat", "qixi", "moon", "birthday", "wedding", "fireworks"] as const;

class Covers extends View {
  static override properties = {
    ...View.properties,
    draft: { attribute: false },
    isBusy: { attribute: false },
  };
  declare draft: Draft;
  declare isBusy: boolean;
  #shown = "";
  #client: Client | undefined;

  override render() {
    const { cover, cover_link, greeting } = this.draft;
    const art = cover_link?.trim() || cover;
    return html`
      <fieldset class="covers" ?disabled=${this.isBusy}>
        <legend class="unseen">${t("cover")}</legend>
        ${this.#option("", t("cover_plain"), !cover)}
        ${COVERS.map((name) => {
          const path = `/covers/${name}.svg`;
          return this.#option(path, t(`cover_${name}` as Word), cover === path);
        })}
      </fieldset>
      <div class="envelope" inert aria-hidden="true">
        <red-packet packet-id="preview" .client=${this.#preview(art, greeting.trim())}></red-packet>
      </div>
    `;
  }

  #option(path: string, name: string, isChosen: boolean) {
    return html`<label title=${name}>
      <input type="radio" name="cover" value=${path} ?checked=${isChosen} />
      ${path ? html`<img src=${path} alt=${name} loading="lazy" width="104" height="87" />` : html`<i>${name}</i>`}
      ${path ? html`<span>${name}</span>` : nothing}
    </label>`;
  }

  /** A client that knows one packet, so that the element itself is the preview. */
  #preview(cover_url: string | undefined, greeting: string): Client {
    const shown = `${cover_url} ${greeting} ${session.person?.nickname}`;
    if (this.#client && shown === this.#shown) return this.#client;
    this.#shown = shown;
    const packet: Partial<Schemas["Record"]> = {
      packet_id: "preview",
      sender: { user_token: "", nickname: session.person?.nickname ?? "", avatar_url: null },
      kind: this.draft.kind,
      greeting: greeting || p("default_greeting"),
      status: "open",
      cover_url: cover_url ?? null,
      starts_at_ms: 0,
      expires_at_ms: Number.MAX_SAFE_INTEGER,
    };
    const get = () => Promise.resolve(packet);
    this.#client = { isSignedIn: true, get } as unknown as Client;
    return this.#client;
  }
}

customElements.define("rp-covers", Covers);
