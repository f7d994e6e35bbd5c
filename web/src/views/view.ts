/** What all views share: light DOM, so that one stylesheet dresses them; words of the language of now. */

import { html, LitElement, type TemplateResult } from "lit";

import { problemOf, type Problem } from "../api/problems.ts";
import { Speaks } from "../i18n/language.ts";
import { problemText } from "../i18n/packet.ts";
import { t } from "../i18n/page.ts";

export class View extends LitElement {
  static override properties = { problem: { state: true } };
  declare problem: Problem | undefined;

  constructor() {
    super();
    new Speaks(this);
  }

  protected override createRenderRoot(): this {
    return this;
  }

  /** Runs *work* and shows its problem, if it has one. */
  protected async attempt(work: () => Promise<void>): Promise<void> {
    this.problem = undefined;
    try {
      await work();
    } catch (error) {
      this.problem = problemOf(error);
    }
  }
}

export function problemView(problem: Problem, retry?: () => void): TemplateResult {
  return html`
    <div class="problem" role="alert">
      <p>${problemText(problem.code)}</p>
      ${retry ? html`<button class="quiet" @click=${retry}>${t("retry")}</button>` : ""}
    </div>
  `;
}

export function loadingView(): TemplateResult {
  return html`<p class="loading" role="status">${t("loading")}</p>`;
}

/** What was typed into the field *name* of a form, or of the form whose event this is. */
export function typed(form: EventTarget | null, name: string): string {
  const value = new FormData(form as HTMLFormElement).get(name);
  return typeof value === "string" ? value.trim() : "";
}

/** Copies *text* and says so on the button for a moment. */
export async function copy(button: HTMLButtonElement, text: string): Promise<void> {
  await navigator.clipboard.writeText(text);
  button.textContent = t("copied");
  setTimeout(() => (button.textContent = t("copy")), 1500);
}
