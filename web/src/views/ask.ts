/** A modal question with a form for the answer. */

import { html, render, type TemplateResult } from "lit";

import { problemOf } from "../api/problems.ts";
import { markFields } from "./fields.ts";

/**
 * Shows *body* as a question. Returns the form if the user agrees, otherwise undefined.
 *
 * Runs *work* before the question closes. Shows a field error from the API in the form, and throws any other problem.
 */
export function ask(
  title: string,
  body: TemplateResult,
  words: { yes: string; no: string },
  work?: (form: FormData) => Promise<unknown>,
): Promise<FormData | undefined> {
  const dialog = document.createElement("dialog");
  dialog.className = "ask";
  return new Promise((done, fail) => {
    let agreed: FormData | undefined;
    let isBusy = false;
    const draw = () => {
      render(
        html`<form @submit=${agree}>
          <h2 id="asked">${title}</h2>
          ${body}
          <p class="answers">
            <button type="button" class="secondary" ?disabled=${isBusy} @click=${() => dialog.close()}>${words.no}</button>
            <button class="primary" ?disabled=${isBusy}>${words.yes}</button>
          </p>
        </form>`,
        dialog,
      );
    };
    const agree = (event: SubmitEvent) => {
      event.preventDefault();
      if (!isBusy) void run(new FormData(event.target as HTMLFormElement));
    };
    const run = async (form: FormData) => {
      isBusy = true;
      draw();
      try {
        await work?.(form);
        agreed = form;
        dialog.close();
      } catch (error) {
        const problem = problemOf(error);
        if (!markFields(dialog, problem)) {
          fail(problem);
          dialog.close();
        }
      }
      isBusy = false;
      draw();
    };
    draw();
    dialog.setAttribute("aria-labelledby", "asked");
    // While busy, stay open to show the outcome.
    dialog.addEventListener("cancel", (event) => isBusy && event.preventDefault());
    dialog.addEventListener("close", () => {
      dialog.remove();
      done(agreed);
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}
