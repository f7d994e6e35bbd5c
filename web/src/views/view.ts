/** Base of all views: light DOM, so that one stylesheet dresses them, and words of the current language. */

import { html, LitElement, type TemplateResult } from "lit";

import { problemOf, type Problem } from "../api/problems.ts";
import { graphemes } from "../graphemes.ts";
import { Speaks } from "../i18n/language.ts";
import { p, problemText } from "../i18n/packet.ts";
import "../i18n/problems.ts";
import { session } from "../session.ts";

/** A screen with room beside a phone's column; the same value as in style.css. */
export const WIDE = "(min-width: 900px)";

export class View extends LitElement {
  static override properties = { problem: { state: true } };
  declare problem: Problem | undefined;
  /** Elements whose modules this view asked for. */
  readonly #loading = new Set<string>();

  constructor() {
    super();
    new Speaks(this);
  }

  protected override createRenderRoot(): this {
    return this;
  }

  /** Runs *work* and shows its problem, if it has one. */
  protected async attempt(work: () => Promise<unknown>): Promise<void> {
    this.problem = undefined;
    try {
      await work();
    } catch (error) {
      this.problem = problemOf(error);
      this.#mark(this.problem);
    }
  }

  /** Shows at its field what the API refuses, until that is typed anew. */
  #mark({ code, errors }: Problem): void {
    for (const { field, message } of errors) {
      const input = this.querySelector<HTMLInputElement>(`:is(input, textarea)[name="${CSS.escape(field)}"]`);
      const [letter] = /U\+[0-9A-F]{4,6}/.exec(message) ?? [];
      const text = letter ? p("bad_letter", { letter }) : problemText(code);
      // A field that is still off, as during its request, shows nothing.
      if (input) setTimeout(() => markField(input, text));
    }
  }

  /** Returns whether the element *tag* is there; loads it otherwise, and a problem's button tries again. */
  protected has(tag: string, load: () => Promise<unknown>): boolean {
    if (customElements.get(tag)) return true;
    if (!this.#loading.has(tag)) {
      this.#loading.add(tag);
      void this.#load(load);
    }
    return false;
  }

  async #load(load: () => Promise<unknown>): Promise<void> {
    try {
      await load();
      this.requestUpdate();
    } catch (error) {
      this.problem = problemOf(error);
      this.problem.retry = () => {
        this.problem = undefined;
        void this.#load(load);
      };
    }
  }
}

export function problemView(problem: Problem, retry = problem.retry): TemplateResult {
  return html`
    <div class="problem" role="alert">
      <p>${problemText(problem.code)}</p>
      ${retry ? html`<button class="quiet" @click=${retry}>${p("retry")}</button>` : ""}
    </div>
  `;
}

/** Whether the page could be loaded again now. */
export function isUp(): Promise<boolean> {
  return fetch("/config.json", { cache: "no-store" }).then(
    ({ ok }) => ok,
    () => false,
  );
}

export function loadingView(): TemplateResult {
  return html`<p class="loading" role="status">${p("loading_view")}</p>`;
}

/** Asks a viewer without a token to sign in, and returns whether it did. */
export function wantsSignIn(view: View): boolean {
  if (session.person) return false;
  view.dispatchEvent(new Event("wants-sign-in", { bubbles: true }));
  return true;
}

/** Typed value of the field *name* of a form, or of the form whose event this is. */
export function typed(form: EventTarget | null, name: string): string {
  const value = new FormData(form as HTMLFormElement).get(name);
  return typeof value === "string" ? value.trim() : "";
}

/** Handler of a field's input: more than *max* letters, as readers count them, can't be sent. */
export function atMost(max: number) {
  return ({ target }: Event): void => {
    const field = target as HTMLInputElement;
    field.setCustomValidity(graphemes(field.value).length > max ? p("too_long", { n: max }) : "");
  };
}

/** Shows *problem* at the field *name* of a form, "" for no field; returns whether the form is valid. */
export function checked(form: EventTarget | null, name: string, problem: string): boolean {
  return markField((form as HTMLFormElement).elements.namedItem(name) as HTMLInputElement, problem);
}

function markField(field: HTMLInputElement, problem: string): boolean {
  field.setCustomValidity(problem);
  // Before the field's own check of what is typed.
  field.addEventListener("input", () => field.setCustomValidity(""), { once: true, capture: true });
  return field.reportValidity();
}
