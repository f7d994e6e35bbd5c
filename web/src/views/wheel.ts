/** The wheel: SVG of our own, so that it has a name for readers and stands still for calm ones. */

import { html, svg } from "lit";

import { t } from "../i18n/page.ts";
import { View } from "./view.ts";

const TURNS = 5;
/** As long as the transition in style.css. */
const SPIN_MS = 4200;
const COLOURS = ["#c8182f", "#f3d08a"];
const INKS = ["#fdeccb", "#6b1a10"];
/** Fewer segments look like a pie. */
const SEGMENTS_MIN = 6;

export class Wheel extends View {
  static override properties = { ...View.properties, titles: { attribute: false } };
  declare titles: string[];
  #angle = 0;

  /** The titles, repeated until there are enough, and an even number for the two colours. */
  get #segments(): string[] {
    const found = [...this.titles];
    while (found.length < SEGMENTS_MIN || found.length % 2) found.push(...this.titles);
    return found;
  }

  /** Turns until the title at *place* is under the pointer. */
  async spinTo(place: number): Promise<void> {
    const step = 360 / this.#segments.length;
    const isCalm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const stop = 360 - (place + 0.5) * step;
    this.#angle = this.#angle - (this.#angle % 360) + 360 * (isCalm ? 1 : TURNS) + stop;
    this.querySelector<SVGElement>(".disc")?.style.setProperty("rotate", `${this.#angle}deg`);
    if (!isCalm) await new Promise((done) => setTimeout(done, SPIN_MS));
  }

  override render() {
    const segments = this.#segments;
    return html`
      <div class="wheel" role="img" aria-label="${t("wheel")}: ${this.titles.join(", ")}">
        <svg viewBox="-110 -110 220 220" aria-hidden="true">
          <circle r="108" fill="#8f0d20" />
          <circle r="104" fill="#f8dfa8" />
          <g class="disc">${segments.map((title, place) => segmentView(title, place, segments.length))}</g>
          <circle r="20" fill="#f8dfa8" stroke="#8f0d20" stroke-width="3" />
          <path d="M-9 -20 L0 -44 L9 -20z" fill="#f8dfa8" stroke="#8f0d20" stroke-width="2" />
          <circle r="17" fill="#c8182f" />
          <text y="7" fill="#f8dfa8" font-size="19" text-anchor="middle">福</text>
        </svg>
      </div>
    `;
  }
}

function segmentView(title: string, place: number, count: number) {
  const step = (2 * Math.PI) / count;
  const at = (angle: number) => `${100 * Math.sin(angle)} ${-100 * Math.cos(angle)}`;
  const path = `M0 0L${at(place * step)}A100 100 0 0 1 ${at((place + 1) * step)}z`;
  const middle = ((place + 0.5) * 360) / count;
  const text = title.length > 8 ? `${title.slice(0, 7)}…` : title;
  return svg`
    <path d=${path} fill=${COLOURS[place % 2]} />
    <text transform="rotate(${middle}) translate(0 -78)" fill=${INKS[place % 2]}
      font-size=${count > 8 ? 8 : 10} text-anchor="middle">${text}</text>
  `;
}

customElements.define("rp-wheel", Wheel);
