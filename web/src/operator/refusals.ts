/** Requests that the deployment refused, by reason. */

import { html, nothing } from "lit";

import type { Schemas } from "../api/client.ts";
import { problemOf } from "../api/problems.ts";
import { problemText } from "../i18n/packet.ts";
import { Poll } from "../poll.ts";
import { session } from "../session.ts";
import { problemView, View } from "../views/view.ts";
import { address } from "./pages.ts";
import { o } from "./words.ts";

/** The API asks CloudWatch once a minute. */
const EVERY_MS = 60_000;
const HOURS = [1, 24] as const;

class Refusals extends View {
  static override properties = { ...View.properties, hours: { state: true }, counted: { state: true } };
  declare hours: number;
  declare counted: Schemas["Refusals"] | undefined;
  readonly #poll = new Poll({
    ask: async () => {
      const { hours } = this;
      const counted = await session.client.get<Schemas["Refusals"]>(address("/admin/refusals", { hours }));
      if (hours === this.hours) this.counted = counted;
      this.problem = undefined;
      return EVERY_MS;
    },
    failed: (error) => {
      this.problem = problemOf(error);
      return this.problem.retryAfterS === undefined ? undefined : EVERY_MS;
    },
  });

  constructor() {
    super();
    this.hours = HOURS[0];
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.#poll.start();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#poll.stop();
  }

  override render() {
    const items = this.counted?.hours === this.hours ? this.counted.items : undefined;
    const most = items?.[0]?.count;
    return html`
      <p class="ways">
        ${HOURS.map(
          (hours) => html`<button class="secondary" aria-pressed=${hours === this.hours} @click=${() => this.#choose(hours)}>
            ${o("last_hours", { n: hours })}
          </button>`,
        )}
      </p>
      <p class="hint">${o("refusals_hint")}</p>
      ${this.problem ? problemView(this.problem, () => this.#poll.start()) : nothing}
      ${items?.length === 0 ? html`<p class="empty">${o("no_refusals")}</p>` : nothing}
      <ul class="items">
        ${items?.map(
          ({ code, count }) => html`<li>
            <span class="what">
              <b>${problemText(code)}</b> <small>${code} · ${o("times", { n: count })}</small>
              <progress max=${most ?? 1} value=${count} aria-label=${code}></progress>
            </span>
          </li>`,
        )}
      </ul>
    `;
  }

  #choose(hours: number): void {
    this.hours = hours;
    this.#poll.start();
  }
}

customElements.define("op-refusals", Refusals);
