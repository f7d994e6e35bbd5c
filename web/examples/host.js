/** What a host page knows: which packet to show, and how to get its user's token. */

export const asked = new URLSearchParams(location.search);

/** Your page asks its own server; here the local stack's issuer gives one. */
export async function tokenOf(user) {
  const answer = await fetch("/dev/tokens", { method: "POST", body: JSON.stringify({ sub: user }) });
  return (await answer.json()).token;
}
