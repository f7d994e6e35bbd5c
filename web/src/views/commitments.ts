/** Commitments that this device saw while their packets were open. */

import { now } from "../now.ts";
import { device } from "../store.ts";

interface Noted {
  commitment: string;
  at_ms: number;
}

const slot = (packetId: string) => `redpacket.commitment.${packetId}`;

/** Stores the first commitment that this device sees for a packet. A later commitment doesn't replace it. */
export function note(packetId: string, commitment: string): void {
  if (device.getItem(slot(packetId))) return;
  const seen: Noted = { commitment, at_ms: now() };
  device.setItem(slot(packetId), JSON.stringify(seen));
}

export function noted(packetId: string): Noted | undefined {
  try {
    const text = device.getItem(slot(packetId));
    return text ? (JSON.parse(text) as Noted) : undefined;
  } catch {
    return undefined;
  }
}
