/** Changes that need another operator's approval. The decision applies to the exact change and version shown. */

import { html, nothing } from "lit";

import { decisionOf } from "./deciding.ts";
import type { OperatorList } from "./list.ts";
import { approvals, nameOf, subjectOf, type Approval } from "./lists.ts";
import { changesView, sentenceOf } from "./sentences.ts";
import { money } from "../money.ts";
import { confirm, ConsoleView, duties, facts, ownToken, when, write } from "./view.ts";
import { o } from "./words.ts";

export class OperatorApprovals extends ConsoleView {
  static override properties = { ...ConsoleView.properties, me: { state: true } };
  /** This operator's token, as it appears in lists. No decision is possible before it is loaded. */
  declare me: string | undefined;

  override connectedCallback(): void {
    super.connectedCallback();
    void this.attempt(async () => {
      this.me = await ownToken();
    });
  }

  override render() {
    const actions = (row: Approval) => this.#actions(row);
    return html`<h1 tabindex="-1">${o("approvals")}</h1>
      <p class="hint">${o("approvals_hint")}</p>
      ${this.news()} ${this.me ? html`<op-list .list=${{ ...approvals(), actions }}></op-list>` : nothing}`;
  }

  #actions(row: Approval) {
    const decision = decisionOf(row, this.me);
    if (decision === "over") return nothing;
    if (decision === "own" || decision === "payee") return html`<small>${o(`not_by_${decision}`)}</small>`;
    if (!duties().may("approve")) return nothing;
    return html`
      <button class="secondary" @click=${() => this.#decide(row, "approve")}>
        ${o(decision === "finish" ? "finish" : "approve")}
      </button>
      ${decision === "decide"
        ? html`<button class="secondary" @click=${() => this.#decide(row, "reject")}>${o("reject")}</button>`
        : nothing}
    `;
  }

  async #decide(row: Approval, how: "approve" | "reject"): Promise<void> {
    const version = row.version === null ? "—" : row.version || o("version_new");
    const body = html`
      <p>${sentenceOf(row)}</p>
      ${facts(
        [o("subject"), subjectOf(row)],
        [o("amount"), html`${money(row.amount_fen)} <small>${row.amount_fen} fen</small>`],
        [o("version"), version],
        [o("operator"), nameOf(row.asked_by)],
        [o("at"), when(row.asked_at_ms)],
        ...(row.payee ? [[o("payee"), nameOf({ id: row.payee, user: row.payee_user, name: null })] as [string, ReturnType<typeof html>]] : []),
      )}
      ${changesView(row.changes, true)}
      <p class="hint">${o(how === "approve" ? "approve_hint" : "reject_hint")}</p>
    `;
    if (!(await confirm(o(`${how}_title`), body, o(how)))) return;
    await this.act("approve", async () => {
      const path = `/admin/approvals/${row.approval_id}/${how}`;
      const list = this.querySelector<OperatorList>("op-list");
      try {
        const decided = await write<Approval>("POST", path);
        list?.rows.replace((approval: Approval) => approval.approval_id === row.approval_id, decided);
        list?.requestUpdate();
        if (decided.refusal) return o("refused_by", { code: decided.refusal });
      } catch (error) {
        // Reload the list: another operator may have decided, or the API may have rejected the change.
        list?.reload();
        throw error;
      }
      return o(`${how}_done`);
    });
  }
}

customElements.define("op-approvals", OperatorApprovals);
