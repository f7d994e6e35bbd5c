/** Lets senders end their own packets early. */

import { html } from "lit";

import { f } from "../i18n/frame.ts";
import { t } from "../i18n/user.ts";
import type { Packet } from "../packet/states.ts";
import { session } from "../session.ts";
import { ask } from "./ask.ts";

/** Maximum number of retries of a request to end a packet, which is idempotent. */
const REPEATS = 6;

/** Asks the sender for consent and ends *packet*. Returns whether the packet was ended. */
export async function endPacket({ packet_id: id, status }: Packet): Promise<boolean> {
  const hint = html`<p>${t(status === "unpaid" ? "end_unpaid_hint" : "end_hint")}</p>`;
  if (!(await ask(t("end_title"), hint, { yes: f("end_now"), no: t("cancel") }))) return false;
  await session.client.ask("POST", `/packets/${id}/end`, { repeats: REPEATS });
  return true;
}
