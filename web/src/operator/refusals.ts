/** The funnel from a visit to money, and refused requests by reason. */

import { html, nothing } from "lit";

import type { Schemas } from "../api/client.ts";
import { problemOf } from "../api/problems.ts";
import { problemText } from "../i18n/packet.ts";
import { Poll } from "../poll.ts";
import { session } from "../session.ts";
import { problemView, View } from "../views/view.ts";
import { address } from "./pages.ts";
import { o } from "./words.ts";

/** Milliseconds between polls. The API caches the counts for a minute. */
const EVERY_MS = 60_000;
const HOURS = [1, 24] as const;
const STAGES = ["visited", "tried", "won", "credited", "withdrawn"] as const;

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
    const counted = this.counted?.hours === this.hours ? this.counted : undefined;
    const items = counted?.items;
    const most = items?.[0]?.count ?? 1;
    return html`
      <p class="ways">
        ${HOURS.map(
          (hours) => html`<button class="secondary" aria-pressed=${hours === this.hours} @click=${() => this.#choose(hours)}>
            ${o("last_hours", { n: hours })}
          </button>`,
        )}
      </p>
      <p class="hint">${o("funnel_hint")}</p>
      ${this.problem ? problemView(this.problem, () => this.#poll.start()) : nothing}
      ${counted ? this.#funnel(counted.funnel) : nothing}
      <h3>${o("refusals")}</h3>
      ${items?.length === 0 ? html`<p class="empty">${o("no_refusals")}</p>` : nothing}
      <ul class="items">
        ${items?.map(({ code, count }) => bar(code === "unavailable" ? o("busy") : problemText(code), `${code} · ${o("times", { n: count })}`, count, most))}
      </ul>
    `;
  }

  #funnel(counts: Schemas["Funnel"]) {
    const most = Math.max(1, ...STAGES.map((stage) => counts[stage]));
    return html`<ol class="items">
      ${STAGES.map((stage, at) => {
        const before = at && counts[STAGES[at - 1]!];
        // Show no percentage if a stage exceeds the previous one: a rain may have more grabs than visits.
        const share = before && counts[stage] <= before ? ` · ${Math.round((100 * counts[stage]) / before)}%` : "";
        return bar(o(`stage_${stage}`), `${o("times", { n: counts[stage] })}${share}`, counts[stage], most);
      })}
    </ol>`;
  }

  #choose(hours: number): void {
    this.hours = hours;
    this.#poll.start();
  }
}

function bar(name: string, text: string, count: number, most: number) {
  return html`<li>
    <span class="what">
      <b>${name}</b> <small>${text}</small>
      <progress max=${most} value=${count} aria-label=${name}></progress>
    </span>
  </li>`;
}

customElements.define("op-refusals", Refusals);
