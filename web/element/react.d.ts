/** `<red-packet>` in JSX, for React 19 and later. */

import type { DetailedHTMLProps, HTMLAttributes } from "react";
import type { RedPacket, RedPacketAttributes, RedPacketEvents } from "./index.js";

type Handlers = {
  [Name in keyof RedPacketEvents as `on${Name}`]?: (event: RedPacketEvents[Name]) => void;
};

declare module "react" {
  namespace JSX {
    interface IntrinsicElements {
      "red-packet": DetailedHTMLProps<HTMLAttributes<RedPacket>, RedPacket> &
        RedPacketAttributes &
        Handlers & { token?: string | undefined };
    }
  }
}
