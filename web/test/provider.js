/** A real OpenID provider for the browser tests: node provider.js PORT PAGE_ORIGIN. */

import process from "node:process";

import Provider from "oidc-provider";

const [port, page] = process.argv.slice(2);
/** Tokens of the user "brief" expire quickly. */
const ttl = (_, { accountId }) => (accountId === "brief" ? 12 : 600);
const audience = "redpacket";

const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [
    {
      client_id: "page",
      token_endpoint_auth_method: "none",
      grant_types: ["authorization_code"],
      response_types: ["code"],
      redirect_uris: [`${page}/signed-in`, `${page}/operator/signed-in`],
    },
  ],
  pkce: { required: () => true },
  // The page itself exchanges the code, from another origin.
  clientBasedCORS: (_, origin) => origin === page,
  claims: { openid: ["sub"], profile: ["nickname"] },
  // The id token contains the profile, as with Cognito.
  conformIdTokenClaims: false,
  findAccount: (_, accountId) => ({
    accountId,
    claims: () => ({ sub: accountId, nickname: `${accountId} Lin` }),
  }),
  ttl: { AccessToken: ttl },
  features: {
    resourceIndicators: {
      enabled: true,
      defaultResource: () => "urn:redpacket:api",
      useGrantedResource: () => true,
      getResourceServerInfo: () => ({ scope: "", audience, accessTokenFormat: "jwt" }),
    },
  },
});

provider.listen(Number(port), "127.0.0.1");
