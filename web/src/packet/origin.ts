/** Distinguishes an API that refuses this page's origin from an unavailable API. Both look the same to a page. */

import { Problem } from "../api/problems.ts";
import type { Config } from "../config.ts";
import type { Unit } from "../money.ts";

/** Returns a `fetch` that logs which setting allows this page to call *api*, if *api* refuses the page's origin. */
export function fetchFrom(api: string): typeof fetch {
  const { origin } = new URL(api, location.href);
  // After one successful answer, a failed request means that the network is down.
  let isAccepted = origin === location.origin;
  return async (input, init) => {
    try {
      const answer = await fetch(input, init);
      isAccepted = true;
      return answer;
    } catch (error) {
      if (isAccepted || init?.signal?.aborted || !(await isUp(api))) throw error;
      console.error(
        `red-packet: ${origin} refuses requests of ${location.origin}. Add this origin to the ` +
          `stack's parameter EmbedOrigins; on a local stack: make up EMBED=${location.origin}`,
      );
      throw new Problem("origin_refused");
    }
  };
}

/** Returns the unit of account of *api*, from the config.json of its page. If *api* has no page, the unit is yuan. */
export async function unitOf(api: string): Promise<Unit | undefined> {
  const answer = await fetchFrom(api)(new URL("../config.json", new URL(`${api}/`, location.href)));
  return answer.ok ? ((await answer.json()) as Config).unit : undefined;
}

/** Returns whether a server answers at *api*, even if this origin may not read the answer. */
async function isUp(api: string): Promise<boolean> {
  try {
    await fetch(`${api}/health`, { mode: "no-cors" });
    return true;
  } catch {
    return false;
  }
}
