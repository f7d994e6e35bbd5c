/** Suggested recipients: claimers and senders from the user's history. */

import { html } from "lit";

import type { Schemas } from "../api/client.ts";
import { t } from "../i18n/user.ts";
import { sealView } from "../packet/cover.ts";
import { session } from "../session.ts";
import { loadingView, problemView, View } from "./view.ts";

type Person = Pick<Schemas["ShownPerson"], "user_token" | "nickname" | "avatar_url">;

/** Maximum number of packets to search in each list. CLAIMS is the maximum number of claims to read from each packet. */
const PACKETS = 4;
const CLAIMS = 20;
const PEOPLE_MAX = 24;

export async function recentPeople(): Promise<Person[]> {
  const { client } = session;
  const [me, sent, received] = await Promise.all([
    client.get("/me"),
    client.get("/me/sent"),
    client.get("/me/received"),
  ]);
  const items = [...sent.items.slice(0, PACKETS), ...received.items.slice(0, PACKETS)];
  const ids = [...new Set(items.map((item) => item.packet_id))];
  const pages = await Promise.allSettled(ids.map((id) => client.get(`/packets/${id}?limit=${CLAIMS}`)));
  const byToken = new Map<string, Person>();
  for (const page of pages) {
    if (page.status === "rejected") continue;
    for (const user of [page.value.sender, ...page.value.claims]) byToken.set(user.user_token, user);
  }
  byToken.delete(me.user_token);
  return [...byToken.values()].slice(0, PEOPLE_MAX);
}

class Recents extends View {
  static override properties = {
    ...View.properties,
    chosen: { attribute: false },
    isBusy: { attribute: false },
    users: { state: true },
  };
  declare chosen: string[];
  declare isBusy: boolean;
  declare users: Person[] | undefined;

  override connectedCallback(): void {
    super.connectedCallback();
    this.#load();
  }

  #load(): void {
    void this.attempt(async () => {
      this.users = await recentPeople();
    });
  }

  override render() {
    if (this.problem) return problemView(this.problem, () => this.#load());
    if (!this.users) return loadingView();
    if (this.users.length === 0) return html`<p class="hint">${t("no_recents")}</p>`;
    return html`
      <fieldset class="people" ?disabled=${this.isBusy} aria-describedby="people-wrong">
        <legend>${t("recents")}</legend>
        ${this.users.map(
          ({ user_token, nickname, avatar_url }) => html`
            <label>
              <input
                type="checkbox"
                name="people"
                value=${user_token}
                ?checked=${this.chosen.includes(user_token)}
              />
              <span>${sealView(nickname, avatar_url)}${nickname}</span>
            </label>
          `,
        )}
      </fieldset>
    `;
  }
}

customElements.define("rp-recents", Recents);
