/** Sign-in with OpenID Connect: code flow with PKCE. Tokens stay in memory, so a reload signs the user out. */

import { Problem } from "./api/problems.ts";
import type { OidcAuth } from "./config.ts";
import { tab } from "./store.ts";

interface Provider {
  authorization_endpoint: string;
  token_endpoint: string;
}

export interface Tokens {
  access_token: string;
  id_token?: string;
  refresh_token?: string;
}

/** State of a sign-in while the user is at the provider. It contains no token. */
interface Journey {
  state: string;
  verifier: string;
  path: string;
}

const SLOT = "redpacket.sign-in";
/** Tokens live in memory, so the provider redirects back to the page that started the sign-in: the users' page or the console. */
export const HOME = location.pathname.startsWith("/operator") ? "/operator" : "/";
export const BACK = `${HOME === "/" ? "" : HOME}/signed-in`;

async function provider(auth: OidcAuth): Promise<Provider> {
  const base = auth.issuer.replace(/\/$/, "");
  return (await ask(`${base}/.well-known/openid-configuration`)).json() as Promise<Provider>;
}

/** Sends a request to the provider. Throws a Problem if the provider is unavailable. */
async function ask(address: string, init?: RequestInit): Promise<Response> {
  let answer;
  try {
    answer = await fetch(address, init);
  } catch {
    throw new Problem("offline", 0, 2);
  }
  if (answer.status >= 500) throw new Problem("unavailable", answer.status, 1);
  return answer;
}

/** Redirects to the provider. After the sign-in, the visit continues at *path*. */
export async function depart(auth: OidcAuth, path: string): Promise<void> {
  const journey: Journey = { state: random(), verifier: random(), path };
  // The provider's answer is useless without this state.
  if (!tab.keep(SLOT, JSON.stringify(journey))) throw new Problem("no_storage");
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

/** Result of a sign-in, and the path to continue at. */
export interface Arrival {
  path: string;
  tokens?: Tokens;
  /** Reason for missing tokens. */
  reason?: "denied" | "failed";
}

/** Completes a sign-in if this page load comes from the provider. Otherwise returns undefined. */
export async function arrive(auth: OidcAuth): Promise<Arrival | undefined> {
  const noted = tab.getItem(SLOT);
  if (location.pathname !== BACK || !noted) return undefined;
  const { state, verifier, path } = JSON.parse(noted) as Journey;
  const query = new URLSearchParams(location.search);
  const code = query.get("code");
  // A different state may belong to another user's sign-in.
  const isOurs = query.get("state") === state;
  let tokens;
  if (isOurs && code) {
    tokens = await exchange(auth, {
      grant_type: "authorization_code",
      code,
      redirect_uri: location.origin + BACK,
      code_verifier: verifier,
    });
  }
  // Remove the state only after the provider's answer, so that a reload asks again if the answer is lost.
  tab.removeItem(SLOT);
  if (tokens) return { path, tokens };
  return { path, reason: isOurs && query.get("error") === "access_denied" ? "denied" : "failed" };
}

export function refresh(auth: OidcAuth, refreshToken: string): Promise<Tokens | undefined> {
  return exchange(auth, { grant_type: "refresh_token", refresh_token: refreshToken });
}

async function exchange(
  auth: OidcAuth,
  grant: Record<string, string>,
): Promise<Tokens | undefined> {
  const body = new URLSearchParams({ client_id: auth.client_id, ...grant });
  const answer = await ask((await provider(auth)).token_endpoint, { method: "POST", body });
  return answer.ok ? ((await answer.json()) as Tokens) : undefined;
}

function random(): string {
  return base64url(crypto.getRandomValues(new Uint8Array(32)));
}

function base64url(bytes: Uint8Array): string {
  const text = btoa(String.fromCharCode(...bytes));
  return text.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}
