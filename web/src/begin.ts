/** The start of a visit: finds the user, and requests the link's packet. */

import { feedPath } from "./api/client.ts";
import { routeOf } from "./routes.ts";
import { session } from "./session.ts";

/** Settles when the user is known, with the path to continue at, if it differs. */
export const begun = begin();
// The app shows the problem as soon as it is there.
begun.catch(() => undefined);

async function begin(): Promise<string | undefined> {
  const path = await session.begin();
  const { view, id } = routeOf(path ?? location.pathname);
  if (view === "packet") session.client.prefetch(session.person ? `/packets/${id}` : feedPath(id));
  return path;
}
