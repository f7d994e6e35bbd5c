/** A picture from a file, cropped and scaled down for the upload. */

/** Size in pixels: twice a packet's upper half on a phone. Transparent pixels become *fill*. */
export const COVER = { width: 892, height: 750, fill: "#9d0f23" };
export const AVATAR = { width: 192, height: 192, fill: "#fbe7bd" };
export const PRIZE = { width: 480, height: 480, fill: "#ffffff" };
/** Maximum size that the API accepts. */
const BYTES_MAX = 300 * 1024;
const QUALITIES = [0.86, 0.7, 0.5, 0.3];

/** Returns the picture as base64. Redrawing removes metadata, such as a photo's location. */
export async function pictureOf(file: Blob, { width, height, fill }: typeof COVER): Promise<string> {
  const image = await createImageBitmap(file);
  const scale = Math.max(width / image.width, height / image.height);
  const [w, h] = [image.width * scale, image.height * scale];
  const canvas = document.createElement("canvas");
  canvas.width = width;
  canvas.height = height;
  const pen = canvas.getContext("2d")!;
  // Fill the background first, because JPEG has no transparency.
  pen.fillStyle = fill;
  pen.fillRect(0, 0, width, height);
  pen.drawImage(image, (width - w) / 2, (height - h) / 2, w, h);
  // Safari can't encode WebP.
  const type = canvas.toDataURL("image/webp").startsWith("data:image/webp") ? "image/webp" : "image/jpeg";
  for (const quality of QUALITIES) {
    const base64 = canvas.toDataURL(type, quality).split(",")[1]!;
    if ((base64.length * 3) / 4 <= BYTES_MAX) return base64;
  }
  throw new RangeError("the picture stays too large");
}
