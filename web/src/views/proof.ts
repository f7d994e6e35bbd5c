/** The proof, verified in the browser: the amounts are recomputed and compared with the records. */

import { html } from "lit";

import type { Schemas } from "../api/client.ts";
import { clock } from "../i18n/language.ts";
import { t } from "../i18n/page.ts";
import { digits, spoken } from "../money.ts";
import type { Packet } from "../packet/states.ts";
import { session } from "../session.ts";
import type { Verdict } from "../verify/packet.ts";
import { noted } from "./commitments.ts";
import { loadingView, problemView, View } from "./view.ts";

/** Maximum number of shares to verify. More shares would take seconds on a phone. */
const COUNT_MAX = 10_000;
const SHOWN_MAX = 20;
const SIGNS = { true: "✓", false: "✕", partly: "?" };

export class ProofView extends View {
  static override properties = {
    ...View.properties,
    packetId: {},
    proof: { state: true },
    verdict: { state: true },
  };
  declare packetId: string;
  declare proof: Schemas["Proof"] | undefined;
  declare verdict: Verdict | undefined;

  override connectedCallback(): void {
    super.connectedCallback();
    this.#load();
  }

  #load(): void {
    void this.attempt(async () => {
      const path = `/packets/${this.packetId}` as const;
      const proof = await session.client.get(`${path}/proof?limit=${COUNT_MAX}`);
      this.proof = proof;
      if (proof.count > COUNT_MAX) return;
      const claims: Packet["claims"] = [];
      for (let cursor: string | null = ""; cursor !== null; ) {
        const rest = cursor && `&cursor=${cursor}`;
        const page: Packet = await session.client.get(`${path}?limit=100${rest}`);
        claims.push(...page.claims);
        cursor = page.next;
      }
      const { verifyPacket } = await import("../verify/packet.ts");
      const commitment = noted(this.packetId)?.commitment;
      this.verdict = verifyPacket(proof, proof.amounts_fen, claims, commitment);
    });
  }

  override render() {
    return html`
      <section class="proof">
        <h1 tabindex="-1">${t("proof_title")}</h1>
        ${this.problem
          ? problemView(this.problem, () => this.#load())
          : this.verdict && this.proof
            ? this.#verdict(this.verdict, this.proof)
            : this.proof && this.proof.count > COUNT_MAX
              ? html`<p>${t("proof_large")}</p>`
              : loadingView()}
        <p class="center"><a href="/packets/${this.packetId}">${t("back")}</a></p>
      </section>
    `;
  }

  #verdict(verdict: Verdict, proof: Schemas["Proof"]) {
    const { state, amounts, differences } = verdict;
    const seen = noted(this.packetId);
    return html`
      <p class="verdict is-${state}" role="status">
        <span aria-hidden="true">${SIGNS[state]}</span>
        ${t(`proof_${state}`)}
      </p>
      <p class="lead">${t("proof_lead")}</p>
      <ul class="card checks">
        ${checkView(verdict.isCommitmentTrue, t("proof_commitment"))}
        ${verdict.isNotedTrue === undefined || !seen
          ? html`<li class="is-new">${t("proof_first")}</li>`
          : checkView(verdict.isNotedTrue, t("proof_noted", { time: clock(seen.at_ms) }))}
        ${checkView(differences.length === 0, t("proof_amounts", { n: amounts.length }))}
        ${checkView(verdict.isSumTrue, t("proof_sum", { amount: spoken(proof.total_fen) }))}
        ${checkView(differences.length === 0, t("proof_claims", { n: verdict.claimCount }))}
        ${checkView(verdict.doubleCount === 0, t("proof_owners"))}
      </ul>
      ${differences.slice(0, SHOWN_MAX).map(
        (difference) => html`<p class="wrong">
          ${t("proof_share", {
            no: difference.share_no,
            said: digits(difference.claimed_fen),
            real: difference.real === undefined ? "–" : digits(difference.real),
          })}
        </p>`,
      )}
      <details class="card">
        <summary>${t("proof_what")}</summary>
        <p class="hint">${t("proof_why")}</p>
      </details>
      <details class="card">
        <summary>${t("proof_shares")}</summary>
        <ol class="amounts">
          ${amounts.slice(0, 200).map((amount) => html`<li>${digits(amount)}</li>`)}
        </ol>
        <dl>
          <dt>${t("proof_code")}</dt>
          <dd><code>${verdict.commitment}</code></dd>
          <dt>${t("proof_seed")}</dt>
          <dd><code>${proof.seed}</code></dd>
        </dl>
      </details>
    `;
  }
}

function checkView(isTrue: boolean, text: string) {
  return html`<li class=${isTrue ? "is-true" : "is-false"}>${text}</li>`;
}

customElements.define("rp-proof", ProofView);
