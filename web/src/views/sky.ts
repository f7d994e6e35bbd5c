/** What falls in a rain: drawn on one canvas; still for people who want no motion. */

interface Drop {
  x: number;
  y: number;
  speed: number;
  tilt: number;
  size: number;
  isHit: boolean;
}

const DROPS = 16;

export class Sky {
  readonly #canvas: HTMLCanvasElement;
  readonly #pen: CanvasRenderingContext2D;
  readonly #onHit: () => void;
  readonly #isCalm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  #drops: Drop[] = [];
  #frame = 0;
  #thenMs = 0;

  constructor(canvas: HTMLCanvasElement, onHit: () => void) {
    this.#canvas = canvas;
    this.#pen = canvas.getContext("2d")!;
    this.#onHit = onHit;
    const { clientWidth, clientHeight } = canvas;
    const sharp = Math.min(devicePixelRatio, 2);
    canvas.width = clientWidth * sharp;
    canvas.height = clientHeight * sharp;
    this.#pen.scale(sharp, sharp);
    this.#drops = Array.from({ length: DROPS }, (_, place) => this.#drop(place));
    canvas.addEventListener("pointerdown", this.#tap);
    if (this.#isCalm) this.#draw();
    else this.#frame = requestAnimationFrame(this.#step);
  }

  stop(): void {
    cancelAnimationFrame(this.#frame);
    this.#canvas.removeEventListener("pointerdown", this.#tap);
  }

  /** The first ones are spread over the sky; later ones come from above. */
  #drop(place = 0): Drop {
    const { clientWidth: width, clientHeight: height } = this.#canvas;
    const size = 38 + Math.random() * 26;
    const column = ((place % 4) + 0.15 + Math.random() * 0.7) / 4;
    const y = (Math.floor(place / 4) + Math.random() * 0.6) * (height / (DROPS / 4));
    const speed = 70 + Math.random() * 130;
    return { x: column * width, y, speed, tilt: (Math.random() - 0.5) * 0.7, size, isHit: false };
  }

  readonly #step = (nowMs: number) => {
    const seconds = Math.min(0.05, (nowMs - (this.#thenMs || nowMs)) / 1000);
    this.#thenMs = nowMs;
    const { clientWidth: width, clientHeight: height } = this.#canvas;
    // A hidden canvas has no width: its drops wait.
    for (const drop of width ? this.#drops : []) {
      drop.y += drop.speed * seconds;
      if (drop.y - drop.size > height || drop.isHit) {
        Object.assign(drop, this.#drop(), { x: Math.random() * width, y: -drop.size });
      }
    }
    this.#draw();
    this.#frame = requestAnimationFrame(this.#step);
  };

  readonly #tap = (event: PointerEvent) => {
    const { left, top } = this.#canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - left, event.clientY - top];
    const hit = this.#drops.find((drop) => Math.hypot(drop.x - x, drop.y - y) < drop.size);
    if (!hit) return;
    hit.isHit = !this.#isCalm;
    this.#onHit();
  };

  #draw(): void {
    const pen = this.#pen;
    pen.clearRect(0, 0, this.#canvas.clientWidth, this.#canvas.clientHeight);
    for (const { x, y, size, tilt } of this.#drops) {
      pen.save();
      pen.translate(x, y);
      pen.rotate(tilt);
      const [width, height] = [size * 0.8, size];
      pen.fillStyle = "#b5152b";
      pen.beginPath();
      pen.roundRect(-width / 2, -height / 2, width, height, 5);
      pen.fill();
      pen.fillStyle = "#dc3744";
      pen.beginPath();
      pen.ellipse(0, -height / 2, width / 2, height * 0.42, 0, 0, Math.PI);
      pen.fill();
      pen.fillStyle = "#f2cf83";
      pen.beginPath();
      pen.arc(0, -height * 0.06, size * 0.14, 0, 2 * Math.PI);
      pen.fill();
      pen.restore();
    }
  }
}
