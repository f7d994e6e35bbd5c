/** Form errors from the API and the browser, each shown at its field. */

import type { Problem } from "../api/problems.ts";
import { language } from "../i18n/language.ts";
import { p, problemText } from "../i18n/packet.ts";
import { briefDigits } from "../money.ts";

type Field = HTMLInputElement;

let noteCount = 0;

/** Callbacks that remove the error shown at a field. */
const told = new WeakMap<Field, () => void>();

/** Shows each error of *problem* at its field in *root*, and focuses the first. Returns whether it shows any. */
export function markFields(root: ParentNode, { code, errors }: Problem): boolean {
  let first: Field | undefined;
  for (const { field: name, message } of errors) {
    const field = fieldOf(root, name);
    if (!field || field === first) continue;
    tell(field, textOf(name, message) ?? problemText(code));
    first ??= field;
  }
  // Focus later, because a field that is disabled during the request can't be focused yet.
  setTimeout(() => first?.focus());
  return first !== undefined;
}

/** Shows *problem* at *field* and focuses the field. "" clears the problem. Returns whether the field is valid. */
export function markField(field: Field, problem: string): boolean {
  told.get(field)?.();
  if (!problem) return field.reportValidity();
  tell(field, problem);
  field.focus();
  return false;
}

/** Shows validation errors at the field, because the browser's own bubbles use the browser's language. */
addEventListener(
  "invalid",
  (event) => {
    event.preventDefault();
    const field = event.target as Field;
    tell(field, ruleOf(field));
    // The event fires for each invalid field in turn. Focus only the first field.
    if (isTelling) return;
    isTelling = true;
    field.focus();
    setTimeout(() => (isTelling = false));
  },
  true,
);

let isTelling = false;

/** Returns the rule that a field violates, in the reader's language. */
function ruleOf({ validity, validationMessage, type, min, max }: Field): string {
  if (validity.customError) return validationMessage;
  if (validity.valueMissing) return p(/^(file|select)/.test(type) ? "choose" : "fill_in");
  if (validity.rangeUnderflow) return p("at_least", { n: min });
  if (validity.rangeOverflow) return p("at_most", { n: max });
  return problemText("invalid_request");
}

/** Returns the field for an API name, or the field for the list or object that contains it. */
function fieldOf(root: ParentNode, name: string): Field | undefined {
  for (let path = name; path; path = path.slice(0, Math.max(0, path.lastIndexOf(".")))) {
    const at = CSS.escape(path);
    const found = root.querySelector<Field>(`:is(input, textarea, select):is([name="${at}"], [data-api~="${at}"])`);
    if (found) return found;
  }
  return undefined;
}

function tell(field: Field, text: string): void {
  told.get(field)?.();
  const note = document.createElement("small");
  note.className = "refused";
  // Use a counter: several forms share field names, and some fields have no name.
  note.id = `refused-${++noteCount}`;
  note.textContent = text;
  const label = field.closest(".field");
  if (label?.classList.contains("tall")) label.append(note);
  else (label ?? field.closest(".row") ?? field).after(note);
  const before = ["aria-invalid", "aria-describedby"].map((name) => [name, field.getAttribute(name)] as const);
  field.setAttribute("aria-invalid", "true");
  field.setAttribute("aria-describedby", `${note.id} ${field.getAttribute("aria-describedby") ?? ""}`.trim());
  for (let fold = field.closest("details"); fold; fold = fold.parentElement!.closest("details")) fold.open = true;
  const end = () => {
    note.remove();
    for (const [name, value] of before) {
      if (value === null) field.removeAttribute(name);
      else field.setAttribute(name, value);
    }
    told.delete(field);
  };
  told.set(field, end);
  field.addEventListener("input", end, { once: true });
}

/** Translates a validation message of the API to the reader's language. */
function textOf(name: string, message: string): string | undefined {
  const [letter] = /U\+[0-9A-F]{4,6}/.exec(message) ?? [];
  if (letter) return p("bad_letter", { letter });
  const [, kind, number] = /(longer than|at most|less than or equal to|greater than or equal to) (\d+)/.exec(message) ?? [];
  if (!kind) return language() === "en" ? message.charAt(0).toUpperCase() + message.slice(1) : undefined;
  if (kind === "longer than" || message.includes("character")) return p("too_long", { n: number! });
  const n = name.endsWith("_fen") ? briefDigits(Number(number)) : number!;
  return p(kind.startsWith("greater") ? "at_least" : "at_most", { n });
}
