/** Send: what is put in, for how many, and by which rules. */

import { html, nothing, svg } from "lit";

import type { Schemas } from "../api/client.ts";
import { p } from "../i18n/packet.ts";
import { t, type Word } from "../i18n/people.ts";
import { yuan } from "../money.ts";
import { navigate } from "../router.ts";
import { session } from "../session.ts";
import { isInWeChat } from "../user-agent.ts";
import { bodyOf, countOf, isCover, totalFenOf, type Draft } from "./draft.ts";
import { problemView, View } from "./view.ts";

const LUCKY_SPLITS = ["double_mean", "base_double_mean", "bell", "cut_points", "double_mean_live"] as const;

/** 120 yuan for 12 by each split and one seed, as shares of the largest: a picture of it. */
const PICTURES: Record<string, number[]> = {
  equal: [100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100],
  double_mean: [13, 171, 45, 160, 135, 76, 189, 109, 26, 142, 74, 59],
  base_double_mean: [93, 106, 96, 105, 103, 98, 107, 101, 94, 103, 98, 97],
  bell: [70, 117, 115, 101, 42, 94, 130, 137, 98, 97, 47, 152],
  cut_points: [28, 35, 37, 129, 221, 88, 24, 13, 246, 234, 57, 88],
  double_mean_live: [154, 133, 67, 120, 62, 3, 138, 151, 24, 171, 162, 14],
};
/** A send whose outcome isn't known is repeated with its key this often. */
const REPEATS = 12;

export class Send extends View {
  static override properties = {
    ...View.properties,
    draft: { state: true },
    state: { state: true },
    hasTried: { state: true },
    balanceFen: { state: true },
    waitUntilMs: { state: true },
  };
  declare draft: Draft;
  declare state: "idle" | "sending" | "resending";
  declare hasTried: boolean;
  declare balanceFen: number | undefined;
  declare waitUntilMs: number;

  constructor() {
    super();
    this.draft = { kind: "lucky", split: "double_mean", amount: "", count: "", greeting: "", life: "24" };
    this.state = "idle";
    this.hasTried = false;
    this.waitUntilMs = 0;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    const pending = session.writes.find<Schemas["SendBody"]>("send", session.person?.sub ?? "");
    if (pending) void this.#send(pending.body, "resending");
    void session.client
      .get("/me")
      .then((me) => (this.balanceFen = me.balance_fen))
      .catch(() => undefined);
  }

  override render() {
    const { draft } = this;
    const isBusy = this.state !== "idle";
    const isWaiting = Date.now() < this.waitUntilMs;
    const totalFen = totalFenOf(draft);
    return html`
      <form class="send" novalidate @submit=${this.#submit} @input=${this.#change}>
        <h1 tabindex="-1">${t("send_title")}</h1>
        <fieldset class="choice" ?disabled=${isBusy}>
          <legend>${t("kind")}</legend>
          ${(["lucky", "equal"] as const).map(
            (kind) => html`
              <label>
                <input type="radio" name="kind" value=${kind} ?checked=${draft.kind === kind} />
                <span>${t(kind)}</span>
              </label>
            `,
          )}
        </fieldset>
        ${draft.kind === "lucky" ? this.#splits(isBusy) : this.#picture("equal", t("equal_hint"))}
        <div class="card fields">
          ${this.#field("amount", draft.kind === "lucky" ? "total" : "each", "yuan", "decimal", "0.00")}
          ${this.#field("count", "count", "piece", "numeric", "10")}
          <label class="field">
            <span>${t("greeting")}</span>
            <input
              name="greeting"
              maxlength="50"
              placeholder=${p("default_greeting")}
              ?disabled=${isBusy}
              autocomplete="off"
            />
          </label>
        </div>
        ${this.#options(isBusy)} ${this.#payWith(isBusy)}
        <p class="sum" aria-live="polite"><small>¥</small>${yuan(totalFen ?? 0)}</p>
        ${this.problem ? problemView(this.problem) : nothing}
        <button class="primary" ?disabled=${isBusy || isWaiting}>
          ${t(this.state === "idle" ? "put_in" : this.state)}
        </button>
        <p class="hint center">
          ${this.balanceFen === undefined
            ? nothing
            : html`${t("balance_is", { amount: yuan(this.balanceFen) })}<br />`}
          ${t("refund_hint")}
        </p>
      </form>
    `;
  }

  #splits(isBusy: boolean) {
    const { split } = this.draft;
    return html`
      <label class="card field">
        <span>${t("split")}</span>
        <select name="split" ?disabled=${isBusy}>
          ${LUCKY_SPLITS.map(
            (one) =>
              html`<option value=${one} ?selected=${one === split}>${t(`split_${one}`)}</option>`,
          )}
        </select>
      </label>
      ${this.#picture(split, t(`split_${split}_hint` as Word))}
    `;
  }

  #picture(split: string, hint: string) {
    const bars = PICTURES[split]!;
    return html`
      <div class="picture">
        <svg viewBox="0 0 120 40" aria-hidden="true" preserveAspectRatio="none">
          ${bars.map((bar, place) => barView(place, (bar / 250) * 40))}
        </svg>
        <p>${hint}</p>
      </div>
    `;
  }

  #field(name: "amount" | "count", word: Word, unit: Word, mode: string, example: string) {
    const wrong = this.hasTried ? this.#wrong(name) : undefined;
    return html`
      <label class="field ${wrong ? "is-wrong" : ""}">
        <span>${t(word)}</span>
        <input
          name=${name}
          inputmode=${mode}
          placeholder=${example}
          autocomplete="off"
          maxlength="16"
          ?disabled=${this.state !== "idle"}
          aria-invalid=${wrong ? "true" : "false"}
          aria-describedby="${name}-wrong"
        />
        <i>${t(unit)}</i>
      </label>
      <p class="wrong" id="${name}-wrong">${wrong ? t(wrong) : nothing}</p>
    `;
  }

  #options(isBusy: boolean) {
    return html`
      <details class="card">
        <summary>${t("options")}</summary>
        <label class="field switch">
          <span>${t("two_step")}<small>${t("two_step_hint")}</small></span>
          <input type="checkbox" name="two_step" ?disabled=${isBusy} />
        </label>
        <label class="field switch">
          <span>${t("sealed")}<small>${t("sealed_hint")}</small></span>
          <input type="checkbox" name="sealed" ?disabled=${isBusy} />
        </label>
        <label class="field tall">
          <span>${t("passphrase")}<small>${t("passphrase_hint")}</small></span>
          <input
            name="passphrase"
            maxlength="20"
            placeholder=${t("passphrase_example")}
            ?disabled=${isBusy}
            autocomplete="off"
          />
        </label>
        <label class="field tall">
          <span>${t("recipients")}<small>${t("recipients_hint")}</small></span>
          <textarea name="recipients" rows="2" spellcheck="false" ?disabled=${isBusy}></textarea>
        </label>
        ${session.config?.cover_hosts?.length ? this.#coverField(isBusy) : nothing}
        <label class="field">
          <span>${t("life")}</span>
          <select name="life" ?disabled=${isBusy}>
            ${(["1", "24", "168"] as const).map(
              (hours) =>
                html`<option value=${hours} ?selected=${hours === "24"}>${t(`life_${hours}`)}</option>`,
            )}
          </select>
        </label>
      </details>
    `;
  }

  #payWith(isBusy: boolean) {
    const channels = session.config?.channels ?? [];
    if (channels.length === 0) return nothing;
    return html`
      <label class="card field">
        <span>${t("pay_with")}</span>
        <select name="pay_with" ?disabled=${isBusy}>
          ${(["balance", ...channels] as const).map(
            (way) => html`<option value=${way}>${t(`channel_${way}`)}</option>`,
          )}
        </select>
      </label>
    `;
  }

  #coverField(isBusy: boolean) {
    const url = this.draft.cover?.trim() ?? "";
    const isWrong = this.#wrong("cover") !== undefined;
    return html`
      <label class="field tall">
        <span>${t("cover")}<small>${t("cover_hint")}</small></span>
        <input
          name="cover"
          type="url"
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
      ${url && !isWrong
        ? html`<img class="cover-preview" src=${url} alt=${t("cover")} referrerpolicy="no-referrer" />`
        : nothing}
    `;
  }

  readonly #change = (event: Event) => {
    const form = event.currentTarget as HTMLFormElement;
    this.draft = { ...this.draft, ...(Object.fromEntries(new FormData(form)) as Partial<Draft>) };
  };

  #wrong(name: "amount" | "count" | "cover"): Word | undefined {
    if (name === "cover") {
      const isFine = isCover(this.draft.cover?.trim() ?? "", session.config?.cover_hosts ?? []);
      return isFine ? undefined : "bad_cover";
    }
    const count = countOf(this.draft);
    if (name === "count") return count ? undefined : "bad_count";
    const totalFen = totalFenOf({ ...this.draft, count: String(count ?? 1) });
    if (!totalFen) return "bad_amount";
    return count && totalFen < count ? "too_small" : undefined;
  }

  readonly #submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (this.state !== "idle" || Date.now() < this.waitUntilMs) return;
    this.hasTried = true;
    const wrong = (["amount", "count", "cover"] as const).find((name) => this.#wrong(name));
    if (wrong) return this.querySelector<HTMLElement>(`[name=${wrong}]`)?.focus();
    const form = event.target as HTMLFormElement;
    const data = new FormData(form);
    const options = {
      isTwoStep: data.has("two_step"),
      isSealed: data.has("sealed"),
      isInWeChat: isInWeChat(),
    };
    void this.#send(bodyOf(this.draft, options, p("default_greeting")), "sending");
  };

  async #send(body: Partial<Schemas["SendBody"]>, state: "sending" | "resending"): Promise<void> {
    this.state = state;
    const { key } = session.writes.begin("send", session.person?.sub ?? "", body);
    await this.attempt(async () => {
      const sent = await session.client.ask<Schemas["SentPacket"]>("POST", "/packets", {
        body,
        key,
        repeats: REPEATS,
        onRepeat: () => (this.state = "resending"),
      });
      session.writes.end("send");
      const isPaid = sent.payment_id === null;
      navigate(isPaid ? `/packets/${sent.packet_id}/share` : `/payments/${sent.payment_id}`, true);
    });
    this.state = "idle";
    if (!this.problem) return;
    // An unknown outcome keeps its key: sending the same again can't pay twice. After a sign-in
    // that was needed first, it is sent as it was.
    if (!this.problem.passesByItself && this.problem.code !== "unauthorized") session.writes.end("send");
    if (this.problem.retryAfterS) this.#wait(this.problem.retryAfterS);
  }

  #wait(seconds: number): void {
    this.waitUntilMs = Date.now() + 1000 * seconds;
    setTimeout(() => this.requestUpdate(), 1000 * seconds + 20);
  }
}

function barView(place: number, height: number) {
  // A fragment of SVG inside a template of HTML needs Lit's own tag for it.
  return svg`<rect x=${place * 10 + 1.5} y=${40 - height} width="7" height=${height} rx="1.5" />`;
}

customElements.define("rp-send", Send);
