/** The wheel, in SVG, so that screen readers can name it and it respects reduced motion. */

import { html, nothing, svg } from "lit";

import { graphemes } from "../graphemes.ts";
import { t } from "../i18n/events.ts";
import { View } from "./view.ts";

/** Contents of a sector. */
export interface Sector {
  title: string;
  /** The chance of the prize, as text. */
  odds: string;
  picture?: string | undefined;
}

const TURNS = 5;
/** Duration of the spin in ms, as in the transition in style.css. */
const SPIN_MS = 4200;
const COLOURS = ["#c8182f", "#f3d08a"];
const INKS = ["#fdeccb", "#6b1a10"];
/** Minimum number of segments. With fewer segments, the wheel looks like a pie chart. */
const SEGMENTS_MIN = 6;
const LIGHTS = Array.from({ length: 24 }, (_, place) => (place * Math.PI) / 12);

export class Wheel extends View {
  static override properties = {
    ...View.properties,
    sectors: { attribute: false },
    isSpinning: { state: true },
  };
  declare sectors: Sector[];
  declare isSpinning: boolean;
  #angle = 0;

  /** The sectors, repeated until there are enough for a wheel, and an even number for the two colors. */
  get #segments(): Sector[] {
    const sectors = [...this.sectors];
    while (sectors.length < SEGMENTS_MIN || sectors.length % 2) sectors.push(...this.sectors);
    return sectors;
  }

  /** Spins the wheel until the sector at *place* is under the pointer. */
  async spinTo(place: number): Promise<void> {
    const step = 360 / this.#segments.length;
    const isCalm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const stop = 360 - (place + 0.5) * step;
    this.#angle = this.#angle - (this.#angle % 360) + 360 * (isCalm ? 1 : TURNS) + stop;
    this.querySelector<SVGElement>(".disc")?.style.setProperty("rotate", `${this.#angle}deg`);
    if (isCalm) return;
    this.isSpinning = true;
    await new Promise((done) => setTimeout(done, SPIN_MS));
    this.isSpinning = false;
  }

  override render() {
    const segments = this.#segments;
    const name = this.sectors.map(({ title, odds }) => `${title} ${odds}`).join(", ");
    return html`
      <div class="wheel ${this.isSpinning ? "is-spinning" : ""}" role="img" aria-label="${t("wheel")}: ${name}">
        <svg viewBox="-120 -120 240 240" aria-hidden="true">
          <circle r="119" fill="#8f0d20" />
          <circle r="104" fill="#f8dfa8" />
          ${LIGHTS.map(
            (at, place) => svg`<circle class="light" cx=${111.5 * Math.sin(at)} cy=${-111.5 * Math.cos(at)} r="3.6"
              fill=${place % 2 ? "#ffe9a8" : "#ff9d7a"} />`,
          )}
          <g class="disc">${segments.map((sector, place) => segmentView(sector, place, segments.length))}</g>
          <circle r="20" fill="#f8dfa8" stroke="#8f0d20" stroke-width="3" />
          <path d="M-9 -18 L0 -40 L9 -18z" fill="#f8dfa8" stroke="#8f0d20" stroke-width="2" />
          <circle r="17" fill="#c8182f" />
          <text y="7" fill="#f8dfa8" font-size="19" text-anchor="middle">福</text>
        </svg>
      </div>
    `;
  }
}

function segmentView({ title, odds, picture }: Sector, place: number, count: number) {
  const step = (2 * Math.PI) / count;
  const at = (angle: number) => `${102 * Math.sin(angle)} ${-102 * Math.cos(angle)}`;
  const path = `M0 0L${at(place * step)}A102 102 0 0 1 ${at((place + 1) * step)}z`;
  const middle = ((place + 0.5) * 360) / count;
  // A line is at most as wide as the sector at the outer line.
  const size = count > 8 ? 7.5 : 10.5;
  const lines = linesOf(title, (2 * 84 * Math.sin(step / 2)) / size - 0.6);
  return svg`
    <path d=${path} fill=${COLOURS[place % 2]} stroke="#8f0d20" stroke-width="0.6" />
    <g transform="rotate(${middle})" fill=${INKS[place % 2]} text-anchor="middle">
      ${lines.map((line, no) => svg`<text y=${-86 + no * size * 1.15} font-size=${size}>${line}</text>`)}
      <text y=${-84 + lines.length * size * 1.15} font-size="7" font-weight="400">${odds}</text>
      ${picture ? svg`<image href=${picture} x="-10" y="-57" width="20" height="20" />` : nothing}
    </g>
  `;
}

/** Breaks *text* into at most two lines of *wide* wide characters each. A narrow character counts about half. */
function linesOf(text: string, wide: number): string[] {
  const lines = [""];
  let left = wide;
  for (const word of wordsOf(text, Math.max(2, Math.floor(wide / 0.56)))) {
    const length = isWide(word) ? 1 : word.trimEnd().length * 0.56;
    if (length > left && lines.at(-1)) {
      if (lines.length === 2) return [lines[0]!, `${graphemes(lines[1]!).slice(0, -1).join("")}…`];
      lines.push("");
      left = wide;
    }
    lines.push(lines.pop()! + word);
    left -= length;
  }
  return lines;
}

/** Splits *text* into words of at most *max* narrow characters. Each wide character or emoji is its own word. */
function wordsOf(text: string, max: number): string[] {
  const words: string[] = [];
  for (const letter of graphemes(text)) {
    const last = words.at(-1) ?? "";
    const isNew = !last || last.length >= max || isWide(letter) || isWide(last) || (/\s$/.test(last) && letter.trim() !== "");
    if (isNew) words.push(letter);
    else words[words.length - 1] = last + letter;
  }
  return words;
}

function isWide(letter: string): boolean {
  return letter > "\u2e80" || /^\p{Emoji_Presentation}|\ufe0f/u.test(letter);
}

customElements.define("rp-wheel", Wheel);
