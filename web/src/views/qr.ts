/** A QR code as a picture, so that a long press can save or scan it. */

import { html, type TemplateResult } from "lit";

const MODULE_PX = 8;
/** Width of the light border in modules, which scanners require. */
const BORDER = 4;

export function qrView(modules: boolean[][], label: string) {
  return html`<img src=${pictureOf(modules)} alt=${label} />`;
}

/** Renders the QR code of *link*. */
export async function codeOf(link: string, label: string): Promise<TemplateResult> {
  const { encode } = await import("uqr");
  return qrView(encode(link, { border: 0, ecc: "M" }).data, label);
}

/** Returns a data URL, because a provider's app can't save or scan a blob. */
function pictureOf(modules: boolean[][]): string {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = (modules.length + 2 * BORDER) * MODULE_PX;
  const pen = canvas.getContext("2d")!;
  pen.fillStyle = "#fffaf1";
  pen.fillRect(0, 0, canvas.width, canvas.width);
  pen.fillStyle = "#5c0612";
  modules.forEach((row, y) =>
    row.forEach((on, x) => {
      if (on) pen.fillRect((x + BORDER) * MODULE_PX, (y + BORDER) * MODULE_PX, MODULE_PX, MODULE_PX);
    }),
  );
  return canvas.toDataURL();
}
