/** Element in which readers choose a language. */

import { html, type TemplateResult } from "lit";

import { language, LANGUAGES, setLanguage } from "./language.ts";

export function languages(label: string): TemplateResult {
  const choose = (event: Event) => setLanguage((event.target as HTMLSelectElement).value);
  return html`
    <select class="tongue" aria-label=${label} @change=${choose}>
      ${LANGUAGES.map(
        ({ tag, name }) => html`<option value=${tag} lang=${tag} .selected=${tag === language()}>${name}</option>`,
      )}
    </select>
  `;
}
