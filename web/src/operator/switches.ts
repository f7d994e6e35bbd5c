/** The switches, with the reason that operators find; off is asked about, on is not. */

import { html, nothing } from "lit";

import type { Schemas } from "../api/client.ts";
import { session } from "../session.ts";
import { loadingView } from "../views/view.ts";
import { confirm, ConsoleView, duties, when, write } from "./view.ts";
import { o, wordOf } from "./words.ts";

type Switch = Schemas["Switch"];

export class OperatorSwitches extends ConsoleView {
  static override properties = { ...ConsoleView.properties, switches: { state: true } };
  declare switches: Switch[] | undefined;

  override connectedCallback(): void {
    super.connectedCallback();
    void this.attempt(async () => {
      this.switches = (await session.client.get("/admin/switches")).items;
    });
  }

  override render() {
    return html`
      <h1 tabindex="-1">${o("switches")}</h1>
      <p class="hint">${o("switches_hint")}</p>
      ${this.news()}
      ${this.switches
        ? html`<ul class="card items">
            ${this.switches.map(
              (one) => html`<li>
                <span class="what">
                  <b>${wordOf(`switch_${one.name}`)}</b>
                  <small>
                    <span class=${one.on ? "" : "bad"}>${o(one.on ? "on" : "off")}</span>
                    ${one.reason} ${when(one.changed_at_ms)}
                  </small>
                </span>
                ${duties().may("switch")
                  ? html`<button class="secondary" ?disabled=${this.isBusy} @click=${() => this.#turn(one)}>
                      ${o(one.on ? "turn_off" : "turn_on")}
                    </button>`
                  : nothing}
              </li>`,
            )}
          </ul>`
        : this.problem ? nothing : loadingView()}
    `;
  }

  async #turn(one: Switch): Promise<void> {
    const said = one.on ? await this.#ask(one) : new FormData();
    if (!said) return;
    await this.act("switch", async () => {
      const reason = said.get("reason");
      const turned = await write<Switch>("PUT", `/admin/switches/${one.name}`, {
        on: !one.on,
        ...(typeof reason === "string" && reason.trim() ? { reason: reason.trim() } : {}),
      });
      this.switches = this.switches?.map((old) => (old.name === one.name ? turned : old));
      return o("done");
    });
  }

  #ask(one: Switch): Promise<FormData | undefined> {
    const body = html`
      <p>${o("turn_off_hint")}</p>
      <label class="field tall"><span>${o("reason")}</span><input name="reason" maxlength="200" autocomplete="off" /></label>
    `;
    return confirm(`${o("turn_off")}: ${wordOf(`switch_${one.name}`)}`, body, o("turn_off"));
  }
}

customElements.define("op-switches", OperatorSwitches);
