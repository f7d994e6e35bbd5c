/** What a host page knows: which packet to show, where packets come from, and how to get its user's token. */

export const asked = new URLSearchParams(location.search);

export const api = `${import.meta.env.VITE_PACKETS}/api`;

/** Asks the host's own server, which gets a token for its user; here from the local stack's issuer. */
export async function tokenOf(user) {
  const answer = await fetch("/dev/tokens", { method: "POST", body: JSON.stringify({ sub: user }) });
  return (await answer.json()).token;
}
