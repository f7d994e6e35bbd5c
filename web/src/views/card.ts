/** A packet's card or a campaign's poster as an image, for chats that show pictures but no links. */

import { graphemes } from "../graphemes.ts";

export const WIDTH = 720;
const HEIGHT = 1080;
export const SERIF = '"Songti SC", "Noto Serif CJK SC", serif';
export const SANS = '"PingFang SC", "Noto Sans CJK SC", sans-serif';

export function drawCard(
  greeting: string,
  sender: string,
  modules: boolean[][],
  caption: string,
  art?: HTMLImageElement,
): HTMLCanvasElement {
  const { canvas, pen } = blankCard(art);
  pen.font = `34px ${SANS}`;
  pen.fillText(sender, WIDTH / 2, 150, WIDTH - 80);
  pen.font = `600 60px ${SERIF}`;
  linesOf(pen, greeting, WIDTH - 120).forEach((line, place) => {
    pen.fillText(line, WIDTH / 2, 260 + place * 84);
  });
  drawCode(pen, modules);
  pen.fillStyle = "#f8dfa8";
  pen.font = `30px ${SANS}`;
  pen.fillText(caption, WIDTH / 2, HEIGHT - 84);
  return canvas;
}

/** Returns an empty red card, and a drawing context with golden, centered text. */
export function blankCard(art?: HTMLImageElement): { canvas: HTMLCanvasElement; pen: CanvasRenderingContext2D } {
  const canvas = document.createElement("canvas");
  canvas.width = WIDTH;
  canvas.height = HEIGHT;
  const pen = canvas.getContext("2d")!;
  drawPaper(pen);
  if (art) drawArt(pen, art);
  pen.textAlign = "center";
  pen.fillStyle = "#f8dfa8";
  return { canvas, pen };
}

/** Loads the cover if it is on the page's origin. A picture from another origin would taint the canvas. */
export async function loadArt(url: string | null | undefined): Promise<HTMLImageElement | undefined> {
  if (!url || new URL(url, location.href).origin !== location.origin) return undefined;
  const art = new Image();
  art.src = url;
  return art.decode().then(
    () => art,
    () => undefined,
  );
}

/** Draws a cover over the upper half, with a shade that keeps the text legible. */
function drawArt(pen: CanvasRenderingContext2D, art: HTMLImageElement): void {
  const height = 560;
  const scale = Math.max(WIDTH / art.naturalWidth, height / art.naturalHeight);
  const [w, h] = [art.naturalWidth * scale, art.naturalHeight * scale];
  pen.save();
  pen.beginPath();
  pen.rect(0, 0, WIDTH, height);
  pen.clip();
  pen.drawImage(art, (WIDTH - w) / 2, (height - h) / 2, w, h);
  const shade = pen.createLinearGradient(0, 0, 0, height);
  shade.addColorStop(0, "rgb(112 8 24 / 0.8)");
  shade.addColorStop(0.55, "rgb(112 8 24 / 0.5)");
  shade.addColorStop(0.8, "rgb(112 8 24 / 0.1)");
  shade.addColorStop(1, "rgb(157 15 35 / 0.9)");
  pen.fillStyle = shade;
  pen.fillRect(0, 0, WIDTH, height);
  pen.restore();
}

function drawPaper(pen: CanvasRenderingContext2D): void {
  const paper = pen.createLinearGradient(0, 0, 0, HEIGHT);
  paper.addColorStop(0, "#c8182f");
  paper.addColorStop(1, "#9d0f23");
  pen.fillStyle = paper;
  pen.fillRect(0, 0, WIDTH, HEIGHT);
  pen.fillStyle = "#d72a3a";
  pen.strokeStyle = "#e2b65d";
  pen.lineWidth = 3;
  pen.beginPath();
  pen.ellipse(WIDTH / 2, 420, WIDTH * 0.72, 260, 0, 0, Math.PI);
  pen.lineTo(-20, -20);
  pen.lineTo(WIDTH + 20, -20);
  pen.fill();
  pen.stroke();
}

function drawCode(pen: CanvasRenderingContext2D, modules: boolean[][]): void {
  const size = 300;
  const left = (WIDTH - size) / 2;
  const top = 600;
  pen.fillStyle = "#fffaf1";
  pen.beginPath();
  pen.roundRect(left - 28, top - 28, size + 56, size + 56, 28);
  pen.fill();
  pen.fillStyle = "#5c0612";
  const step = size / modules.length;
  modules.forEach((row, y) =>
    row.forEach((on, x) => {
      if (on) pen.fillRect(left + x * step, top + y * step, step + 0.5, step + 0.5);
    }),
  );
}

/** Breaks *text* into at most three lines. Chinese can break anywhere. */
function linesOf(pen: CanvasRenderingContext2D, text: string, width: number): string[] {
  const lines = [""];
  for (const letter of graphemes(text)) {
    const line = lines.at(-1)! + letter;
    if (pen.measureText(line).width <= width) lines[lines.length - 1] = line;
    else lines.push(letter.trimStart());
  }
  return lines.slice(0, 3);
}
