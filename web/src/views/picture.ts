/** Download of a drawn picture as a PNG file. In a provider's app, the page shows the picture for a long press instead. */

import { appHere } from "../providers/registry.ts";

export async function savePicture(view: Element, canvas: HTMLCanvasElement, name: string): Promise<void> {
  // A provider's app can't download files, but saves a picture on a long press.
  const sharing = await appHere()?.sharing();
  if (sharing) {
    sharing.showPicture(view, canvas.toDataURL());
    return;
  }
  const blob = await new Promise<Blob | null>((done) => canvas.toBlob(done));
  if (blob) download(blob, name);
}

export function download(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
