/** The scratch card: a silver layer that a finger or a button removes. */

import { html, nothing, type PropertyValues } from "lit";

import { t } from "../i18n/events.ts";
import { View } from "./view.ts";

/** Pointer events on the layer after which the whole result is revealed. */
const STROKES_ENOUGH = 24;

export class Scratch extends View {
  static override properties = {
    ...View.properties,
    text: { attribute: false },
    isCovered: { attribute: false },
  };
  declare text: string;
  declare isCovered: boolean;
  #strokes = 0;

  override updated(changed: PropertyValues): void {
    if (changed.has("isCovered") && this.isCovered) this.#cover();
  }

  override render() {
    return html`
      <div class="scratch">
        <p class="prize" aria-hidden=${this.isCovered ? "true" : "false"}>${this.text || "福"}</p>
        ${this.isCovered
          ? html`<canvas @pointermove=${this.#rub} @pointerdown=${this.#rub} aria-hidden="true"></canvas>`
          : nothing}
      </div>
      ${this.isCovered
        ? html`<p class="center">
            <button class="quiet" @click=${() => this.#reveal()}>${t("reveal")}</button>
          </p>`
        : nothing}
    `;
  }

  #cover(): void {
    const canvas = this.querySelector("canvas")!;
    canvas.width = canvas.clientWidth;
    canvas.height = canvas.clientHeight;
    const pen = canvas.getContext("2d")!;
    const silver = pen.createLinearGradient(0, 0, canvas.width, canvas.height);
    silver.addColorStop(0, "#e8c77f");
    silver.addColorStop(0.5, "#fbeecb");
    silver.addColorStop(1, "#d9ac55");
    pen.fillStyle = silver;
    pen.fillRect(0, 0, canvas.width, canvas.height);
    pen.fillStyle = "#6b3a10";
    pen.font = '600 20px "PingFang SC", "Noto Sans CJK SC", sans-serif';
    pen.textAlign = "center";
    pen.fillText(t("scratch_here"), canvas.width / 2, canvas.height / 2 + 7);
    pen.globalCompositeOperation = "destination-out";
    this.#strokes = 0;
  }

  readonly #rub = (event: PointerEvent) => {
    if (event.pointerType === "mouse" && !event.buttons) return;
    const canvas = event.currentTarget as HTMLCanvasElement;
    const pen = canvas.getContext("2d")!;
    pen.beginPath();
    pen.arc(event.offsetX, event.offsetY, 22, 0, 2 * Math.PI);
    pen.fill();
    if (++this.#strokes > STROKES_ENOUGH) this.#reveal();
  };

  #reveal(): void {
    this.dispatchEvent(new Event("reveal"));
  }
}

customElements.define("rp-scratch", Scratch);
