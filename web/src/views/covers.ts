/** Choice of a cover, from the gallery or an uploaded picture, with a preview of the packet. */

import { html, nothing } from "lit";

import type { Client, Schemas } from "../api/client.ts";
import { p } from "../i18n/packet.ts";
import { t, type Word } from "../i18n/user.ts";
import { session } from "../session.ts";
import "../packet/red-packet.ts";
import type { Draft } from "./draft.ts";
import { problemView, View } from "./view.ts";

const COVERS = ["spring", "lantern", "dragonboat", "qixi", "moon", "birthday", "wedding", "fireworks"] as const;

class Covers extends View {
  static override properties = {
    ...View.properties,
    draft: { attribute: false },
    isBusy: { attribute: false },
    own: { state: true },
    upload: { state: true },
  };
  declare draft: Draft;
  declare isBusy: boolean;
  /** The path of the uploaded picture. */
  declare own: string | undefined;
  declare upload: "running" | "failed" | undefined;
  #shown = "";
  #client: Client | undefined;

  override render() {
    const { cover, cover_link, greeting } = this.draft;
    const art = cover_link?.trim() || cover;
    const own = this.own ?? (cover?.startsWith("/pictures/") ? cover : "");
    return html`
      <fieldset class="covers" ?disabled=${this.isBusy}>
        <legend class="unseen">${t("cover")}</legend>
        ${this.#option("", t("cover_plain"), !cover)}
        ${COVERS.map((name) => {
          const path = `/covers/${name}.svg`;
          return this.#option(path, t(`cover_${name}` as Word), cover === path);
        })}
        ${own ? this.#option(own, t("cover_own"), cover === own) : nothing}
        <label class="upload">
          <input type="file" accept="image/*" aria-describedby="cover-upload" @change=${this.#take} />
          <i>${this.upload === "running" ? "…" : "+"}</i>
          <span>${t(own ? "cover_other" : "cover_upload")}</span>
        </label>
      </fieldset>
      <p class="wrong" id="cover-upload" role="status">
        ${this.upload === "failed" ? t("bad_picture") : nothing}
      </p>
      ${this.problem ? problemView(this.problem) : nothing}
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

  readonly #take = async (event: Event) => {
    const input = event.currentTarget as HTMLInputElement;
    const [file] = input.files ?? [];
    if (!file || this.upload === "running") return;
    this.upload = "running";
    const { COVER, pictureOf } = await import("./upload.ts");
    const picture = await pictureOf(file, COVER).catch(() => undefined);
    input.value = "";
    this.upload = picture ? undefined : "failed";
    if (!picture) return;
    this.upload = "running";
    await this.attempt(async () => {
      const body = { picture };
      const sent = await session.client.ask<Schemas["UploadedPicture"]>("POST", "/me/pictures", { body });
      this.own = sent.cover_url;
      await this.updateComplete;
      // Select the radio button, because the form reads it.
      this.querySelector<HTMLInputElement>(`[value="${sent.cover_url}"]`)?.click();
    });
    this.upload = undefined;
  };

  /** Returns a client with a single fake packet, so that the real element renders the preview. */
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
