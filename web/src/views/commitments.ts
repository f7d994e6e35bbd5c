/** Commitments that this device saw while their packets were open. */

import { now } from "../now.ts";

interface Noted {
  commitment: string;
  at_ms: number;
}

const slot = (packetId: string) => `redpacket.commitment.${packetId}`;

/** Notes the first commitment that was seen of a packet; a later one doesn't replace it. */
export function note(packetId: string, commitment: string): void {
  try {
    if (localStorage.getItem(slot(packetId))) return;
    const seen: Noted = { commitment, at_ms: now() };
    localStorage.setItem(slot(packetId), JSON.stringify(seen));
  } catch {
    // Storage is full or forbidden: the check says that it knows no earlier one.
  }
}

export function noted(packetId: string): Noted | undefined {
  try {
    const text = localStorage.getItem(slot(packetId));
    return text ? (JSON.parse(text) as Noted) : undefined;
  } catch {
    return undefined;
  }
}
