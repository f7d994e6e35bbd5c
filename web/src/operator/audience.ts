/** The audience: a file of users, sent in parts, with the invalid lines. */

import { html, nothing } from "lit";

import type { Schemas } from "../api/client.ts";
import { USERS_MAX } from "../api/limits.ts";
import { readUsers, type UserFile } from "./users-file.ts";
import { confirm, ConsoleView, facts, write } from "./view.ts";
import { o } from "./words.ts";

const SHOWN_MAX = 20;
const USES = ["allow", "deny", "remove"] as const;

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
    const mode = this.campaign.audience_mode;
    return html`
      <p class="hint">${o(mode ? `audience_${mode}` : "audience_none")}</p>
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
      const mode = this.campaign.audience_mode;
      const body = facts(
        [o("audience_before"), o(mode ? `audience_${mode}` : "audience_none")],
        [o("audience_after"), o(use === "remove" ? "audience_removed" : `audience_${use}`)],
        [o("users_in_file"), users.length],
      );
      const more = html`${body}<p class="hint">${o("audience_keeps")}</p>`;
      if (!(await confirm(`${o(`use_${use}`)}: ${this.campaign.title}`, more, o("upload")))) return "";
      const path = `/admin/campaigns/${this.campaign.campaign_id}/audience`;
      for (let at = 0; at < users.length; at += USERS_MAX) {
        this.done = { sent: at, all: users.length };
        const part = users.slice(at, at + USERS_MAX);
        await write("POST", path, use === "remove" ? { remove: part } : { add: part });
      }
      // The mode puts the list into effect, so it comes last, after all users.
      const { size } = await write<Schemas["Audience"]>("POST", path, use === "remove" ? {} : { mode: use });
      this.done = { sent: users.length, all: users.length };
      this.dispatchEvent(new Event("edited", { bubbles: true }));
      return o("audience_done", { n: users.length, size });
    });
  }
}

customElements.define("op-audience", OperatorAudience);
