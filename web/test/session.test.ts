import assert from "node:assert/strict";
import test from "node:test";

/** A tab's storage. */
class Slots extends Map<string, string> {
  getItem = (name: string) => this.get(name) ?? null;
  setItem = (name: string, text: string) => void this.set(name, text);
  removeItem = (name: string) => void this.delete(name);
}

const ISSUER = "https://id.example";
const AUTH = { kind: "oidc", issuer: `${ISSUER}/`, client_id: "page", scope: "openid", token: "access_token" } as const;
const at = { href: "", origin: "https://page.example", pathname: "/signed-in", search: "" };
const slots = new Slots();
const left: URL[] = [];
Object.assign(globalThis, {
  location: Object.assign(at, { assign: (target: URL) => left.push(target) }),
  sessionStorage: slots,
});
const { arrive, depart, refresh } = await import("../src/oidc.ts");
const { readConfig } = await import("../src/config.ts");
const { Session } = await import("../src/session.ts");

const token = (claims: object) => `h.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.s`;

/** Answers each request from the entry of *answers* for the request's path. Returns the bodies that were sent. */
function provider(context: test.TestContext, answers: Record<string, () => Response>): URLSearchParams[] {
  const sent: URLSearchParams[] = [];
  const all: Record<string, () => Response> = {
    "/.well-known/openid-configuration": () =>
      Response.json({ authorization_endpoint: `${ISSUER}/authorize`, token_endpoint: `${ISSUER}/token` }),
    ...answers,
  };
  context.mock.method(globalThis, "fetch", (url: string, init?: RequestInit) => {
    if (init?.body instanceof URLSearchParams) sent.push(init.body);
    const path = url.replace(ISSUER, "");
    return Promise.resolve(all[path]!());
  });
  return sent;
}

test("a sign-in redirects to the provider with PKCE and returns to the previous path", async (context) => {
  const sent = provider(context, { "/token": () => Response.json({ access_token: token({ sub: "ann" }) }) });

  await depart(AUTH, "/packets/p");
  const { searchParams } = left.at(-1)!;
  at.search = `?code=c&state=${searchParams.get("state")}`;
  const arrived = await arrive(AUTH);

  assert.equal(arrived?.path, "/packets/p");
  assert.ok(arrived.tokens);
  assert.equal(searchParams.get("code_challenge_method"), "S256");
  const verifier = new TextEncoder().encode(sent[0]!.get("code_verifier")!);
  const digest = Buffer.from(await crypto.subtle.digest("SHA-256", verifier)).toString("base64url");
  assert.equal(digest, searchParams.get("code_challenge"));
  assert.equal(await arrive(AUTH), undefined, "a reload has nothing to exchange");
});

test("an answer with another state is not exchanged", async (context) => {
  const sent = provider(context, {});
  await depart(AUTH, "/");
  at.search = "?code=stolen&state=other";

  assert.deepEqual(await arrive(AUTH), { path: "/", reason: "failed" });
  assert.equal(sent.length, 0);
});

test("a user who declines sees a message", async (context) => {
  provider(context, {});
  await depart(AUTH, "/send");
  at.search = `?error=access_denied&state=${left.at(-1)!.searchParams.get("state")}`;

  assert.deepEqual(await arrive(AUTH), { path: "/send", reason: "denied" });
});

test("an unavailable provider is a temporary problem, not a sign-out", async (context) => {
  provider(context, { "/token": () => new Response("", { status: 503 }) });

  await assert.rejects(refresh(AUTH, "r"), { code: "unavailable", retryAfterS: 1 });
});

test("concurrently rejected requests renew the token once", async (context) => {
  const used: string[] = [];
  let renewals = 0;
  provider(context, {});
  const fresh = () => token({ sub: "ann", nickname: "Ann", jti: String(renewals) });
  await depart(AUTH, "/");
  at.search = `?code=c&state=${left.at(-1)!.searchParams.get("state")}`;
  context.mock.method(globalThis, "fetch", (url: string, init?: RequestInit) => {
    if (url === "/config.json") return Promise.resolve(Response.json({ api: "/api", auth: AUTH }));
    if (url.endsWith("configuration")) {
      return Promise.resolve(Response.json({ token_endpoint: `${ISSUER}/token` }));
    }
    if (url.endsWith("/token")) {
      if ((init?.body as URLSearchParams).get("grant_type") === "refresh_token") renewals++;
      return Promise.resolve(Response.json({ access_token: fresh(), refresh_token: `r${renewals}` }));
    }
    const sent = new Headers(init?.headers).get("Authorization") ?? "";
    used.push(sent);
    const isOld = renewals === 0;
    return Promise.resolve(isOld ? Response.json({ code: "unauthorized" }, { status: 401 }) : Response.json({}));
  });
  const session = new Session();
  await session.begin();

  await Promise.all([session.client.get("/me"), session.client.get("/me/sent")]);

  assert.equal(renewals, 1);
  assert.equal(used.length, 4);
  assert.equal(session.person?.nickname, "Ann");
});

test("a token that can't be renewed ends the session with a notice", async (context) => {
  provider(context, {});
  await depart(AUTH, "/");
  at.search = `?code=c&state=${left.at(-1)!.searchParams.get("state")}`;
  context.mock.method(globalThis, "fetch", (url: string) => {
    if (url === "/config.json") return Promise.resolve(Response.json({ api: "/api", auth: AUTH }));
    if (url.endsWith("configuration")) {
      return Promise.resolve(Response.json({ token_endpoint: `${ISSUER}/token` }));
    }
    if (url.endsWith("/token")) return Promise.resolve(Response.json({ access_token: token({ sub: "ann" }) }));
    return Promise.resolve(Response.json({ code: "unauthorized" }, { status: 401 }));
  });
  const session = new Session();
  await session.begin();

  await assert.rejects(session.client.get("/me"), { code: "unauthorized" });

  assert.equal(session.person, undefined);
  assert.equal(session.notice, "expired");
});

test("operators use the console's issuer, and users keep theirs", async (context) => {
  const config = { api: "/api", auth: { kind: "wechat" }, operators_auth: AUTH };
  context.mock.method(globalThis, "fetch", () => Promise.resolve(Response.json(config)));
  assert.deepEqual((await readConfig()).auth, { kind: "wechat" });
  at.pathname = "/operator/campaigns/spring";
  context.after(() => (at.pathname = "/signed-in"));
  assert.deepEqual((await readConfig()).auth, AUTH);
});
