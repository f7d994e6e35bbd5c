/** Base of all views: light DOM, so that one stylesheet dresses them, and words of the current language. */

import { html, LitElement, type TemplateResult } from "lit";

import { problemOf, type Problem } from "../api/problems.ts";
import { graphemes } from "../graphemes.ts";
import { Speaks } from "../i18n/language.ts";
import { p, problemText } from "../i18n/packet.ts";
import "../i18n/problems.ts";
import { markField, markFields } from "./fields.ts";
import { onReturn } from "../returned.ts";
import { session } from "../session.ts";

/** A screen with room beside a phone's column; the same value as in style.css. */
export const WIDE = "(min-width: 900px)";

export class View extends LitElement {
  static override properties = { problem: { state: true } };
  declare problem: Problem | undefined;
  /** The form that was sent last, where a view has several with the same fields. */
  protected form: HTMLFormElement | undefined;
  /** Elements whose modules this view asked for. */
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
    // Views without data, or that poll.
  }

  /** Runs *work* and shows its problem, if it has one. */
  protected async attempt(work: () => Promise<unknown>): Promise<void> {
    this.problem = undefined;
    try {
      await work();
    } catch (error) {
      this.problem = problemOf(error);
      markFields(this.form ?? this, this.problem);
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

/** Whether the page could be reloaded now. */
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

/** Placeholder of a text or a number that is not loaded yet. */
export function boneView(): TemplateResult {
  return html`<i class="bone" aria-hidden="true"></i>`;
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
