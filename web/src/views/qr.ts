/** A QR code as a picture in SVG. */

import { html, svg } from "lit";

export function qrView(modules: boolean[][], label: string) {
  const size = modules.length;
  const path = modules
    .flatMap((row, y) => row.map((on, x) => (on ? `M${x} ${y}h1v1h-1z` : "")))
    .join("");
  return html`
    <svg viewBox="0 0 ${size} ${size}" role="img" aria-label=${label} shape-rendering="crispEdges">
      ${svg`<path d=${path} />`}
    </svg>
  `;
}
