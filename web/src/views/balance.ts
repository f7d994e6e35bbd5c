/** Balance of the signed-in user. Until the API answers, the page shows the last known balance. */

import { html } from "lit";

import { money } from "../money.ts";
import { session } from "../session.ts";
import { boneView } from "./view.ts";

let cached: { sub: string | undefined; fen: number } | undefined;

export function noteBalance(fen: number): number {
  cached = { sub: session.person?.sub, fen };
  return fen;
}

export function balanceView(fen: number | undefined) {
  const shown = fen ?? (cached?.sub === session.person?.sub ? cached?.fen : undefined);
  return html`<p class="balance">${shown === undefined ? boneView() : money(shown)}</p>`;
}
