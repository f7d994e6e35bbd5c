/** The audience: upload of a user file in parts, and a report of invalid lines. */

import { html, nothing } from "lit";

import type { Schemas } from "../api/client.ts";
import { USERS_MAX } from "../api/limits.ts";
import { stateOf } from "./plan.ts";
import { audienceText } from "./running.ts";
import { readUsers, type UserFile } from "./users-file.ts";
import { confirm, ConsoleView, facts, write } from "./view.ts";
import { o } from "./words.ts";

const SHOWN_MAX = 20;
/** Uses of an uploaded file: replace or extend a list of allowed or denied users, or remove users. */
const USES = ["allow_replace", "allow_extend", "deny_replace", "deny_extend", "remove"] as const;
type Mode = "allow" | "deny";

export class OperatorAudience extends ConsoleView {
  static override properties = {
    ...ConsoleView.properties,
    campaign: { attribute: false },
    bad: { state: true },
    done: { state: true },
  };
  declare campaign: Schemas["CampaignAdmin"];
  declare bad: UserFile["bad"];
  declare done: { sent: number; all: number } | undefined;

  constructor() {
    super();
    this.bad = [];
  }

  override render() {
    const { done, bad } = this;
    return html`
      <p class="hint">${audienceText(this.campaign)}</p>
      <form class="filters" @submit=${(event: SubmitEvent) => this.#submit(event)}>
        <label><span>${o("users_file")}</span><input type="file" name="users" data-api="add remove" accept=".csv,.txt" required /></label>
        <label>
          <span>${o("audience_use")}</span>
          <select name="use" required>
            <option value="" selected>${o("use_choose")}</option>
            ${USES.map(
              (use) => html`<option value=${use}>${o(`use_${use}`)}</option>`,
            )}
          </select>
        </label>
        <button class="secondary" ?disabled=${this.isBusy}>${o("upload")}</button>
      </form>
      ${done
        ? html`<progress max=${done.all} value=${done.sent} aria-label=${o("upload")}></progress>
            <small>${o("users_sent", { n: done.sent, all: done.all })}</small>`
        : nothing}
      ${this.news()}
      ${bad.length
        ? html`<div class="warnings" role="status">
            <p class="bad">${o("bad_lines", { n: bad.length })}</p>
            <ul>
              ${bad.slice(0, SHOWN_MAX).map(({ line, text }) => html`<li>${o("bad_line", { line })} <code>${text}</code></li>`)}
            </ul>
          </div>`
        : nothing}
    `;
  }

  #submit(event: SubmitEvent): void {
    event.preventDefault();
    const form = new FormData(event.target as HTMLFormElement);
    const file = form.get("users");
    const use = USES.find((each) => each === form.get("use"));
    if (!(file instanceof File) || !use) return;
    void this.act("edit_audience", async () => {
      const { users, bad } = readUsers(await file.text());
      this.bad = bad;
      if (!users.length) return o("no_users");
      const { audience_mode: before, audience_size: size } = this.campaign;
      const [word, way] = use.split("_") as [Mode | "remove", string | undefined];
      const isReplaced = way === "replace";
      // In a running campaign, an emptied list would shut everyone out or let everyone in.
      if (isReplaced && size && before && stateOf(this.campaign) === "running") return o("audience_pause_first");
      const n = users.length;
      const after = isReplaced ? String(n) : word === "remove" ? `${Math.max(0, size - n)} – ${size}` : `${Math.max(size, n)} – ${size + n}`;
      const body = facts(
        [o("audience_before"), audienceText(this.campaign)],
        [o("users_in_file"), n],
        [o("audience_after"), word === "remove" ? o("audience_removed", { n: after }) : o(`audience_${word}`, { n: after })],
      );
      const hint = o(isReplaced ? "audience_replaced" : "audience_keeps");
      const more = html`${body}<p class="hint">${hint}</p>`;
      if (!(await confirm(`${o(`use_${use}`)}: ${this.campaign.title}`, more, o("upload")))) return "";
      const path = `/admin/campaigns/${this.campaign.campaign_id}/audience`;
      if (isReplaced) await this.#clear(path);
      for (let at = 0; at < users.length; at += USERS_MAX) {
        this.done = { sent: at, all: users.length };
        const part = users.slice(at, at + USERS_MAX);
        await write("POST", path, word === "remove" ? { remove: part } : { add: part });
      }
      // Set the mode last, because it puts the list into effect.
      const { size: left } = await write<Schemas["Audience"]>("POST", path, word === "remove" ? {} : { mode: word });
      this.done = { sent: users.length, all: users.length };
      this.dispatchEvent(new Event("edited", { bubbles: true }));
      return o("audience_done", { n: users.length, size: left });
    });
  }

  /** Removes all users, in as many calls as necessary. */
  async #clear(path: string): Promise<void> {
    for (let before = Infinity; ; ) {
      const { size } = await write<Schemas["Audience"]>("POST", path, { remove_all: true });
      if (!size || size >= before) return;
      before = size;
    }
  }
}

customElements.define("op-audience", OperatorAudience);
