/** Notices of the last 30 days about the user's packets, prizes and withdrawals. */

import { html, nothing } from "lit";

import type { Schemas } from "../api/client.ts";
import { clock } from "../i18n/language.ts";
import { p } from "../i18n/packet.ts";
import { t, type Word } from "../i18n/user.ts";
import { money } from "../money.ts";
import { sealView } from "../packet/cover.ts";
import { session } from "../session.ts";
import { loadingView, problemView, View } from "./view.ts";
import "./user.css";

type Page = Schemas["Notices"];
type Notice = Page["items"][number];

/** Icons of the known kinds of notices. Unknown kinds are shown as "other". */
const SIGNS: Record<string, string> = {
  packet_emptied: "🧧",
  packet_refunded: "↩️",
  thanked: "💬",
  best_luck: "👑",
  prize_sent: "🎁",
  withdrawal_paid: "💰",
  withdrawal_failed: "⚠️",
} satisfies Record<Notice["kind"], string>;

export class Notices extends View {
  static override properties = { ...View.properties, page: { state: true } };
  /** All loaded notices. The first `unread` notices are marked. */
  declare page: Page | undefined;

  override connectedCallback(): void {
    super.connectedCallback();
    this.#load();
  }

  #load(): void {
    void this.attempt(async () => (this.page = await this.#read()));
  }

  #read(cursor = ""): Promise<Page> {
    return session.client.get<Page>(`/me/notices?${new URLSearchParams(cursor && { cursor })}`);
  }

  /** Prepends new notices and keeps old marks, because the API now counts all of them as read. */
  override async refresh(): Promise<void> {
    const [first, { page }] = [await this.#read(), this];
    const known = new Set(page?.items.map((item) => JSON.stringify(item)));
    const items = first.items.filter((item) => !known.has(JSON.stringify(item)));
    // If the pages have no common item, there may be a gap between them.
    if (!page || items.length === first.items.length) this.page = first;
    else this.page = { ...page, items: [...items, ...page.items], unread: items.length + page.unread };
  }

  readonly #more = () =>
    void this.attempt(async () => {
      const { items, next } = await this.#read(this.page!.next!);
      this.page = { ...this.page!, items: [...this.page!.items, ...items], next };
    });

  override render() {
    const { page, problem } = this;
    const retry = page ? this.#more : () => this.#load();
    return html`
      <h1 tabindex="-1">${t("notices")}</h1>
      <p class="hint">${t("notices_lead")}</p>
      <section class="card">
        ${page ? listView(page) : problem ? nothing : loadingView()}
        ${problem
          ? problemView(problem, retry)
          : page?.next
            ? html`<button class="quiet" @click=${this.#more}>${p("more")}</button>`
            : nothing}
      </section>
    `;
  }
}

function listView({ items, unread }: Page) {
  if (items.length === 0) return html`<p class="empty">${t("no_notices")}</p>`;
  return html`<ul class="items notices">
    ${items.map((item, index) => noticeView(item, index < unread))}
  </ul>`;
}

function noticeView(item: Notice, isUnread: boolean) {
  const { amount_fen: fen, at_ms: atMs, kind, text } = item;
  const word: Word = kind in SIGNS ? `notice_${kind}` : "notice_other";
  return html`
    <li>
      <a href=${pathOf(item)}>
        ${sealView(text ?? SIGNS[kind] ?? "🔔")}
        <span class="what">
          <b>${t(word)} ${isUnread ? html`<i class="badge">${t("notice_new")}</i>` : nothing}</b>
          <time>${clock(atMs)}</time>
        </span>
        ${fen === undefined ? nothing : html`<span class="fen">${money(fen)}</span>`}
      </a>
    </li>
  `;
}

/** Returns the path to the subject of a notice. */
function pathOf({ packet_id: packetId, campaign_id: campaignId, withdrawal_id: withdrawalId }: Notice): string {
  if (packetId) return `/packets/${packetId}`;
  return campaignId ? `/campaigns/${campaignId}#prizes` : `/wallet#${withdrawalId}`;
}

customElements.define("rp-notices", Notices);
