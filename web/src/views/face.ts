/** A sheet for the user's name and picture, which covers and lists show. */

import { html, nothing } from "lit";

import { t } from "../i18n/face.ts";
import { sealView } from "../packet/cover.ts";
import { isNameless, session, type Me } from "../session.ts";
import { signInProvider } from "../providers/registry.ts";
import { say } from "../providers/say.ts";
import { ask } from "./ask.ts";
import { Sheet } from "./sheet.ts";
import { atMost, problemView, typed, View } from "./view.ts";

const SEALS = ["fu", "xi", "lu", "shou", "cai", "an", "chun", "long"] as const;

/** Opens the sheet. If *isOffered*, the sheet stays closed for users who already have a name. */
export async function askFace(isOffered = false): Promise<void> {
  const me = await session.client.get("/me");
  session.noteFace(me);
  if (document.querySelector("rp-face") || (isOffered && !isNameless(me))) return;
  const sheet = new FaceSheet();
  sheet.me = me;
  if (location.hash === "#face") history.replaceState(history.state, "", location.pathname + location.search);
  document.body.append(sheet);
}

class FaceSheet extends Sheet {
  static override properties = {
    ...View.properties,
    nickname: { state: true },
    picture: { state: true },
    own: { state: true },
    state: { state: true },
  };
  me!: Me;
  declare nickname: string;
  /** URL or path of the chosen picture. Empty shows the first letter of the name. */
  declare picture: string;
  /** URL or path of the user's own picture, as saved or uploaded. Empty if there is none. */
  declare own: string;
  declare state: "idle" | "saving" | "uploading" | "bad_picture";

  constructor() {
    super();
    this.state = "idle";
  }

  override connectedCallback(): void {
    super.connectedCallback();
    const { avatar_url, nickname } = this.me;
    // For pictures on the page's own origin, the API expects a path.
    this.picture = (avatar_url ?? session.person?.picture ?? "").replace(location.origin, "");
    this.own = this.picture.startsWith("/seals/") ? "" : this.picture;
    this.nickname = isNameless(this.me) ? "" : nickname;
  }

  override render() {
    const isBusy = this.state === "saving" || this.state === "uploading";
    return html`
      <dialog class="ask sheet" aria-labelledby="face-title" @close=${() => this.remove()}>
        <form novalidate @submit=${this.#save} @input=${this.#type}>
          <div class="face">${sealView(this.nickname, this.picture || null)}</div>
          <h2 id="face-title">${t("face_title")}</h2>
          <p class="hint">${t("face_lead")}</p>
          <label class="field">
            <span>${t("face_nickname")}</span>
            <input
              name="nickname"
              value=${this.nickname}
              placeholder=${t("face_example")}
              autocomplete="nickname"
              @input=${atMost(32)}
              ?disabled=${isBusy}
              required
            />
          </label>
          <fieldset class="seals" ?disabled=${isBusy}>
            <legend class="unseen">${t("face_picture")}</legend>
            ${this.#option("", t("face_letter"), html`<i aria-hidden="true">${sealView(this.nickname)}</i>`)}
            ${SEALS.map((seal) => this.#picture(`/seals/${seal}.svg`, t(`seal_${seal}`)))}
            ${this.own ? this.#picture(this.own, t("face_own")) : nothing}
            <label class="upload" title=${t("face_upload")}>
              <input type="file" name="upload" data-api="avatar_url picture" accept="image/*" aria-label=${t("face_upload")} aria-describedby="face-upload" @change=${this.#take} />
              <i aria-hidden="true">${this.state === "uploading" ? "…" : "+"}</i>
            </label>
          </fieldset>
          <p class="wrong" id="face-upload" role="status">
            ${this.state === "bad_picture" ? t("face_bad_picture") : nothing}
          </p>
          ${this.#ownFace()} ${this.problem ? problemView(this.problem) : nothing}
          <p class="answers">
            <button type="button" class="secondary" @click=${this.close}>${t("face_later")}</button>
            <button class="primary" aria-disabled=${isBusy ? "true" : "false"}>
              ${t(this.state === "saving" ? "face_saving" : "face_save")}
            </button>
          </p>
          ${signInProvider(session.config)
            ? nothing
            : html`<button type="button" class="quiet" @click=${this.#signOut}>${t("sign_out")}</button>`}
        </form>
      </dialog>
    `;
  }

  /** Renders the offer to import name and picture from the provider, which asks the user and redirects back. */
  #ownFace() {
    const provider = signInProvider(session.config);
    if (!provider?.app?.hasFaces?.(session.config!) || session.person?.picture) return nothing;
    const leave = async () => {
      const { pathname, search } = location;
      (await provider.app!.signIn!()).depart(session.config!, `${pathname}${search}#face`, true);
    };
    return html`<p class="center">
      <button type="button" class="quiet" @click=${() => void this.attempt(leave)}>${say(provider, "own_face")}</button>
    </p>`;
  }

  #picture(path: string, name: string) {
    return this.#option(path, name, html`<img src=${path} alt="" referrerpolicy="no-referrer" />`);
  }

  #option(path: string, name: string, shown: unknown) {
    return html`<label title=${name}>
      <input type="radio" name="picture" value=${path} aria-label=${name} .checked=${this.picture === path} />
      ${shown}
    </label>`;
  }

  readonly #type = (event: Event) => {
    this.nickname = typed(event.currentTarget, "nickname");
    this.picture = typed(event.currentTarget, "picture");
  };

  readonly #take = async (event: Event) => {
    const input = event.currentTarget as HTMLInputElement;
    const [file] = input.files ?? [];
    if (!file) return;
    this.state = "uploading";
    const { AVATAR, pictureOf } = await import("./upload.ts");
    const picture = await pictureOf(file, AVATAR).catch(() => undefined);
    input.value = "";
    if (picture) {
      await this.attempt(async () => {
        const body = { picture, is_avatar: true };
        const sent = await session.client.ask("POST", "/me/pictures", { body });
        this.own = this.picture = sent.cover_url;
      });
    }
    this.state = picture ? "idle" : "bad_picture";
  };

  readonly #save = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    if (this.state === "saving" || !form.reportValidity()) return;
    this.state = "saving";
    const body = { nickname: this.nickname, avatar_url: this.picture || null };
    await this.attempt(async () => {
      session.noteFace(await session.client.ask("PUT", "/me/profile", { body, repeats: 3 }));
      this.close();
    });
    this.state = "idle";
  };

  readonly #signOut = async () => {
    const words = { yes: t("sign_out"), no: t("sign_out_no") };
    if (!(await ask(t("sign_out_title"), html`<p>${t("sign_out_hint")}</p>`, words))) return;
    this.close();
    session.signOut();
  };
}

customElements.define("rp-face", FaceSheet);
