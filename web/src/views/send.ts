/** The send form: amount, count and rules. */

import { html, nothing, svg } from "lit";

import type { Schemas } from "../api/client.ts";
import { COUNT_MAX, PICTURES } from "../api/limits.ts";
import { problemOf } from "../api/problems.ts";
import type { Channel } from "../config.ts";
import { clock } from "../i18n/language.ts";
import { p } from "../i18n/packet.ts";
import { t, type Word } from "../i18n/user.ts";
import { briefDigits, digits, plainAmount, spoken, unitWord } from "../money.ts";
import { channelsOf, methodOf, PROVIDERS } from "../providers/registry.ts";
import { say } from "../providers/say.ts";
import { navigate } from "../router.ts";
import { session } from "../session.ts";
import { bodyOf, countOf, draftOf, EMPTY, totalFenOf, wrongOf, type Draft, type Wrong } from "./draft.ts";
import { confirmedBody } from "./confirm.ts";
import { move, type Rows, sumView } from "./money.ts";
import { type Order, orderPayment } from "./order-payment.ts";
import { atMost, boneView, problemView, View } from "./view.ts";
import "./user.css";

const LUCKY_SPLITS = ["double_mean", "base_double_mean", "bell", "cut_points", "double_mean_live"] as const;
/** Maximum number of retries of a send whose outcome is unknown, all with the same key. */
const REPEATS = 12;
/** Maximum share in fen if the deployment configures no maximum. */
const SHARE_FEN_MAX = 20_000;
/** Storage key of the form's values, which are restored after a reload or a payment. */
const SLOT = "draft";

export class Send extends View {
  static override properties = {
    ...View.properties,
    draft: { state: true },
    isBusy: { state: true },
    hasTried: { state: true },
    balanceFen: { state: true },
    waitUntilMs: { state: true },
    showsCovers: { state: true },
  };
  declare draft: Draft;
  declare isBusy: boolean;
  declare hasTried: boolean;
  declare balanceFen: number | undefined;
  declare waitUntilMs: number;
  declare showsCovers: boolean;
  /** Initial values of the fields. Later input is only in the fields. */
  readonly #kept = keptDraft();

  constructor() {
    super();
    this.draft = this.#kept;
    this.isBusy = false;
    this.hasTried = false;
    this.waitUntilMs = 0;
    this.showsCovers = false;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    const pending = session.writes.find<Schemas["SendBody"]>("send", session.person?.sub ?? "");
    const body = pending?.body ?? (confirmedBody("send") as Partial<Schemas["SendBody"]> | undefined);
    if (body) void this.#send(body, true);
    void this.refresh().catch(() => undefined);
  }

  override async refresh(): Promise<void> {
    this.balanceFen = (await session.client.get("/me")).balance_fen;
  }

  get #shareFenMax(): number {
    return session.config?.limits?.share_fen_max ?? SHARE_FEN_MAX;
  }

  get #wrong() {
    return wrongOf(this.draft, this.#shareFenMax, session.config?.cover_hosts ?? []);
  }

  override render() {
    const { draft } = this;
    const { isBusy } = this;
    const isWaiting = performance.now() < this.waitUntilMs;
    const isForOne = draft.audience === "one";
    const total = isForOne ? "one_total" : draft.kind === "lucky" ? "total" : "each";
    return html`
      <form class="send" novalidate @submit=${this.#submit} @input=${this.#change} @change=${this.#change}>
        <h1 tabindex="-1">${t("send_title")}</h1>
        ${isForOne ? nothing : this.#choice("kind", ["lucky", "equal"], isBusy)}
        <div class="card fields">
          ${this.#field("amount", total, unitWord(), "decimal", digits(0))}
          ${isForOne ? nothing : this.#field("count", "count", t("piece"), "numeric", "10")}
          <label class="field">
            <span>${t("greeting")}</span>
            <input
              name="greeting"
              @input=${atMost(50)}
              value=${this.#kept.greeting}
              placeholder=${p("default_greeting")}
              ?disabled=${isBusy}
              autocomplete="off"
            />
          </label>
        </div>
        ${this.#choice("audience", ["all", "one", "some"], isBusy)}
        <p class="hint center">${t(`audience_${draft.audience}_hint`)}</p>
        ${draft.audience === "some" ? this.#recipients(isBusy) : nothing}
        <details class="card" ?open=${Boolean(this.#kept.cover)} @toggle=${() => (this.showsCovers = true)}>
          <summary>${t("cover")}</summary>
          ${(this.showsCovers || this.draft.cover) && this.has("rp-covers", () => import("./covers.ts"))
            ? html`<rp-covers .draft=${draft} .isBusy=${isBusy}></rp-covers>`
            : nothing}
        </details>
        ${this.#options(isBusy)} ${this.#payWith(isBusy)}
        <p class="sum" aria-live="polite">${sumView(totalFenOf(draft) ?? 0)}</p>
        ${this.problem ? problemView(this.problem) : nothing} ${this.#shortage(isBusy)}
        <button class="primary" ?disabled=${isBusy || isWaiting}>
          ${t("put_in")}
        </button>
        <p class="hint center">
          ${this.balanceFen === undefined ? boneView() : t("balance_is", { amount: spoken(this.balanceFen) })}<br />
          ${t("refund_hint")}
        </p>
      </form>
    `;
  }

  #choice(name: "kind" | "audience", values: readonly string[], isBusy: boolean) {
    return html`
      <fieldset class="choice" ?disabled=${isBusy}>
        <legend>${t(name)}</legend>
        ${values.map(
          (value) => html`
            <label>
              <input type="radio" name=${name} value=${value} ?checked=${this.draft[name] === value} />
              <span>${t((name === "kind" ? value : `audience_${value}`) as Word)}</span>
            </label>
          `,
        )}
      </fieldset>
    `;
  }

  #field(name: "amount" | "count", word: Word, unit: string, mode: string, example: string) {
    const wrong = this.#wrong[name];
    const isTold = wrong && (this.hasTried || wrong.startsWith("too_"));
    return html`
      <label class="field ${isTold ? "is-wrong" : ""}">
        <span>${t(word)}</span>
        <input
          name=${name}
          data-api=${name === "amount" ? "total_fen" : nothing}
          inputmode=${mode}
          value=${this.#kept[name]}
          placeholder=${example}
          autocomplete="off"
          ?disabled=${this.isBusy}
          aria-invalid=${isTold ? "true" : "false"}
          aria-describedby="${name}-wrong"
        />
        <i>${unit}</i>
      </label>
      <p class=${isTold ? "wrong" : "limit"} id="${name}-wrong">
        ${isTold ? this.#hint(wrong) : name === "amount" ? this.#hint("limits") : nothing}
      </p>
    `;
  }

  #hint(word: Wrong | "limits"): string {
    const maxFen = this.#shareFenMax;
    const n = this.draft.kind === "lucky" ? (countOf(this.draft) ?? 1) : 1;
    const params = { least: digits(1), min: spoken(1), max: brief(maxFen), total: brief(maxFen * n), n, count: COUNT_MAX, text: plainAmount(this.draft.amount) };
    return t(word === "too_large" && n > 1 ? "too_large_total" : word, params);
  }

  #recipients(isBusy: boolean) {
    const wrong = this.hasTried ? this.#wrong.people : undefined;
    return html`
      <div class="card">
        ${this.has("rp-recents", () => import("./recents.ts"))
          ? html`<rp-recents .chosen=${this.draft.people} .isBusy=${isBusy}></rp-recents>`
          : nothing}
        <p class="wrong" id="people-wrong">${wrong ? t(wrong) : nothing}</p>
      </div>
    `;
  }

  #options(isBusy: boolean) {
    const kept = this.#kept;
    const { kind, audience } = this.draft;
    const isWrong = this.#wrong.cover_link !== undefined;
    const isTooLate = this.#wrong.starts !== undefined;
    return html`
      <details class="card" ?open=${this.hasTried && (isWrong || isTooLate)}>
        <summary>${t("options")}</summary>
        ${kind === "lucky" && audience !== "one" ? this.#splits(isBusy) : nothing}
        ${this.#switch("two_step", isBusy)} ${this.#switch("sealed", isBusy)}
        <label class="field tall">
          <span>${t("passphrase")}<small>${t("passphrase_hint")}</small></span>
          <input
            name="passphrase"
            @input=${atMost(20)}
            value=${kept.passphrase ?? ""}
            placeholder=${t("passphrase_example")}
            ?disabled=${isBusy}
            autocomplete="off"
          />
        </label>
        ${audience === "some"
          ? html`<label class="field tall">
              <span>${t("recipients")}<small>${t("recipients_hint")}</small></span>
              <textarea name="recipients" rows="2" spellcheck="false" ?disabled=${isBusy}></textarea>
            </label>`
          : nothing}
        ${session.config?.cover_hosts?.length ? this.#coverLink(isBusy, isWrong) : nothing}
        <label class="field tall">
          <span>${t("opens_at")}<small>${t("opens_at_hint")}</small></span>
          <input
            type="datetime-local"
            name="starts"
            data-api="starts_at_ms"
            .value=${kept.starts ?? ""}
            ?disabled=${isBusy}
            aria-invalid=${isTooLate ? "true" : "false"}
            aria-describedby="starts-wrong"
          />
        </label>
        <p class="wrong" id="starts-wrong">${isTooLate ? t("bad_start") : nothing}</p>
        <label class="field">
          <span>${t("life")}</span>
          <select name="life" data-api="expires_in_s" ?disabled=${isBusy}>
            ${(["1", "24", "168"] as const).map(
              (hours) =>
                html`<option value=${hours} ?selected=${hours === kept.life}>${t(`life_${hours}`)}</option>`,
            )}
          </select>
        </label>
      </details>
    `;
  }

  #switch(name: "two_step" | "sealed", isBusy: boolean) {
    return html`<label class="field switch">
      <span>${t(name)}<small>${t(`${name}_hint`)}</small></span>
      <input type="checkbox" name=${name} ?checked=${Boolean(this.#kept[name])} ?disabled=${isBusy} />
    </label>`;
  }

  #splits(isBusy: boolean) {
    const { split } = this.draft;
    const bars = PICTURES[split as keyof typeof PICTURES];
    return html`
      <label class="field">
        <span>${t("split")}</span>
        <select name="split" ?disabled=${isBusy}>
          ${LUCKY_SPLITS.map(
            (each) =>
              html`<option value=${each} ?selected=${each === split}>${t(`split_${each}`)}</option>`,
          )}
        </select>
      </label>
      <div class="picture">
        <svg viewBox="0 0 120 40" aria-hidden="true" preserveAspectRatio="none">
          ${bars.map((bar, place) => barView(place, (bar / 250) * 40))}
        </svg>
        <p>${t(`split_${split}_hint` as Word)}</p>
      </div>
    `;
  }

  #coverLink(isBusy: boolean, isWrong: boolean) {
    return html`
      <label class="field tall">
        <span>${t("cover_link")}<small>${t("cover_hint")}</small></span>
        <input
          name="cover_link"
          data-api="cover_url"
          type="url"
          value=${this.#kept.cover_link ?? ""}
          placeholder="https://"
          maxlength="1024"
          ?disabled=${isBusy}
          autocomplete="off"
          aria-invalid=${isWrong ? "true" : "false"}
          aria-describedby="cover-wrong"
        />
      </label>
      <p class="wrong" id="cover-wrong">
        ${isWrong ? t("bad_cover", { hosts: session.config!.cover_hosts!.join(", ") }) : nothing}
      </p>
    `;
  }

  #payWith(isBusy: boolean) {
    const channels = channelsOf(session.config);
    if (channels.length === 0) return nothing;
    return html`
      <label class="card field">
        <span>${t("pay_with")}</span>
        <select name="pay_with" .value=${this.draft.pay_with ?? "balance"} ?disabled=${isBusy}>
          <option value="balance">${t("channel_balance")}</option>
          ${channels.map((way) => html`<option value=${way}>${say(PROVIDERS[way], "name")}</option>`)}
        </select>
      </label>
    `;
  }

  /** Renders the options if the balance is too low: pay for the packet directly, or top up. */
  #shortage(isBusy: boolean) {
    const isFromBalance = (this.draft.pay_with ?? "balance") === "balance";
    const leftFen = (this.balanceFen ?? Infinity) - (totalFenOf(this.draft) ?? 0);
    if (!isFromBalance || leftFen >= 0 || this.#wrong.amount) return nothing;
    const channels = channelsOf(session.config);
    const shortFen = -leftFen;
    const topUp = () => void this.attempt(() => orderPayment({ amount_fen: shortFen, channel: channels[0]! }));
    return html`
      <div class="shortage" role="status">
        <p>${t("short_of", { amount: spoken(shortFen) })}</p>
        ${channels.map(
          (way) => html`<button
            type="button"
            class="secondary"
            ?disabled=${isBusy}
            @click=${() => (this.draft = { ...this.draft, pay_with: way })}
          >
            ${t("pay_by", { way: say(PROVIDERS[way], "name") })}
          </button>`,
        )}
        ${channels.length
          ? html`<button type="button" class="secondary" ?disabled=${isBusy} @click=${topUp}>
              ${t("top_up", { amount: spoken(shortFen) })}
            </button>`
          : nothing}
      </div>
    `;
  }

  readonly #change = (event: Event) => {
    this.draft = draftOf(event.currentTarget as HTMLFormElement);
    session.writes.begin(SLOT, session.person?.sub ?? "", this.draft);
  };

  readonly #submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (this.isBusy || performance.now() < this.waitUntilMs) return;
    this.hasTried = true;
    const [wrong] = Object.keys(this.#wrong);
    if (wrong) {
      void this.updateComplete.then(() => this.querySelector<HTMLElement>(`[name=${wrong}]`)?.focus());
      return;
    }
    if (!this.querySelector("form")!.reportValidity()) return;
    const { pay_with: way = "balance" } = this.draft;
    const method = way === "balance" ? "native" : methodOf(way as Channel);
    void this.#send(bodyOf(this.draft, p("default_greeting"), method));
  };

  /** Sends *body*. *isAgreed* continues a send that a reload interrupted or the host confirmed. */
  async #send(body: Partial<Schemas["SendBody"]>, isAgreed = false): Promise<void> {
    this.isBusy = true;
    const work = async (onRepeat: () => void) => {
      const { key } = session.writes.begin("send", session.person?.sub ?? "", body);
      try {
        return await session.client.ask("POST", "/packets", { body, key, repeats: REPEATS, onRepeat });
      } catch (error) {
        const { isUncertain, code } = problemOf(error);
        // After an unknown outcome, keep the key, so that a retry can't pay twice.
        // Also keep it for the retry after a sign-in.
        if (!isUncertain && code !== "unauthorized") session.writes.end("send");
        throw error;
      }
    };
    const topUp = body.pay_with ? {} : { topUp: (order: Order) => orderPayment(order, true) };
    // Reload the balance, which may have grown since the page opened.
    if (body.total_fen! > (this.balanceFen ?? Infinity)) await this.refresh().catch(() => undefined);
    const deed = { name: body.pay_with ? "payment" : "send", body, ...this.#summary(body), work, ...topUp } as const;
    await this.attempt(async () => {
      const sent = await move(deed, isAgreed, isAgreed ? undefined : this.balanceFen);
      if (!sent) return;
      session.writes.end("send");
      session.writes.end(SLOT);
      const isPaid = sent.payment_id === null;
      navigate(isPaid ? `/packets/${sent.packet_id}/share` : `/payments/${sent.payment_id}`, true);
    });
    this.isBusy = false;
    if (this.problem?.retryAfterS) this.#wait(this.problem.retryAfterS);
  }

  /** Returns the title and rows of the sheet that asks for consent to a send. */
  #summary({ kind, count, total_fen, recipients, pay_with, expires_in_s = 0, starts_at_ms }: Partial<Schemas["SendBody"]>) {
    const audience = recipients ? t("audience_some") : t(count === 1 ? "audience_one" : "audience_all");
    const balance = this.balanceFen === undefined ? "" : t("balance_is", { amount: spoken(this.balanceFen) });
    const rows: Rows = [
      [t("audience"), `${audience} · ${t("shares", { n: count! })}`],
      [t("kind"), t(kind === "equal" ? "equal" : "lucky")],
      [t("pay_with"), pay_with ? say(PROVIDERS[pay_with as Channel], "name") : balance || t("channel_balance")],
      [t("money_fee"), t("money_free")],
      ...(starts_at_ms ? [[t("opens_at"), clock(starts_at_ms)] as const] : []),
      [t("life"), t("money_life", { time: t(`life_${expires_in_s / 3600}` as Word) })],
    ];
    return { title: t("put_in"), fen: total_fen!, rows };
  }

  #wait(seconds: number): void {
    this.waitUntilMs = performance.now() + 1000 * seconds;
    setTimeout(() => this.requestUpdate(), 1000 * seconds + 20);
  }
}

function keptDraft(): Draft {
  return { ...EMPTY, ...session.writes.find<Draft>(SLOT, session.person?.sub ?? "")?.body };
}

function brief(fen: number): string {
  return spoken(fen, briefDigits(fen));
}

function barView(place: number, height: number) {
  // An SVG fragment inside an HTML template requires Lit's `svg` tag.
  return svg`<rect x=${place * 10 + 1.5} y=${40 - height} width="7" height=${height} rx="1.5" />`;
}

customElements.define("rp-send", Send);
