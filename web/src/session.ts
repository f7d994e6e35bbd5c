/** The signed-in user. The token is in memory only. On a local stack, the chosen user's name survives a reload. */

import { Client, type Schemas } from "./api/client.ts";
import { PendingWrites } from "./api/keys.ts";
import { claimsOf } from "./claims.ts";
import { readConfig, type Config } from "./config.ts";
import { arrive, BACK, depart, HOME, refresh, type Arrival, type Tokens } from "./oidc.ts";
import { signInProvider } from "./providers/registry.ts";
import { device, tab } from "./store.ts";

export interface Person {
  /** The token's `sub`. */
  sub: string;
  nickname: string;
  avatarUrl: string | null;
  /** Picture that the sign-in provider suggests. */
  picture: string | undefined;
  /** Scopes of the token, separated by spaces. */
  scope: string;
}

export interface DevUser {
  sub: string;
  nickname: string;
  scope?: string;
}

/** Returns a user of the development issuer. The name can be in any script, but the id is ASCII. */
export function devUser(nickname: string): DevUser {
  const plain = encodeURIComponent(nickname.toLowerCase()).replace(/[^A-Za-z0-9.-]/g, "_");
  return { sub: /^[A-Za-z0-9]/.test(plain) ? plain : `u${plain}`, nickname };
}

const SLOT = "redpacket.dev-user";
/** Storage key of the user's chosen name and picture, which tokens don't contain. */
const FACE = "redpacket.face";

export type Me = Pick<Schemas["Me"], "user_token" | "nickname" | "avatar_url">;

/** Returns whether the user has not chosen a name, so the API generated one. */
export function isNameless({ nickname, user_token }: Me): boolean {
  return nickname === `用户${user_token.slice(0, 4)}`;
}

export class Session {
  person: Person | undefined;
  config: Config | undefined;
  /** Reason why nobody is signed in, if the page must explain it. */
  notice: "denied" | "failed" | "expired" | undefined;
  readonly writes = new PendingWrites(tab);
  readonly #listeners = new Set<() => void>();
  #token: string | undefined;
  #tokens: Tokens | undefined;
  #devUser: DevUser | undefined;
  #client: Client | undefined;
  #renewing: Promise<string | undefined> | undefined;

  get client(): Client {
    this.#client ??= new Client({
      base: this.config?.api ?? "/api",
      token: () => this.#token,
      renew: () => this.#renew(),
      sleep: untilOnline,
      isAway: () => !navigator.onLine,
    });
    return this.#client;
  }

  /** Loads the configuration and finds the user. Returns the path to continue at, if it differs from the current path. */
  async begin(): Promise<string | undefined> {
    this.config = await readConfig();
    const { auth } = this.config;
    if (auth.kind === "oidc") return this.#arrive(await arrive(auth));
    if (auth.kind !== "dev") return this.#arrive(await this.#arriveSilently());
    const noted = tab.getItem(SLOT);
    // A preview in the console shows the page as a stranger sees it.
    if (noted && !window.frameElement) await this.signInAs(JSON.parse(noted) as DevUser);
    return undefined;
  }

  #arrive(arrived: Arrival | undefined): string | undefined {
    if (!arrived) return location.pathname === BACK ? HOME : undefined;
    if (arrived.tokens) this.#take(arrived.tokens);
    this.notice = arrived.reason;
    return arrived.path;
  }

  /** Completes or begins a provider's sign-in. In the provider's app, users sign in without a tap. */
  async #arriveSilently(): Promise<Arrival | undefined> {
    const app = signInProvider(this.config)?.app;
    if (!app?.isHere()) return undefined;
    const arrived = await (await app.signIn?.())?.arrive(this.client);
    if (!arrived) await this.signIn(location.pathname + location.search + location.hash);
    return arrived;
  }

  /** Redirects to the issuer or provider that signs users in. On a local stack, users pick a name instead. */
  async signIn(path: string): Promise<void> {
    const auth = this.config?.auth;
    if (auth?.kind === "oidc") await depart(auth, path);
    const app = signInProvider(this.config)?.app;
    if (!app?.signIn || !app.isSetUp(this.config!)) return;
    (await app.signIn()).depart(this.config!, path);
    // Never resolve: the page is about to unload, and must render nothing else.
    await new Promise(() => undefined);
  }

  /** Signs in as a user of the development issuer. */
  async signInAs(user: DevUser): Promise<void> {
    this.#devUser = user;
    tab.setItem(SLOT, JSON.stringify(user));
    await this.#renewDev();
    this.#notify();
  }

  /** Stores the name and picture from the API, which the page then shows, even after a reload. */
  noteFace(me: Me): void {
    const { person } = this;
    if (!person || isNameless(me)) return;
    const { nickname, avatar_url: avatarUrl } = me;
    const isSame = person.nickname === nickname && person.avatarUrl === avatarUrl;
    device.setItem(FACE, JSON.stringify({ sub: person.sub, nickname, avatarUrl }));
    this.person = { ...person, nickname, avatarUrl };
    if (!isSame) this.#notify();
  }

  signOut(): void {
    tab.removeItem(SLOT);
    device.removeItem(FACE);
    this.#end();
  }

  #end(notice?: Session["notice"]): void {
    this.#token = this.#tokens = this.#devUser = this.person = undefined;
    this.notice = notice;
    this.#notify();
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }

  /** Renews the token once for all waiting requests. A provider may revoke a refresh token that is used twice. */
  #renew(): Promise<string | undefined> {
    this.#renewing ??= this.#renewNow().finally(() => (this.#renewing = undefined));
    return this.#renewing;
  }

  async #renewNow(): Promise<string | undefined> {
    const auth = this.config?.auth;
    if (auth?.kind === "dev") await this.#renewDev();
    else if (auth && this.#tokens) {
      const kept = this.#tokens.refresh_token;
      const tokens = kept && auth.kind === "oidc" ? await refresh(auth, kept) : undefined;
      if (tokens) this.#take({ ...this.#tokens, ...tokens });
      else this.#end("expired");
    }
    return this.#token;
  }

  async #renewDev(): Promise<void> {
    const auth = this.config?.auth;
    if (auth?.kind !== "dev" || !this.#devUser) return;
    const body = JSON.stringify(this.#devUser);
    const answer = await fetch(auth.tokens_url, { method: "POST", body });
    const { token } = (await answer.json()) as { token: string };
    this.#use(token);
  }

  #take(tokens: Tokens): void {
    const auth = this.config?.auth;
    this.#tokens = tokens;
    const token = tokens[auth?.kind === "oidc" ? auth.token : "access_token"];
    if (token) this.#use(token, tokens.id_token);
  }

  /** Uses *token*. Access tokens often have no name, so the name comes from the id token. */
  #use(token: string, idToken = ""): void {
    this.#token = token;
    this.notice = undefined;
    const claims = { ...claimsOf(idToken), ...claimsOf(token) };
    const { sub = "", nickname = claims.name ?? this.#nameless(sub), scope = "", picture } = claims;
    const face = JSON.parse(device.getItem(FACE) ?? "{}") as Partial<Person>;
    this.person = { nickname, avatarUrl: null, ...(face.sub === sub ? face : {}), sub, scope, picture };
  }

  /** Returns the name for a token without a name. After a silent sign-in it is "", because the subject is a hash. */
  #nameless(sub: string): string {
    return signInProvider(this.config) ? "" : sub;
  }
}

/** Waits for *ms*, or until the network is back, whichever is sooner. */
function untilOnline(ms: number): Promise<void> {
  return new Promise((done) => {
    const end = () => {
      clearTimeout(timer);
      removeEventListener("online", end);
      done();
    };
    const timer = setTimeout(end, ms);
    addEventListener("online", end);
  });
}

export const session = new Session();
