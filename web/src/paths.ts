/** Matcher of paths. */

/** Returns the first match of *paths*, with its id. Some chat apps escape the tilde in an id. */
export function matchOf<Name>(paths: readonly [RegExp, Name][], path: string): { name: Name; id: string } | undefined {
  const plain = path.replace(/%7e/gi, "~");
  for (const [pattern, name] of paths) {
    const match = pattern.exec(plain);
    if (match) return { name, id: match[1] ?? "" };
  }
  return undefined;
}
