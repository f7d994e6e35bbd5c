import assert from "node:assert/strict";
import test from "node:test";

import type { Client } from "../src/api/client.ts";
import type { Config } from "../src/config.ts";
import type { Arrival } from "../src/oidc.ts";

const slots = new Map<string, string>();
const left: URL[] = [];
const at = {
  href: "",
  origin: "https://page.example",
  pathname: "/packets/1",
  search: "",
  replace: (to: string) => left.push(new URL(to)),
};
Object.assign(globalThis, {
  location: at,
  scrollY: 0,
  history: {},
  document: { cookie: "", addEventListener: () => undefined },
  addEventListener: () => undefined,
  sessionStorage: {
    getItem: (name: string) => slots.get(name) ?? null,
    setItem: (name: string, text: string) => void slots.set(name, text),
    removeItem: (name: string) => void slots.delete(name),
  },
});
const { arrive, depart } = await import("../src/providers/wechat/sign-in.ts");
const wechat = { app_id: "wx1", authorize_url: "https://open.example/authorize" };
const config: Config = { api: "/api", auth: { kind: "wechat" }, wechat };

/** Simulates WeChat's redirect with *search*. Returns the arrival and the codes that were sent. */
async function back(search: string, answer?: object): Promise<[Arrival | undefined, unknown[]]> {
  const sent: unknown[] = [];
  const ask = (...options: unknown[]) => {
    sent.push(options);
    return answer ? Promise.resolve(answer) : Promise.reject(new Error("code_invalid"));
  };
  Object.assign(at, { pathname: "/signed-in", search });
  return [await arrive({ ask } as unknown as Client), sent];
}

/** Starts a sign-in at *path*. Returns the state in the redirect to WeChat. */
function leave(path: string): string {
  depart(config, path);
  return left.at(-1)!.searchParams.get("state")!;
}

test("the sign-in redirects to WeChat silently and returns only to this origin", () => {
  const [one, other] = [leave("/packets/1?via=a#top"), leave("/packets/1")];

  const target = left.at(-2)!;
  assert.equal(target.searchParams.get("redirect_uri"), "https://page.example/signed-in");
  assert.equal(target.searchParams.get("scope"), "snsapi_base");
  assert.equal(target.hash, "#wechat_redirect");
  assert.notEqual(one, other);
  assert.ok(one.length >= 32);
});

test("a code with this tab's state signs in once and returns to the previous path", async () => {
  const state = leave("/packets/1?via=a#top");

  const [arrived, sent] = await back(`?code=mine&state=${state}`, { token: "jwt" });
  const [again, resent] = await back(`?code=mine&state=${state}`, { token: "jwt" });

  assert.deepEqual(arrived, { path: "/packets/1?via=a#top", tokens: { access_token: "jwt" } });
  assert.deepEqual(sent, [["POST", "/auth/wechat", { body: { code: "mine" }, repeats: 3 }]]);
  assert.deepEqual([again, resent], [{ path: "/", reason: "failed" }, []]);
});

for (const search of ["?code=attackers", "?code=attackers&state=", "?code=attackers&state=null", "?state=S"]) {
  test(`another person's answer ${search} signs no one in`, async () => {
    const state = leave("/send");

    const [arrived, sent] = await back(search.replace("=S", `=${state}`), { token: "jwt" });

    assert.deepEqual([arrived, sent], [{ path: "/send", reason: "failed" }, []]);
    assert.equal(slots.size, 0, "the state is good for one answer");
  });
}

test("a rejected code returns its reason, and causes no second redirect", async () => {
  const state = leave("/send");

  const [arrived] = await back(`?code=used&state=${state}`);

  assert.deepEqual(arrived, { path: "/send", reason: "failed" });
});

test("other page loads complete no sign-in", async () => {
  leave("/send");
  Object.assign(at, { pathname: "/send", search: "?code=c" });

  assert.equal(await arrive(undefined as unknown as Client), undefined);
  assert.equal(slots.size, 1);
});
