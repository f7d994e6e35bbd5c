/** A picture of a file, cut to the form of a cover and small enough to upload. */

/** Twice the size at which a phone shows the upper half of a packet. */
const WIDTH = 892;
const HEIGHT = 750;
/** The limit of POST /me/pictures. */
const BYTES_MAX = 300 * 1024;
const QUALITIES = [0.86, 0.7, 0.5, 0.3];

/** Returns base64; drawn anew, so that neither place nor camera of a photo goes with it. */
export async function coverOf(file: Blob): Promise<string> {
  const image = await createImageBitmap(file);
  const scale = Math.max(WIDTH / image.width, HEIGHT / image.height);
  const [w, h] = [image.width * scale, image.height * scale];
  const canvas = document.createElement("canvas");
  canvas.width = WIDTH;
  canvas.height = HEIGHT;
  const pen = canvas.getContext("2d")!;
  // Not every format of a transparent picture stays transparent.
  pen.fillStyle = "#9d0f23";
  pen.fillRect(0, 0, WIDTH, HEIGHT);
  pen.drawImage(image, (WIDTH - w) / 2, (HEIGHT - h) / 2, w, h);
  // Safari can't write WebP.
  const type = canvas.toDataURL("image/webp").startsWith("data:image/webp") ? "image/webp" : "image/jpeg";
  for (const quality of QUALITIES) {
    const base64 = canvas.toDataURL(type, quality).split(",")[1]!;
    if ((base64.length * 3) / 4 <= BYTES_MAX) return base64;
  }
  throw new RangeError("the picture stays too large");
}
