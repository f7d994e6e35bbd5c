/** Orders a payment after the user's consent, and opens the payment's page. */

import type { AnswerOf, Schemas } from "../api/client.ts";
import { problemOf } from "../api/problems.ts";
import { t } from "../i18n/user.ts";
import { methodOf, PROVIDERS } from "../providers/registry.ts";
import { say } from "../providers/say.ts";
import { navigate } from "../router.ts";
import { session } from "../session.ts";
import { move, type Rows } from "./money.ts";

export type Order = Pick<Schemas["PaymentBody"], "amount_fen" | "channel">;

/** Maximum number of retries of an order whose outcome is unknown, all with the same key. */
const REPEATS = 12;

/** Orders a payment. Returns whether the user agreed. *isAgreed* continues an order that a reload interrupted. */
export async function orderPayment(order: Order, isAgreed = false): Promise<boolean> {
  const body = { ...order, method: methodOf(order.channel) };
  const rows: Rows = [
    [t("money_to"), t("channel_balance")],
    [t("pay_with"), say(PROVIDERS[order.channel], "name")],
    [t("money_fee"), t("money_free")],
    [t("money_time"), t("money_pay_in")],
  ];
  const work = (onRepeat: () => void) => writeOnce("payment", "/me/payments", body, onRepeat);
  const deed = { name: "payment", body, title: t("wallet_payment"), fen: order.amount_fen, rows, work } as const;
  const made = await move(deed, isAgreed);
  if (made) navigate(`/payments/${made.payment_id}`);
  return made !== undefined;
}

/** Posts *body* with a key that survives a reload until the outcome is certain. */
export async function writeOnce<Path extends "/me/payments" | "/me/withdrawals">(
  name: string,
  path: Path,
  body: object,
  onRepeat: () => void,
): Promise<AnswerOf<Path, "POST">> {
  const { key } = session.writes.begin(name, session.person?.sub ?? "", body);
  try {
    const made = await session.client.ask("POST", path, { body, key, repeats: REPEATS, onRepeat });
    session.writes.end(name);
    return made;
  } catch (error) {
    if (!problemOf(error).isUncertain) session.writes.end(name);
    throw error;
  }
}
