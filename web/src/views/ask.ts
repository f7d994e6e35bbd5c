/** A question over the page, with the form of its answer. */

import { html, render, type TemplateResult } from "lit";

import { problemOf } from "../api/problems.ts";
import { markFields } from "./fields.ts";

/**
 * Shows *body* and asks; returns the form after consent, otherwise undefined.
 *
 * *work* runs before the question closes: what the API refuses of a field is told there, any other problem is thrown.
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
    // The outcome is about to be shown here.
    dialog.addEventListener("cancel", (event) => isBusy && event.preventDefault());
    dialog.addEventListener("close", () => {
      dialog.remove();
      done(agreed);
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}
