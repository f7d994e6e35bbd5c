/** Data that a host page supplies: the packet, the URL of the API, and its user's token. */

export const query = new URLSearchParams(location.search);

export const api = `${import.meta.env.VITE_PACKETS}/api`;

/** Exchanges a one-time code at the host's own server. The local stack's issuer accepts a user's name as the code. */
export const tokenOfCode = (code) => tokenOf(code);

/** Requests a token for the user from the host's own server. Here, the local stack's issuer takes its place. */
export async function tokenOf(user) {
  const answer = await fetch("/dev/tokens", { method: "POST", body: JSON.stringify({ sub: user, nickname: user }) });
  return (await answer.json()).token;
}
