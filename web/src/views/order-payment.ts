/** Money in: orders a payment once, and goes to the page that pays it. */

import type { AnswerOf, Schemas } from "../api/client.ts";
import { problemOf } from "../api/problems.ts";
import { methodOf } from "../providers/registry.ts";
import { navigate } from "../router.ts";
import { session } from "../session.ts";

type Order = Pick<Schemas["PaymentBody"], "amount_fen" | "channel">;

/** An order whose outcome isn't known is repeated with its key this often. */
const REPEATS = 12;

export async function orderPayment(order: Order): Promise<void> {
  const body = { ...order, method: methodOf(order.channel) };
  const made = await writeOnce("payment", "/me/payments", body);
  navigate(`/payments/${made.payment_id}`);
}

/** Posts *body* with a key that a reload keeps, until the answer is certain. */
export async function writeOnce<Path extends "/me/payments" | "/me/withdrawals">(
  name: string,
  path: Path,
  body: object,
): Promise<AnswerOf<Path, "POST">> {
  const { key } = session.writes.begin(name, session.person?.sub ?? "", body);
  try {
    const made = await session.client.ask("POST", path, { body, key, repeats: REPEATS });
    session.writes.end(name);
    return made;
  } catch (error) {
    if (!problemOf(error).isUncertain) session.writes.end(name);
    throw error;
  }
}
