/** Attributes of `<red-packet>`, as HTML spells them. */
export interface RedPacketAttributes {
  "packet-id": string;
  /** Address of the API, which ends in /api; `/api` of the own origin by default. */
  api?: string;
  /** The browser's by default. */
  language?: "zh-CN" | "zh-TW" | "en";
  /** `full` is as wide as its place; 360 px by default, and 288 px for `small`. */
  size?: "small" | "full";
  /** User token of the user whose link led here. */
  via?: string;
  /** The origin whose message `{type: "red-packet:token", token}` may set the token. */
  "token-origin"?: string;
}

/** Events of `<red-packet>`; all bubble. */
export interface RedPacketEvents {
  claimed: CustomEvent<{
    packet_id: string;
    amount_fen: number;
    share_no: number;
    /** The viewer had their share before. */
    is_repeat: boolean;
  }>;
  /** `code` is that of the API's problem. */
  refused: CustomEvent<{ packet_id: string; code: string }>;
  /** The viewer wants to sign in: set `token`. */
  signin: CustomEvent<object>;
}

export class RedPacket extends HTMLElement {
  packetId: string;
  api: string;
  language: string | undefined;
  tokenOrigin: string | undefined;
  via: string;
  /** The viewer's token for the API; without one only the cover is shown. */
  token: string | undefined;
  addEventListener<Name extends keyof RedPacketEvents>(
    type: Name,
    listener: (this: RedPacket, event: RedPacketEvents[Name]) => unknown,
    options?: boolean | AddEventListenerOptions,
  ): void;
  addEventListener(
    type: string,
    listener: EventListenerOrEventListenerObject,
    options?: boolean | AddEventListenerOptions,
  ): void;
}

declare global {
  interface HTMLElementTagNameMap {
    "red-packet": RedPacket;
  }
}
