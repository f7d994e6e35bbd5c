/** A question over the page, with the form of its answer. */

import { html, render, type TemplateResult } from "lit";

/** Shows *body* and asks; returns the form after consent, otherwise undefined. */
export function ask(
  title: string,
  body: TemplateResult,
  words: { yes: string; no: string },
): Promise<FormData | undefined> {
  const dialog = document.createElement("dialog");
  dialog.className = "ask";
  return new Promise((done) => {
    let agreed: FormData | undefined;
    const agree = (event: SubmitEvent) => {
      event.preventDefault();
      agreed = new FormData(event.target as HTMLFormElement);
      dialog.close();
    };
    render(
      html`<form @submit=${agree}>
        <h2 id="asked">${title}</h2>
        ${body}
        <p class="answers">
          <button type="button" class="secondary" @click=${() => dialog.close()}>${words.no}</button>
          <button class="primary">${words.yes}</button>
        </p>
      </form>`,
      dialog,
    );
    dialog.setAttribute("aria-labelledby", "asked");
    dialog.addEventListener("close", () => {
      dialog.remove();
      done(agreed);
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}
