/** The knowledge of a host page: the packet, the address of packets, and its user's token. */

export const query = new URLSearchParams(location.search);

export const api = `${import.meta.env.VITE_PACKETS}/api`;

/** Exchanges a one-time code at the host's own server; the local stack's issuer accepts a user's name as the code. */
export const tokenOfCode = (code) => tokenOf(code);

/** Asks the host's own server, which gets a token for its user; here from the local stack's issuer. */
export async function tokenOf(user) {
  const answer = await fetch("/dev/tokens", { method: "POST", body: JSON.stringify({ sub: user, nickname: user }) });
  return (await answer.json()).token;
}
