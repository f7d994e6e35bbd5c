/** Claims of a JSON Web Token. Nothing verifies them, so they decide only what the page shows, never what is allowed. */

export type Claims = Partial<Record<"sub" | "nickname" | "name" | "picture" | "scope", string>>;

/** Returns the string claims in the payload of *token*, or none if it can't be read. */
export function claimsOf(token: string): Claims {
  try {
    const [, payload = ""] = token.split(".");
    const text = atob(payload.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(text, (character) => character.charCodeAt(0));
    const claims = JSON.parse(new TextDecoder().decode(bytes)) as Record<string, unknown>;
    return Object.fromEntries(Object.entries(claims).filter(([, value]) => typeof value === "string"));
  } catch {
    return {};
  }
}
