/** Types of `<red-packet>` in Vue's templates. */

import type { DefineComponent } from "vue";
import type { RedPacketAttributes, RedPacketEvents } from "./index.js";

type Handlers = {
  [Name in keyof RedPacketEvents as `on${Capitalize<Name>}`]?: (event: RedPacketEvents[Name]) => void;
};

declare module "vue" {
  interface GlobalComponents {
    "red-packet": DefineComponent<RedPacketAttributes & Handlers & { token?: string | undefined }>;
  }
}
