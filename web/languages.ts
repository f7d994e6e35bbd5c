/**
 * Writes the page's other languages, one module per folder of languages/, into src/i18n/others/.
 *
 * A folder has `language.json`, and either `words.json` or an OpenCC dictionary, which `terms.json` corrects.
 * The Chinese texts of the source are the keys.
 */

import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";

import { Converter } from "opencc-js/cn2t";
import ts from "typescript";

type Words = Record<string, string>;

interface Described {
  /** Name of the language, in that language. */
  name: string;
  /** Browser language tags that select the language, with or without further subtags. */
  tags: string[];
  opencc?: "tw" | "hk";
}

export const FOLDERS = `${import.meta.dirname}/languages`;
const SOURCES = `${import.meta.dirname}/src`;
const TARGET = `${SOURCES}/i18n/others`;

/** Returns the string literals with Chinese characters in the sources, sorted. */
export function texts(): string[] {
  const found = new Set<string>();
  const visit = (node: ts.Node): void => {
    if (ts.isStringLiteralLike(node) && /\p{Script=Han}/u.test(node.text)) found.add(node.text);
    ts.forEachChild(node, visit);
  };
  for (const file of readdirSync(SOURCES, { recursive: true, encoding: "utf8" })) {
    if (!file.endsWith(".ts") || /^api\/|^i18n\/others\//.test(file)) continue;
    visit(ts.createSourceFile(file, readFileSync(`${SOURCES}/${file}`, "utf8"), ts.ScriptTarget.Latest));
  }
  return [...found].sort();
}

/** Returns the words of the language in *folder*, keyed by Chinese text. Without a dictionary, a missing word throws. */
export function catalogOf(folder: string, wanted: readonly string[]): Words {
  const { opencc } = described(folder);
  const words = wordsOf(`${folder}/words.json`);
  const terms = wordsOf(`${folder}/terms.json`);
  const longestFirst = Object.keys(terms).sort((one, other) => other.length - one.length);
  const anyTerm = new RegExp(longestFirst.join("|") || "(?!)", "g");
  const convert = opencc && Converter({ from: "cn", to: opencc });
  const missing = convert ? [] : wanted.filter((text) => words[text] === undefined);
  if (missing.length > 0) throw new Error(`${folder} lacks ${missing.length} words: ${missing.slice(0, 5).join(", ")}`);
  const catalog: Words = {};
  for (const text of wanted) {
    const word = words[text] ?? convert?.(text).replace(anyTerm, (term) => terms[term]!) ?? text;
    if (word !== text) catalog[text] = word;
  }
  return catalog;
}

function described(folder: string): Described {
  return JSON.parse(readFileSync(`${folder}/language.json`, "utf8")) as Described;
}

function wordsOf(file: string): Words {
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Words) : {};
}

function write(): void {
  rmSync(TARGET, { recursive: true, force: true });
  mkdirSync(TARGET);
  const wanted = texts();
  const entries = readdirSync(FOLDERS).map((tag) => {
    const { name, tags } = described(`${FOLDERS}/${tag}`);
    const catalog = JSON.stringify(catalogOf(`${FOLDERS}/${tag}`, wanted));
    writeFileSync(`${TARGET}/${tag}.ts`, `export const words: Record<string, string> = ${catalog};\n`);
    return `  { tag: ${JSON.stringify(tag)}, name: ${JSON.stringify(name)}, tags: ${JSON.stringify(tags)}, load: () => import("./${tag}.ts") },\n`;
  });
  writeFileSync(`${TARGET}/index.ts`, `/** Languages of web/languages.ts. */\nexport const OTHERS = [\n${entries.join("")}];\n`);
}

if (import.meta.main) write();
