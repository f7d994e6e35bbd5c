/** Confirmation on the host's page, with a PIN or a passkey, before money leaves the balance. */

import { newKey } from "../api/keys.ts";
import { Problem } from "../api/problems.ts";
import { now } from "../now.ts";
import { session } from "../session.ts";
import { tab } from "../store.ts";

const SLOT = "redpacket.confirm";
/** Milliseconds for which a confirmation is valid. */
const LIFE_MS = 300_000;

/** A write that waits for the host's confirmation. It is stored in this tab, so no link can create or change it. */
interface Waiting {
  state: string;
  deed: string;
  body: object;
  sub: string | undefined;
  askedAtMs: number;
}

/** Redirects to the host, which redirects back with the state. Returns only if the user goes back without confirming. */
export async function askHost(url: string, deed: string, body: object, fen: number): Promise<void> {
  const { sub } = session.person ?? {};
  const waiting: Waiting = { state: newKey(), deed, body, sub, askedAtMs: now() };
  if (!tab.keep(SLOT, JSON.stringify(waiting))) throw new Problem("no_storage");
  const target = new URL(url);
  const returnTo = location.origin + location.pathname;
  const question = { deed, amount_fen: String(fen), user: sub ?? "", state: waiting.state, return_to: returnTo };
  for (const [name, text] of Object.entries(question)) target.searchParams.set(name, text);
  location.assign(target);
  await new Promise((back) => addEventListener("pageshow", back, { once: true }));
}

/** Returns, once, the body that the host confirmed by redirecting to this page. */
export function confirmedBody(deed: string): object | undefined {
  const state = new URLSearchParams(location.search).get("confirmed");
  if (!state) return undefined;
  history.replaceState(history.state, "", location.pathname);
  const noted = tab.getItem(SLOT);
  tab.removeItem(SLOT);
  if (!noted) return undefined;
  const waiting = JSON.parse(noted) as Waiting;
  const isSame = waiting.state === state && waiting.deed === deed && waiting.sub === session.person?.sub;
  return isSame && now() < waiting.askedAtMs + LIFE_MS ? waiting.body : undefined;
}
