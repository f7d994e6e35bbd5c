/** Attributes of `<red-packet>`, as HTML spells them. */
export interface RedPacketAttributes {
  "packet-id": string;
  /** URL of the API, ending in /api. Default: `/api` on the page's own origin. */
  api?: string;
  /** Default: the browser's language. */
  language?: "zh-CN" | "zh-TW" | "en";
  /** `small` is 288 px wide, and `full` fills its container. Default: 360 px. */
  size?: "small" | "full";
  /** User token of the user who shared the link. */
  via?: string;
  /** Origin of the windows that may set the token with a message `{type: "red-packet:token", token}`. */
  "token-origin"?: string;
}

/** Events of `<red-packet>`. All of them bubble. */
export interface RedPacketEvents {
  claimed: CustomEvent<{
    packet_id: string;
    amount_fen: number;
    share_no: number;
    /** Whether the viewer already had this share. */
    is_repeat: boolean;
  }>;
  /** `code` is a problem code from the API, or the element's own, such as `offline`. */
  refused: CustomEvent<{ packet_id: string; code: string }>;
  /** The viewer wants to sign in. Sign the viewer in, and set `token`. */
  signin: CustomEvent<object>;
}

export class RedPacket extends HTMLElement {
  packetId: string;
  api: string;
  language: string | undefined;
  tokenOrigin: string | undefined;
  via: string;
  /** The viewer's token for the API. Without a token, the viewer can see the cover and the claims, but can't claim. */
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
