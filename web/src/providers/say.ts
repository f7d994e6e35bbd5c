/** Provider texts in the current language. */

import { fill, type Params, written } from "../i18n/language.ts";
import type { Provider, Word } from "./provider.ts";

export function say(provider: Provider, word: Word, params?: Params): string {
  return fill(provider.words[written()][word] ?? "", params);
}
