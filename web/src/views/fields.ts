/** Errors of a form that the API reports, each shown at its field. */

import type { Problem } from "../api/problems.ts";
import { language } from "../i18n/language.ts";
import { p, problemText } from "../i18n/packet.ts";
import { briefDigits } from "../money.ts";

type Field = HTMLInputElement;

let noteCount = 0;

/** Removes the error shown at a field. */
const told = new WeakMap<Field, () => void>();

/** Shows each error of *problem* at its field of *root*, and focuses the first; returns whether there is one. */
export function markFields(root: ParentNode, { code, errors }: Problem): boolean {
  let first: Field | undefined;
  for (const { field: name, message } of errors) {
    const field = fieldOf(root, name);
    if (!field || field === first) continue;
    tell(field, textOf(name, message) ?? problemText(code));
    first ??= field;
  }
  // A field that is still disabled, as during its request, cannot be focused.
  setTimeout(() => first?.focus());
  return first !== undefined;
}

/** Shows *problem* at *field* and focuses it, "" for none; returns whether the field is valid. */
export function markField(field: Field, problem: string): boolean {
  told.get(field)?.();
  if (!problem) return field.reportValidity();
  tell(field, problem);
  field.focus();
  return false;
}

/** Tells what the browser refuses at the field: its own bubbles speak the browser's language, not the page's. */
addEventListener(
  "invalid",
  (event) => {
    event.preventDefault();
    const field = event.target as Field;
    tell(field, ruleOf(field));
    // All fields of the form are told in turn; the first one gets the focus.
    if (isTelling) return;
    isTelling = true;
    field.focus();
    setTimeout(() => (isTelling = false));
  },
  true,
);

let isTelling = false;

/** The broken rule of a field, in the reader's language. */
function ruleOf({ validity, validationMessage, type, min, max }: Field): string {
  if (validity.customError) return validationMessage;
  if (validity.valueMissing) return p(/^(file|select)/.test(type) ? "choose" : "fill_in");
  if (validity.rangeUnderflow) return p("at_least", { n: min });
  if (validity.rangeOverflow) return p("at_most", { n: max });
  return problemText("invalid_request");
}

/** The field of an API name, or of the list or object that contains it. */
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
  // Fields of several forms have the same name, and some have none.
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

/** A rule of the API in the reader's language. */
function textOf(name: string, message: string): string | undefined {
  const [letter] = /U\+[0-9A-F]{4,6}/.exec(message) ?? [];
  if (letter) return p("bad_letter", { letter });
  const [, kind, number] = /(longer than|at most|less than or equal to|greater than or equal to) (\d+)/.exec(message) ?? [];
  if (!kind) return language() === "en" ? message.charAt(0).toUpperCase() + message.slice(1) : undefined;
  if (kind === "longer than" || message.includes("character")) return p("too_long", { n: number! });
  const n = name.endsWith("_fen") ? briefDigits(Number(number)) : number!;
  return p(kind.startsWith("greater") ? "at_least" : "at_most", { n });
}
