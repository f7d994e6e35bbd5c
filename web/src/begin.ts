/** Start of a visit: finds the user, and requests the packet if the link leads to one. */

import { feedPath } from "./api/client.ts";
import { routeOf } from "./routes.ts";
import { session } from "./session.ts";

/** Resolves when the user is known. The result is the path to continue at, if it differs from the current one. */
export const begun = begin();
// The app reports the error once it has loaded.
begun.catch(() => undefined);

async function begin(): Promise<string | undefined> {
  const path = await session.begin();
  const { view, id } = routeOf(path ?? location.pathname);
  if (view === "packet") session.client.prefetch(session.person ? `/packets/${id}` : feedPath(id));
  return path;
}
