/** A button that copies text and shows whether the copy succeeded. */

import { html } from "lit";

import { t } from "../i18n/page.ts";
import { View } from "./view.ts";

const SHOWN_MS = 1500;

class CopyButton extends View {
  static override properties = { ...View.properties, text: { attribute: false }, outcome: { state: true } };
  declare text: string;
  declare outcome: "copied" | "copy_failed" | undefined;

  override render() {
    return html`<button type="button" class="secondary" @click=${() => this.#copy()}>
        ${t(this.outcome ?? "copy")}</button
      ><span class="unseen" role="status">${this.outcome ? t(this.outcome) : ""}</span>`;
  }

  async #copy(): Promise<void> {
    try {
      // Pages without TLS have no clipboard API.
      await navigator.clipboard.writeText(this.text);
      this.outcome = "copied";
    } catch {
      this.outcome = "copy_failed";
    }
    setTimeout(() => (this.outcome = undefined), SHOWN_MS);
  }
}

customElements.define("rp-copy", CopyButton);
