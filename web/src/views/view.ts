/** Base of all views. They use light DOM, so that global stylesheets apply, and render texts in the current language. */

import { html, LitElement, type TemplateResult } from "lit";

import { problemOf, type Problem } from "../api/problems.ts";
import { graphemes } from "../graphemes.ts";
import { Speaks } from "../i18n/language.ts";
import { p, problemText } from "../i18n/packet.ts";
import "../i18n/problems.ts";
import { markField, markFields } from "./fields.ts";
import { onReturn } from "../returned.ts";
import { session } from "../session.ts";

/** Media query for screens with room beside the main column. Keep it in step with style.css. */
export const WIDE = "(min-width: 900px)";

export class View extends LitElement {
  static override properties = { problem: { state: true } };
  declare problem: Problem | undefined;
  /** The form that was submitted last, for views whose forms share field names. */
  protected form: HTMLFormElement | undefined;
  /** Tags of elements whose modules are loading. */
  readonly #loading = new Set<string>();
  #forget: (() => void) | undefined;

  constructor() {
    super();
    new Speaks(this);
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.#forget = onReturn(() => void this.refresh().catch(() => undefined));
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#forget?.();
  }

  protected override createRenderRoot(): this {
    return this;
  }

  /** Reloads the shown data, without hiding it, when the reader returns to the page. */
  async refresh(): Promise<void> {
    // Do nothing by default, for views without data and views that poll.
  }

  /** Runs *work* and shows its problem, if any. */
  protected async attempt(work: () => Promise<unknown>): Promise<void> {
    this.problem = undefined;
    try {
      await work();
    } catch (error) {
      this.problem = problemOf(error);
      markFields(this.form ?? this, this.problem);
    }
  }

  /** Returns whether the element *tag* is defined, and otherwise loads it. After a failure, a button retries. */
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

/** Returns whether the server is reachable, so that a reload would work. */
export function isUp(): Promise<boolean> {
  return fetch("/config.json", { cache: "no-store" }).then(
    ({ ok }) => ok,
    () => false,
  );
}

export function loadingView(): TemplateResult {
  return html`<div class="loading" role="status">
    <span class="unseen">${p("loading_view")}</span>${[1, 2, 3].map(() => boneView())}
  </div>`;
}

/** Renders a placeholder for text or a number that is still loading. */
export function boneView(): TemplateResult {
  return html`<i class="bone" aria-hidden="true"></i>`;
}

/** Asks a viewer who is not signed in to sign in. Returns whether the viewer was asked. */
export function wantsSignIn(view: View): boolean {
  if (session.person) return false;
  view.dispatchEvent(new Event("wants-sign-in", { bubbles: true }));
  return true;
}

/** Returns the trimmed value of the field *name* in *form*. */
export function typed(form: EventTarget | null, name: string): string {
  const value = new FormData(form as HTMLFormElement).get(name);
  return typeof value === "string" ? value.trim() : "";
}

/** Returns an input handler that marks a field as invalid if it has more than *max* graphemes. */
export function atMost(max: number) {
  return ({ target }: Event): void => {
    const field = target as HTMLInputElement;
    field.setCustomValidity(graphemes(field.value).length > max ? p("too_long", { n: max }) : "");
  };
}

/** Shows *problem* at the field *name* of a form. "" clears the problem. Returns whether the field is valid. */
export function checked(form: EventTarget | null, name: string, problem: string): boolean {
  return markField((form as HTMLFormElement).elements.namedItem(name) as HTMLInputElement, problem);
}
