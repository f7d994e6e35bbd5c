/** Settings of a deployment for its page: /config.json. */

import type { Schemas } from "./api/client.ts";
import type { Unit } from "./money.ts";

/** Name of a payment provider. */
export type Channel = Schemas["PaymentBody"]["channel"];

export interface DevAuth {
  kind: "dev";
  tokens_url: string;
}

export interface OidcAuth {
  kind: "oidc";
  /** Base URL of /.well-known/openid-configuration. */
  issuer: string;
  client_id: string;
  scope: string;
  /** Kind of token that the API accepts. */
  token: "access_token" | "id_token";
}

/** Silent sign-in in a provider's own app. The API issues the tokens. */
export interface ProviderAuth {
  kind: Channel;
}

/** Settings that only the provider modules read. */
type ProviderParts = Partial<Record<Channel, Record<string, string>>>;

/** Limits of the deployment, in fen. */
export interface Limits {
  share_fen_max: number;
  withdrawal_fen_min: number;
  withdrawal_fen_max: number;
  withdrawal_fen_per_day: number;
}

export interface Config extends ProviderParts {
  /** Path of the API on the page's own origin. */
  api: string;
  auth: DevAuth | OidcAuth | ProviderAuth;
  /** Operators' sign-in to the console, if it differs from the users' sign-in. */
  operators_auth?: DevAuth | OidcAuth;
  /** Hosts of cover pictures. `*.host` matches direct subdomains. */
  cover_hosts?: string[];
  limits?: Limits;
  /** Default: yuan. */
  unit?: Unit;
  /** URL of the host's page that authenticates the user before money leaves the balance. */
  confirm_url?: string;
  /** Providers of payments and withdrawals. Without a provider, there is no wallet. */
  channels?: Channel[];
}

export async function readConfig(): Promise<Config> {
  const answer = await fetch("/config.json");
  const config = (await answer.json()) as Config;
  const isConsole = location.pathname.startsWith("/operator");
  return isConsole && config.operators_auth ? { ...config, auth: config.operators_auth } : config;
}
