/** Curves of a campaign; with uPlot, which is loaded where curves are shown. */

import { html } from "lit";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

import { formatTime, language } from "../i18n/language.ts";
import { grouped } from "../money.ts";
import { View } from "../views/view.ts";
import { speeds, type Sample } from "./live.ts";
import { o } from "./words.ts";

const HEIGHT_PX = 180;
/** Intervals of the time labels, in seconds; at the shortest, two labels still differ. */
const STEPS_S = [1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200];
const DARK = matchMedia("(prefers-color-scheme: dark)");

interface Curve {
  label: "per_second" | "budget_left";
  color: string;
  of: (samples: readonly Sample[]) => number[];
  show: (value: number) => string;
}

const CURVES: readonly Curve[] = [
  { label: "per_second", color: "--accent", of: speeds, show: (value) => value.toFixed(1) },
  {
    label: "budget_left",
    color: "--in",
    of: (samples) => samples.slice(1).map((sample) => sample.budgetLeftFen),
    show: (value) => grouped(Math.round(value)),
  },
];

export class OperatorCharts extends View {
  static override properties = { ...View.properties, samples: { attribute: false } };
  declare samples: readonly Sample[];
  #plots: uPlot[] = [];
  #language = language();
  readonly #size = new ResizeObserver(() => this.#fit());
  readonly #renew = () => {
    this.#drop();
    this.requestUpdate();
  };

  override connectedCallback(): void {
    super.connectedCallback();
    this.#size.observe(this);
    DARK.addEventListener("change", this.#renew);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#size.disconnect();
    DARK.removeEventListener("change", this.#renew);
    this.#drop();
  }

  override render() {
    return html`${CURVES.map((curve) => {
      const last = curve.of(this.samples).at(-1);
      const now = last === undefined ? "…" : curve.show(last);
      return html`<figure>
        <figcaption>${o(curve.label)} <b>${now}</b></figcaption>
        <div role="img" aria-label="${o(curve.label)}: ${now}"></div>
      </figure>`;
    })}`;
  }

  override updated(): void {
    if (this.#language !== language()) this.#drop();
    this.#language = language();
    const times = this.samples.slice(1).map((sample) => sample.atMs / 1000);
    this.querySelectorAll<HTMLElement>("figure > div").forEach((place, at) => {
      const curve = CURVES[at]!;
      const data: uPlot.AlignedData = [times, curve.of(this.samples)];
      const plot = (this.#plots[at] ??= new uPlot(this.#options(curve, place.clientWidth), data, place));
      plot.setData(data);
    });
  }

  #options(curve: Curve, width: number): uPlot.Options {
    const style = getComputedStyle(this);
    const color = (name: string) => style.getPropertyValue(name);
    const axis = { stroke: color("--soft"), grid: { stroke: color("--line"), width: 1 }, ticks: { show: false } };
    const time = (seconds: number) =>
      formatTime(seconds * 1000, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
    return {
      width,
      height: HEIGHT_PX,
      legend: { show: false },
      cursor: { show: false },
      scales: { y: { range: (_, __, max) => [0, (max || 1) * 1.1] } },
      axes: [
        { ...axis, space: 80, incrs: STEPS_S, values: (plot, all) => (plot.data[0].length ? all.map(time) : []) },
        { ...axis, size: 70, values: (_, all) => all.map((value) => value.toLocaleString(language())) },
      ],
      series: [{}, { stroke: color(curve.color), width: 2, fill: `${color(curve.color)}22`, points: { show: false } }],
    };
  }

  #fit(): void {
    for (const plot of this.#plots) {
      const width = plot.root.parentElement?.clientWidth ?? 0;
      if (width && width !== plot.width) plot.setSize({ width, height: HEIGHT_PX });
    }
  }

  #drop(): void {
    for (const plot of this.#plots) plot.destroy();
    this.#plots = [];
  }
}

customElements.define("op-charts", OperatorCharts);
