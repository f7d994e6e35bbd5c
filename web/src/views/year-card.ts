/** A picture that sums up a year of red packets: received, sent, times as the luckiest, and the largest share. */

import type { Client, Schemas } from "../api/client.ts";
import { t } from "../i18n/user.ts";
import { money } from "../money.ts";
import { blankCard, SANS, SERIF, WIDTH } from "./card.ts";

type Item = Schemas["ReceivedItem"];

export interface Year {
  received: Schemas["Received"];
  sent: Schemas["Sent"];
  largest: Item | undefined;
}

/** Maximum number of pages to search for the largest share. */
const PAGES_MAX = 20;

/** Loads the totals of a year, or of all years if *year* is empty. */
export async function loadYear(client: Client, year: string): Promise<Year> {
  const query = (cursor?: string | null) =>
    new URLSearchParams({ ...(year && { year }), ...(cursor && { cursor }) }).toString();
  const sent: Promise<Schemas["Sent"]> = client.get(`/me/sent?${query()}`);
  const received: Schemas["Received"] = await client.get(`/me/received?${query()}`);
  let page = received;
  let largest = largestOf(page.items);
  for (let pages = 1; pages < PAGES_MAX && page.next; pages++) {
    page = await client.get<Schemas["Received"]>(`/me/received?${query(page.next)}`);
    largest = largestOf(largest ? [largest, ...page.items] : page.items);
  }
  return { received, sent: await sent, largest };
}

function largestOf(items: Item[]): Item | undefined {
  return items.reduce<Item | undefined>((best, item) => (best && best.amount_fen >= item.amount_fen ? best : item), undefined);
}

/** Returns the lines of the card, each with a label and a value. */
export function linesOf({ received, sent, largest }: Year): [string, string][] {
  const lines: [string, string][] = [
    [t("year_received", { n: received.count }), money(received.total_fen)],
    [t("year_sent", { n: sent.count }), money(sent.total_fen)],
    [t("year_luckiest"), t(received.luckiest_count === 1 ? "times_once" : "times", { n: received.luckiest_count })],
  ];
  if (largest) {
    const from = largest.sender.nickname;
    lines.push([from ? t("year_largest_from", { name: from }) : t("year_largest"), money(largest.amount_fen)]);
  }
  return lines;
}

export function drawYear(title: string, name: string, lines: [string, string][]): HTMLCanvasElement {
  const { canvas, pen } = blankCard();
  const write = (text: string, y: number, font: string) => {
    pen.font = font;
    pen.fillText(text, WIDTH / 2, y, WIDTH - 80);
  };
  write(name, 130, `34px ${SANS}`);
  write(title, 220, `600 60px ${SERIF}`);
  lines.forEach(([label, value], place) => {
    write(label, 380 + place * 170, `32px ${SANS}`);
    write(value, 446 + place * 170, `600 58px ${SANS}`);
  });
  return canvas;
}
