/** The switches with their reasons. Only turning a switch off asks for confirmation. */

import { html, nothing } from "lit";

import type { Schemas } from "../api/client.ts";
import { session } from "../session.ts";
import { atMost, loadingView } from "../views/view.ts";
import { confirm, ConsoleView, duties, when, write } from "./view.ts";
import { o, wordOf } from "./words.ts";

type Switch = Schemas["Switch"];

export class OperatorSwitches extends ConsoleView {
  static override properties = { ...ConsoleView.properties, switches: { state: true } };
  declare switches: Switch[] | undefined;

  override connectedCallback(): void {
    super.connectedCallback();
    void this.attempt(() => this.refresh());
  }

  override async refresh(): Promise<void> {
    this.switches = (await session.client.get("/admin/switches")).items;
  }

  override render() {
    return html`
      <h1 tabindex="-1">${o("switches")}</h1>
      <p class="hint">${o("switches_hint")}</p>
      ${this.news()}
      ${this.switches
        ? html`<ul class="card items">
            ${this.switches.map(
              (state) => html`<li>
                <span class="what">
                  <b>${wordOf(`switch_${state.name}`)}</b>
                  <small>
                    <span class=${state.on ? "" : "bad"}>${o(state.on ? "on" : "off")}</span>
                    ${state.reason} ${when(state.changed_at_ms)}
                  </small>
                </span>
                ${duties().may("switch")
                  ? html`<button class="secondary" ?disabled=${this.isBusy} @click=${() => this.#turn(state)}>
                      ${o(state.on ? "turn_off" : "turn_on")}
                    </button>`
                  : nothing}
              </li>`,
            )}
          </ul>`
        : this.problem ? nothing : loadingView()}
    `;
  }

  async #turn(state: Switch): Promise<void> {
    const form = state.on ? await this.#ask(state) : new FormData();
    if (!form) return;
    await this.act("switch", async () => {
      const reason = form.get("reason");
      const turned = await write<Switch>("PUT", `/admin/switches/${state.name}`, {
        on: !state.on,
        ...(typeof reason === "string" && reason.trim() ? { reason: reason.trim() } : {}),
      });
      this.switches = this.switches?.map((old) => (old.name === state.name ? turned : old));
      return o("done");
    });
  }

  #ask(state: Switch): Promise<FormData | undefined> {
    const body = html`
      <p>${o("turn_off_hint")}</p>
      <label class="field tall"><span>${o("reason")}</span><input name="reason" @input=${atMost(100)} autocomplete="off" /></label>
    `;
    return confirm(`${o("turn_off")}: ${wordOf(`switch_${state.name}`)}`, body, o("turn_off"));
  }
}

customElements.define("op-switches", OperatorSwitches);
