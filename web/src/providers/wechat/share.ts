/** Sharing in WeChat's own browser: the card of a link, and a pointer to WeChat's menu. */

import type { Client } from "../../api/client.ts";
import type { Shared } from "../provider.ts";
import { w } from "./card-words.ts";
import { jsSdk, type ShareCard } from "./sdk.ts";

const PICTURE = "/share.png";

/** Returns the card of a packet's link. It never shows an amount or the details of an exclusive packet. */
export function cardOf({ is_exclusive, greeting, nickname, cover_url }: Shared, link: string): ShareCard {
  const imgUrl = location.origin + PICTURE;
  if (is_exclusive) return { title: w("card_title"), desc: w("card_neutral"), link, imgUrl };
  const desc = w("card_desc", { name: nickname });
  return { title: greeting || w("card_title"), desc, link, imgUrl: cover_url ?? imgUrl };
}

export function setCard(client: Client, shared: Shared, link: string): Promise<void> {
  return give(client, cardOf(shared, link));
}

export function setLinkCard(client: Client, title: string, desc: string, link: string): Promise<void> {
  return give(client, { title, desc, link, imgUrl: location.origin + PICTURE });
}

/** Gives WeChat the card. Without the JS-SDK, WeChat shares only the URL and the title. */
async function give(client: Client, { desc, ...card }: ShareCard): Promise<void> {
  try {
    const wx = await jsSdk(client);
    wx.updateAppMessageShareData({ ...card, desc });
    wx.updateTimelineShareData(card);
  } catch {
    // WeChat's menu works without the card.
  }
}

export function showPicture(view: Element, source: string): void {
  const picture = new Image();
  picture.className = "card-picture";
  picture.src = source;
  picture.alt = picture.title = w("hold_to_save");
  const hint = document.createElement("p");
  hint.className = "hint center";
  hint.textContent = picture.alt;
  view.querySelector(".card-picture + .hint")?.remove();
  view.querySelector(".card-picture")?.remove();
  view.append(picture, hint);
}

export function pointAtMenu(): void {
  const dialog = document.createElement("dialog");
  dialog.className = "app-menu";
  const text = document.createElement("p");
  text.textContent = w("menu");
  const close = document.createElement("button");
  close.className = "quiet";
  close.textContent = w("got_it");
  dialog.append(text, close);
  dialog.onclick = () => dialog.close();
  dialog.onclose = () => dialog.remove();
  document.body.append(dialog);
  dialog.showModal();
}
