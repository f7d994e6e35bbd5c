/** Charts of a campaign as SVG: a curve in a stretched box, with text labels beside it. */

import { html, svg } from "lit";

import { formatTime } from "../i18n/language.ts";
import { grouped } from "../money.ts";
import { View } from "../views/view.ts";
import { speeds, type Sample } from "./live.ts";
import { o } from "./words.ts";

interface Curve {
  label: "per_second" | "budget_left";
  of: (samples: readonly Sample[]) => number[];
  show: (value: number) => string;
}

const CURVES: readonly Curve[] = [
  { label: "per_second", of: speeds, show: (value) => value.toFixed(1) },
  {
    label: "budget_left",
    of: (samples) => samples.slice(1).map((sample) => sample.budgetLeftFen),
    show: (value) => grouped(Math.round(value)),
  },
];

export class OperatorCharts extends View {
  static override properties = { ...View.properties, samples: { attribute: false } };
  declare samples: readonly Sample[];

  override render() {
    const times = this.samples.slice(1).map(({ atMs }) => atMs);
    return html`${CURVES.map((curve) => curveView(curve, times, curve.of(this.samples)))}`;
  }
}

function curveView({ label, show }: Curve, times: readonly number[], values: readonly number[]) {
  const [firstMs = 0, lastMs = firstMs] = [times[0], times.at(-1)];
  const top = Math.max(...values, 0) || 1;
  const points = values.map((value, at) => {
    const x = (100 * (times[at]! - firstMs)) / (lastMs - firstMs || 1);
    return `${x.toFixed(2)},${(100 - (100 * value) / top).toFixed(2)}`;
  });
  const now = values.length ? show(values.at(-1)!) : "…";
  // Use a set, because two labels are equal if the maximum is small.
  const labels = [...new Set([top, top / 2, 0].map(show))].map((value) => html`<span>${value}</span>`);
  const ends = new Set(times.length ? [firstMs, (firstMs + lastMs) / 2, lastMs] : []);
  return html`<figure>
    <figcaption>${o(label)} <b>${now}</b></figcaption>
    <div class="curve ${label}" role="img" aria-label="${o(label)}: ${now}">
      <div class="values">${labels}</div>
      <svg viewBox="0 0 100 100" preserveAspectRatio="none">
        ${[0, 50, 100].map((y) => svg`<line x2="100" y1=${y} y2=${y} />`)}
        ${points.length ? svg`<polygon points="0,100 ${points.join(" ")} 100,100" /><polyline points=${points.join(" ")} />` : ""}
      </svg>
      <div class="times">${[...ends].map((atMs) => html`<span>${clockOf(atMs)}</span>`)}</div>
    </div>
  </figure>`;
}

function clockOf(atMs: number): string {
  return formatTime(atMs, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
}

customElements.define("op-charts", OperatorCharts);
