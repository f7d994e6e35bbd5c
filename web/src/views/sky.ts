/** A rain's falling packets on one canvas. They don't move if the user prefers reduced motion. */

interface Drop {
  x: number;
  y: number;
  speed: number;
  tilt: number;
  size: number;
  /** Time of the hit, after which the packet turns gold and vanishes. */
  hitAtMs: number;
}

/** Square pixels of canvas per packet. */
const ROOM = 19_000;
const DROPS_MIN = 14;
const DROPS_MAX = 40;
const FLIP_MS = 520;
/** About one packet in this many is big. The size doesn't affect the amount. */
const BIG_OF = 9;
const BIG = 1.9;
/** Pixels from the right edge to the purse. */
const PURSE_PX = 60;

export class Sky {
  readonly #canvas: HTMLCanvasElement;
  readonly #pen: CanvasRenderingContext2D;
  readonly #onHit: () => void;
  readonly #onMiss: () => void;
  readonly #isCalm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  #drops: Drop[] = [];
  #frame = 0;
  #thenMs = 0;
  #width = 0;
  #height = 0;

  constructor(canvas: HTMLCanvasElement, onHit: () => void, onMiss: () => void) {
    this.#canvas = canvas;
    this.#pen = canvas.getContext("2d")!;
    this.#onHit = onHit;
    this.#onMiss = onMiss;
    this.#fit();
    const count = Math.round((this.#width * this.#height) / ROOM);
    this.#drops = Array.from({ length: Math.min(DROPS_MAX, Math.max(DROPS_MIN, count)) }, () => ({
      ...this.#drop(),
      y: Math.random() * this.#height * (this.#isCalm ? 1 : -1),
    }));
    canvas.addEventListener("pointerdown", this.#tap);
    if (this.#isCalm) this.#draw(0);
    else this.#frame = requestAnimationFrame(this.#step);
  }

  stop(): void {
    cancelAnimationFrame(this.#frame);
    this.#canvas.removeEventListener("pointerdown", this.#tap);
  }

  /** Matches the canvas to its element's size, because a phone may be rotated. */
  #fit(): void {
    const { clientWidth, clientHeight } = this.#canvas;
    if (clientWidth === this.#width && clientHeight === this.#height) return;
    this.#width = clientWidth;
    this.#height = clientHeight;
    const sharp = Math.min(devicePixelRatio, 2);
    this.#canvas.width = clientWidth * sharp;
    this.#canvas.height = clientHeight * sharp;
    this.#pen.scale(sharp, sharp);
  }

  /** Returns a packet just above the visible area. */
  #drop(): Drop {
    const isBig = Math.random() * BIG_OF < 1;
    const size = (44 + Math.random() * 34) * (isBig ? BIG : 1);
    const x = size / 2 + Math.random() * (this.#width - size);
    const speed = this.#height * (0.22 + Math.random() * 0.3);
    return { x, y: -size, speed, tilt: (Math.random() - 0.5) * 0.7, size, hitAtMs: 0 };
  }

  readonly #step = (nowMs: number) => {
    const seconds = Math.min(0.05, (nowMs - (this.#thenMs || nowMs)) / 1000);
    this.#thenMs = nowMs;
    this.#fit();
    for (const drop of this.#drops) {
      if (!drop.hitAtMs) drop.y += drop.speed * seconds;
      const isOut = drop.y - drop.size > this.#height;
      if (isOut || (drop.hitAtMs && nowMs - drop.hitAtMs > FLIP_MS)) Object.assign(drop, this.#drop());
    }
    this.#draw(nowMs);
    this.#frame = requestAnimationFrame(this.#step);
  };

  readonly #tap = (event: PointerEvent) => {
    const { left, top } = this.#canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - left, event.clientY - top];
    const far = (drop: Drop) => Math.hypot(drop.x - x, drop.y - y);
    const near = this.#drops.filter((drop) => !drop.hitAtMs && far(drop) < drop.size * 0.8);
    const hit = near.sort((first, other) => far(first) - far(other))[0];
    if (!hit) {
      this.#onMiss();
      return;
    }
    if (this.#isCalm) {
      Object.assign(hit, this.#drop(), { y: Math.random() * this.#height });
      this.#draw(0);
    } else hit.hitAtMs = this.#thenMs || 1;
    this.#onHit();
  };

  #draw(nowMs: number): void {
    this.#pen.clearRect(0, 0, this.#width, this.#height);
    for (const drop of this.#drops) this.#drawDrop(drop, drop.hitAtMs ? (nowMs - drop.hitAtMs) / FLIP_MS : 0);
  }

  /** Draws one packet. *age* is the progress of the flip, from 0 before the hit to 1. */
  #drawDrop({ x, y, size, tilt, hitAtMs }: Drop, age: number): void {
    const pen = this.#pen;
    const turn = Math.cos(age * 2.5 * Math.PI);
    const isBack = hitAtMs > 0 && age > 0.2;
    pen.save();
    pen.globalAlpha = Math.max(0, 1 - age * age);
    // A hit packet flies into the purse, at the end of the bar.
    const way = age * age;
    pen.translate(x + (this.#width - PURSE_PX - x) * way, y + (PURSE_PX / 2 - y) * way);
    pen.rotate(tilt);
    pen.scale((hitAtMs ? Math.max(0.08, Math.abs(turn)) : 1) * (1 + age * 0.3), 1 + age * 0.3);
    const [width, height] = [size * 0.8, size];
    pen.fillStyle = isBack ? "#f2cf83" : "#b5152b";
    pen.beginPath();
    pen.roundRect(-width / 2, -height / 2, width, height, 5);
    pen.fill();
    pen.fillStyle = isBack ? "#fbe9c0" : "#dc3744";
    pen.beginPath();
    pen.ellipse(0, -height / 2, width / 2, height * 0.42, 0, 0, Math.PI);
    pen.fill();
    pen.fillStyle = isBack ? "#c8182f" : "#f2cf83";
    pen.beginPath();
    pen.arc(0, -height * 0.06, size * 0.14, 0, 2 * Math.PI);
    pen.fill();
    pen.restore();
  }
}
