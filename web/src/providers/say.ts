/** A provider's word in the current language. */

import { fill, language, type Params } from "../i18n/language.ts";
import type { Provider, Word } from "./provider.ts";

export function say(provider: Provider, word: Word, params?: Params): string {
  return fill(provider.words[language()][word] ?? "", params);
}
