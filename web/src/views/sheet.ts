/** Base of sheets: a modal dialog that Back also closes. */

import "./sheet.css";
import { View } from "./view.ts";

export class Sheet extends View {
  override connectedCallback(): void {
    super.connectedCallback();
    addEventListener("popstate", this.close);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    removeEventListener("popstate", this.close);
  }

  override firstUpdated(): void {
    this.querySelector("dialog")!.showModal();
  }

  readonly close = () => this.querySelector("dialog")?.close();
}
