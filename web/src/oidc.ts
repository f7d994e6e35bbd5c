/** Sign-in by OpenID Connect: code flow with PKCE. Tokens stay in memory; a reload signs in again. */

import type { OidcAuth } from "./config.ts";

interface Provider {
  authorization_endpoint: string;
  token_endpoint: string;
}

export interface Tokens {
  access_token: string;
  id_token?: string;
  refresh_token?: string;
}

/** The state of a sign-in while the user is at the provider. It is not a token. */
interface Journey {
  state: string;
  verifier: string;
  path: string;
}

const SLOT = "redpacket.sign-in";
const BACK = "/signed-in";

async function provider(auth: OidcAuth): Promise<Provider> {
  const base = auth.issuer.replace(/\/$/, "");
  const answer = await fetch(`${base}/.well-known/openid-configuration`);
  return (await answer.json()) as Provider;
}

/** Leaves for the provider; comes back to `path`. */
export async function depart(auth: OidcAuth, path: string): Promise<void> {
  const journey: Journey = { state: random(), verifier: random(), path };
  sessionStorage.setItem(SLOT, JSON.stringify(journey));
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(journey.verifier));
  const target = new URL((await provider(auth)).authorization_endpoint);
  target.search = new URLSearchParams({
    response_type: "code",
    client_id: auth.client_id,
    redirect_uri: location.origin + BACK,
    scope: auth.scope,
    state: journey.state,
    code_challenge: base64url(new Uint8Array(digest)),
    code_challenge_method: "S256",
  }).toString();
  location.assign(target);
}

/** The tokens and the path to go on at, where this page load comes back from the provider. */
export async function arrive(auth: OidcAuth): Promise<{ tokens: Tokens; path: string } | undefined> {
  const said = new URLSearchParams(location.search);
  const noted = sessionStorage.getItem(SLOT);
  sessionStorage.removeItem(SLOT);
  if (location.pathname !== BACK || !noted) return undefined;
  const journey = JSON.parse(noted) as Journey;
  const code = said.get("code");
  // Another state is an answer to somebody else's question.
  if (!code || said.get("state") !== journey.state) return undefined;
  const tokens = await exchange(auth, {
    grant_type: "authorization_code",
    code,
    redirect_uri: location.origin + BACK,
    code_verifier: journey.verifier,
  });
  return tokens && { tokens, path: journey.path };
}

export function refresh(auth: OidcAuth, refreshToken: string): Promise<Tokens | undefined> {
  return exchange(auth, { grant_type: "refresh_token", refresh_token: refreshToken });
}

async function exchange(
  auth: OidcAuth,
  grant: Record<string, string>,
): Promise<Tokens | undefined> {
  const body = new URLSearchParams({ client_id: auth.client_id, ...grant });
  const answer = await fetch((await provider(auth)).token_endpoint, { method: "POST", body });
  return answer.ok ? ((await answer.json()) as Tokens) : undefined;
}

function random(): string {
  return base64url(crypto.getRandomValues(new Uint8Array(32)));
}

function base64url(bytes: Uint8Array): string {
  const text = btoa(String.fromCharCode(...bytes));
  return text.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}
