/** Campaign form, with a preview beside it. The browser keeps a draft of the form until it is saved. */

import { html, nothing } from "lit";
import { keyed } from "lit/directives/keyed.js";

import type { Schemas } from "../api/client.ts";
import { newKey } from "../api/keys.ts";
import { Problem } from "../api/problems.ts";
import { language } from "../i18n/language.ts";
import { problemText } from "../i18n/packet.ts";
import { parseAmount, plainAmount } from "../money.ts";
import { now } from "../now.ts";
import { navigate } from "../router.ts";
import { session } from "../session.ts";
import { device } from "../store.ts";
import { loadingView, type View } from "../views/view.ts";
import {
  allowedIn,
  emptyPlan,
  emptyPrize,
  isId,
  missPercent,
  mistakes,
  planOf,
  shownOf,
  stepsTo,
  type Campaign,
  type PlanForm,
  type PrizeForm,
  type Step,
} from "./plan.ts";
import { awaitingView, awaits, type Awaiting, closedText, ConsoleView, duties, handOver, ownToken, reading, write } from "./view.ts";
import { o, type OpWord } from "./words.ts";

type Previewed = "upcoming" | "rain" | "lottery";

/** Returns the states of the users' page that a form can preview. */
function previewsOf({ budget, prizes }: PlanForm): Previewed[] {
  const hasLottery = prizes.some(({ is_on: isOn }) => isOn);
  const games: Previewed[] = hasLottery ? ["lottery"] : ["rain"];
  return ["upcoming", ...(hasLottery && parseAmount(budget) ? (["rain"] as const) : []), ...games];
}

type Written = Pick<Campaign, "version"> & Partial<Campaign>;
const KINDS = ["goods", "packet", "code"] as const;
const ZONES = ["Asia/Shanghai", "Asia/Hong_Kong", "Asia/Singapore", "Asia/Tokyo", "Europe/London", "America/New_York"];
/** API names of fields that have a different name in the form. */
const API_NAMES: Record<string, string> = {
  ...{ id: "campaign_id", starts: "starts_at_ms", ends: "ends_at_ms", budget: "budget_fen", quota: "quota_per_user" },
  ...{ attempts: "rules.attempts_per_user_per_day", wins: "rules.wins_per_user_per_day" },
  ...{ percent: "weight", amount: "amount_fen" },
};
const slot = (id: string) => `redpacket.plan.${id || "new"}`;
const random = (length: number) => newKey().slice(0, length);

export class OperatorEditor extends ConsoleView {
  static override properties = {
    ...ConsoleView.properties,
    campaignId: {},
    plan: { state: true },
    wrong: { state: true },
    isDraft: { state: true },
    previewed: { state: true },
  };
  /** Empty for a new campaign. */
  declare campaignId: string;
  declare plan: PlanForm | undefined;
  declare wrong: Record<string, OpWord>;
  /** Whether the form was restored from a draft in this browser. */
  declare isDraft: boolean;
  /** Selected preview, used if the form supports it. */
  declare previewed: Previewed;
  #before: Campaign | undefined;

  constructor() {
    super();
    this.wrong = {};
    this.isDraft = false;
    this.previewed = "rain";
  }

  override connectedCallback(): void {
    super.connectedCallback();
    void this.attempt(async () => {
      if (this.campaignId) this.#before = await session.client.get(`/admin/campaigns/${this.campaignId}`);
      // A new plan needs the server's clock, and any answer sets it.
      else await ownToken().catch(() => undefined);
      const kept = device.getItem(slot(this.campaignId));
      this.isDraft = kept !== null;
      this.plan = kept ? (JSON.parse(kept) as PlanForm) : this.#fresh();
    });
  }

  #fresh(): PlanForm {
    if (this.#before) return planOf(this.#before);
    const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
    return emptyPlan(now(), zone, `c-${random(8)}`);
  }

  override render() {
    const form = this.plan;
    const isOn = this.#before?.status === "on";
    return html`
      <h1 tabindex="-1">${o(this.campaignId ? "edit_campaign" : "new_campaign")}</h1>
      ${form
        ? html`<div class="editor">
            <form novalidate @input=${this.#type} @submit=${(event: SubmitEvent) => this.#submit(event, "on")}>
              ${this.isDraft
                ? html`<p class="told">
                    ${o("draft_found")}
                    <button type="button" class="quiet" @click=${() => this.#discard()}>${o("draft_discard")}</button>
                  </p>`
                : nothing}
              ${this.#about(form)} ${this.#rules(form)} ${this.#prizes(form)} ${this.news()}
              <p class="answers">
                ${isOn
                  ? nothing
                  : html`<button type="button" class="secondary" ?disabled=${this.isBusy} @click=${() => this.#save("off")}>
                      ${o("save_draft")}
                    </button>`}
                <button class="primary" ?disabled=${this.isBusy}>${o(isOn ? "save" : "publish")}</button>
              </p>
              <p class="hint">${o(isOn ? "save_hint" : "publish_hint")}</p>
            </form>
            <aside class="preview" aria-label=${o("preview")}>${this.#preview(form)}</aside>
          </div>`
        : this.problem
          ? this.news()
          : loadingView()}
    `;
  }

  #field(name: string, label: OpWord, value: string, more: { type?: string; hint?: OpWord; list?: string; fixed?: boolean } = {}) {
    const wrong = this.wrong[name];
    const hintId = `wrong-${name}`;
    const isMoney = more.type === "money";
    const isNumber = isMoney || more.type === "number";
    return html`<label class="field tall ${wrong ? "is-wrong" : ""}">
      <span>${o(label)}</span>
      <input
        name=${name}
        data-api=${name.replace(/[^.]+$/, (last) => API_NAMES[last] ?? last)}
        type=${isNumber ? "text" : (more.type ?? "text")}
        inputmode=${isNumber ? "decimal" : nothing}
        list=${more.list ?? nothing}
        .value=${value}
        ?disabled=${more.fixed === true || (name !== "budget" && !duties().may("plan"))}
        autocomplete="off"
        aria-invalid=${!!wrong}
        aria-describedby=${wrong ? hintId : nothing}
      />
      ${more.hint ? html`<small>${o(more.hint)}</small>` : nothing}
      ${isMoney && !wrong ? html`<small class="reading" aria-live="polite">${reading(value)}</small>` : nothing}
      ${wrong ? html`<small class="bad" id=${hintId}>${o(wrong, { text: plainAmount(value), ...allowedIn(name) })}</small>` : nothing}
    </label>`;
  }

  #about(form: PlanForm) {
    return html`<section class="card">
      <h2>${o("about")}</h2>
      ${this.#field("title", "title", form.title)} ${this.#field("description", "description", form.description)}
      ${this.#field("id", "campaign_id", form.id, { hint: "id_hint", fixed: !!this.campaignId })}
      <div class="pair">
        ${this.#field("starts", "starts", form.starts, { type: "datetime-local" })}
        ${this.#field("ends", "ends", form.ends, { type: "datetime-local" })}
      </div>
      ${this.#field("timezone", "timezone", form.timezone, { list: "zones", hint: "zone_hint", fixed: !!this.campaignId })}
      <datalist id="zones">${ZONES.map((zone) => html`<option value=${zone}></option>`)}</datalist>
    </section>`;
  }

  #rules(form: PlanForm) {
    const number = { type: "number" };
    return html`<section class="card">
      <h2>${o("money_and_rules")}</h2>
      ${duties().may("set_budget")
        ? this.#field("budget", "budget", form.budget, { type: "money", hint: "budget_hint" })
        : html`<p class="hint">${o("budget_by_treasury")}</p>`}
      <div class="pair">
        ${this.#field("quota", "quota", form.quota, number)} ${this.#field("attempts", "attempts", form.attempts, number)}
        ${this.#field("wins", "wins", form.wins, number)}
        ${this.#field("passphrase", "passphrase", form.passphrase, { hint: "passphrase_hint" })}
      </div>
      <p class="hint">${o("zero_hint")}</p>
    </section>`;
  }

  #prizes(form: PlanForm) {
    const miss = missPercent(form.prizes);
    return html`<section class="card">
      <h2>${o("prizes")}</h2>
      <p class="hint">${o("prizes_hint")}</p>
      ${form.prizes.map((prize, at) => this.#prize(prize, at))}
      ${form.prizes.length
        ? html`<p class=${miss < 0 ? "bad" : ""}>${o("no_prize")} <b>${miss}%</b></p>`
        : nothing}
      <button type="button" class="secondary" ?disabled=${!duties().may("plan")} @click=${() => this.#change({ prizes: [...form.prizes, emptyPrize(`p-${random(6)}`)] })}>
        ${o("add_prize")}
      </button>
    </section>`;
  }

  #prize(prize: PrizeForm, at: number) {
    const name = (field: keyof PrizeForm) => `prizes.${at}.${field}`;
    const isSaved = this.#before?.prizes.some((saved) => saved.prize_id === prize.id);
    const number = { type: "number" };
    const box = (field: "once" | "is_on", word: OpWord) =>
      html`<label class="field switch"><span>${o(word)}</span><input
          type="checkbox"
          name=${name(field)}
          .checked=${prize[field]}
          ?disabled=${!duties().may("plan")}
      /></label>`;
    return html`<fieldset class="prize">
      <legend>${prize.title || o("prize_n", { n: at + 1 })}</legend>
      ${this.#field(name("title"), "prize_title", prize.title)}
      <div class="pair">
        <label class="field tall">
          <span>${o("kind")}</span>
          <select name=${name("kind")} ?disabled=${isSaved === true || !duties().may("plan")}>
            ${KINDS.map((kind) => html`<option value=${kind} ?selected=${kind === prize.kind}>${o(`kind_${kind}`)}</option>`)}
          </select>
        </label>
        ${prize.kind === "packet"
          ? this.#field(name("amount"), "unit_amount", prize.amount, { type: "money", fixed: !!isSaved })
          : nothing}
        ${this.#field(name("percent"), "chance", prize.percent, number)}
        ${prize.kind === "code" ? nothing : this.#field(name("total"), "stock", prize.total, number)}
        ${this.#field(name("per_day"), "per_day", prize.per_day, number)}
      </div>
      ${prize.kind === "code" ? html`<p class="hint">${o("codes_hint")}</p>` : nothing}
      ${this.#field(name("image_url"), "picture", prize.image_url, { hint: "picture_hint" })}
      <label class="field tall">
        <span>${o("upload_picture")}</span>
        <input
          type="file"
          accept="image/*"
          ?disabled=${this.isBusy || !duties().may("plan")}
          @input=${(event: Event) => event.stopPropagation()}
          @change=${(event: Event) => void this.#upload(event, prize)}
        />
      </label>
      ${box("once", "once_per_user")}
      ${isSaved
        ? box("is_on", "in_draws")
        : html`<button
            type="button"
            class="quiet"
            @click=${() => this.#change({ prizes: this.plan!.prizes.filter((other) => other.id !== prize.id) })}
          >
            ${o("remove_prize")}
          </button>`}
    </fieldset>`;
  }

  /** Renders the users' page in an inert frame, with the form's campaign instead of the API's. */
  #preview(form: PlanForm) {
    const shown = this.#shown(form);
    const campaign = shownOf(form, shown === "upcoming" ? shown : "on");
    // A new key reloads the frame, because the page keeps its language and games.
    const key = [language(), shown, campaign.packets.length, campaign.prizes.length > 0].join();
    return html`
      <div class="label ways">
        ${o("preview")}
        ${previewsOf(form).map(
          (each) => html`<button
            type="button"
            class="secondary"
            aria-pressed=${each === shown ? "true" : "false"}
            @click=${() => (this.previewed = each)}
          >
            ${o(`preview_${each}`)}
          </button>`,
        )}
      </div>
      ${keyed(
        key,
        html`<iframe
          title=${o("preview")}
          inert
          tabindex="-1"
          src="/campaigns/${isId(form.id) ? form.id : "preview"}"
          .campaign=${campaign}
          .game=${shown}
        ></iframe>`,
      )}
    `;
  }

  #shown(form: PlanForm): Previewed {
    const all = previewsOf(form);
    return all.includes(this.previewed) ? this.previewed : all[1]!;
  }

  override updated(): void {
    const { contentDocument: page } = this.querySelector("iframe") ?? {};
    const view = page?.querySelector("rp-campaign") as unknown as Pick<View, "refresh"> | null | undefined;
    // Update the preview with the current form.
    void view?.refresh();
  }

  readonly #type = (event: Event) => {
    const { name, value, type, checked } = event.target as HTMLInputElement;
    const [list, at, field] = name.split(".");
    const entered = type === "checkbox" ? checked : value;
    if (list !== "prizes") this.#change({ [name]: entered });
    else {
      const prizes = this.plan!.prizes.map((prize, n) => (n === Number(at) ? { ...prize, [field!]: entered } : prize));
      this.#change({ prizes });
    }
    if (this.wrong[name]) this.wrong = { ...this.wrong, [name]: undefined as never };
  };

  #upload(event: Event, prize: PrizeForm): Promise<void> {
    const input = event.currentTarget as HTMLInputElement;
    const [file] = input.files ?? [];
    if (!file) return Promise.resolve();
    return this.act("plan", async () => {
      const { PRIZE, pictureOf } = await import("../views/upload.ts");
      const picture = await pictureOf(file, PRIZE).catch(() => undefined);
      input.value = "";
      if (!picture) return o("bad_picture");
      const { cover_url } = await write<Schemas["UploadedPicture"]>("POST", "/admin/pictures", { picture });
      const prizes = this.plan!.prizes.map((other) => (other.id === prize.id ? { ...other, image_url: cover_url } : other));
      this.#change({ prizes });
      return o("done");
    });
  }

  #change(changed: Partial<PlanForm>): void {
    this.plan = { ...this.plan!, ...changed };
    device.setItem(slot(this.campaignId), JSON.stringify(this.plan));
  }

  #discard(): void {
    device.removeItem(slot(this.campaignId));
    this.isDraft = false;
    this.wrong = {};
    this.plan = this.#fresh();
  }

  #submit(event: SubmitEvent, status: Campaign["status"]): void {
    event.preventDefault();
    void this.#save(status);
  }

  async #save(status: Campaign["status"]): Promise<void> {
    const form = this.plan!;
    this.wrong = mistakes(form, !this.campaignId);
    if (Object.keys(this.wrong).length) {
      await this.updateComplete;
      this.querySelector<HTMLElement>("[aria-invalid=true]")?.focus();
      return;
    }
    await this.act("edit_campaign", async () => {
      const path = `/admin/campaigns/${form.id}` as const;
      if (this.#before) this.#before = await session.client.get(path);
      else if (!(await this.#isFree(path))) {
        this.wrong = { id: "id_taken" };
        return "";
      }
      const steps = stepsTo(this.#before, form, status, duties().may("set_budget"));
      const pendingStep = await this.#run(steps);
      if (pendingStep) {
        // Keep the form, because the remaining steps are saved after the approval.
        device.removeItem(slot(""));
        device.setItem(slot(form.id), JSON.stringify(form));
        return html`${awaitingView()} ${pendingStep === "rest" ? o("save_again") : nothing}`;
      }
      for (const id of [form.id, ""]) device.removeItem(slot(id));
      navigate(`/operator/campaigns/${form.id}`);
      return "";
    });
  }

  async #isFree(path: `/admin/campaigns/${string}`): Promise<boolean> {
    try {
      await session.client.get(path);
      return false;
    } catch (error) {
      if (error instanceof Problem && error.code === "campaign_not_found") return true;
      throw error;
    }
  }

  /** Runs the steps in order. If one needs approval, stops and returns whether it was the last one or more follow. */
  async #run(steps: readonly Step[]): Promise<"rest" | "last" | undefined> {
    let version = this.#before?.version;
    let closed = "";
    const versions = new Map(this.#before?.prizes.map((prize) => [prize.prize_id, prize.version]));
    for (const [at, { method, path, body, prize }] of steps.entries()) {
      const seen = prize === undefined ? version : versions.get(prize);
      const sent = { ...body, ...(seen !== undefined && { version: seen }) };
      let answer;
      try {
        answer = await write<Written | Awaiting>(method, path, sent);
      } catch (error) {
        const place = this.plan!.prizes.findIndex(({ id }) => id === prize);
        const name = this.plan!.prizes[place]?.title;
        if (error instanceof Problem && name) {
          this.message = o("prize_failed", { name, why: problemText(error.code) });
          error.errors = error.errors.map((each) => ({ ...each, field: `prizes.${place}.${each.field}` }));
        }
        throw error;
      }
      if (awaits(answer)) return at + 1 < steps.length ? "rest" : "last";
      closed = closedText(answer) || closed;
      if (prize === undefined) version = answer.version;
      else versions.set(prize, answer.version);
    }
    handOver(closed || o("done"));
    return undefined;
  }
}

customElements.define("op-editor", OperatorEditor);
