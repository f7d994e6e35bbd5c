/** Sharing in WeChat's own browser: the card of a link, and where WeChat's menu is. */

import type { Cover } from "./packet/states.ts";
import { jsSdk, type ShareCard } from "./wechat-sdk.ts";
import { w } from "./wechat-words.ts";

const PICTURE = "/share.png";

export type Shared = Pick<Cover, "is_exclusive" | "greeting" | "nickname" | "cover_url">;

/** The card of a packet's link: never an amount, and of an exclusive packet nothing. */
export function cardOf({ is_exclusive, greeting, nickname, cover_url }: Shared, link: string): ShareCard {
  const imgUrl = location.origin + PICTURE;
  if (is_exclusive) return { title: w("card_title"), desc: w("card_neutral"), link, imgUrl };
  const desc = w("card_desc", { name: nickname });
  return { title: greeting || w("card_title"), desc, link, imgUrl: cover_url ?? imgUrl };
}

/** Tells WeChat what its menu shares of a packet. */
export function setCard(shared: Shared, link: string): Promise<void> {
  return give(cardOf(shared, link));
}

/** Tells WeChat what its menu shares of another page. */
export function setLinkCard(title: string, desc: string, link: string): Promise<void> {
  return give({ title, desc, link, imgUrl: location.origin + PICTURE });
}

/** Without the JS-SDK, WeChat shares the address and the title. */
async function give({ desc, ...card }: ShareCard): Promise<void> {
  try {
    const wx = await jsSdk();
    wx.updateAppMessageShareData({ ...card, desc });
    wx.updateTimelineShareData(card);
  } catch {
    // The menu works without it.
  }
}

/** Shows a picture under *view*, for the long press that saves or forwards it. */
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

/** Points at WeChat's menu: a page can't open it. */
export function pointAtMenu(): void {
  const dialog = document.createElement("dialog");
  dialog.className = "wechat-menu";
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
