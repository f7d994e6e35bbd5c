/** Definitions of all lists. */

import { html, nothing } from "lit";
import { until } from "lit/directives/until.js";

import type { Schemas } from "../api/client.ts";
import { language, translate } from "../i18n/language.ts";
import { PROVIDERS } from "../providers/registry.ts";
import { say } from "../providers/say.ts";
import { session } from "../session.ts";
import type { Column, Filter, ListOf } from "./list.ts";
import { stateOf } from "./plan.ts";
import { changesView, sentenceOf } from "./sentences.ts";
import { amountCell, when } from "./view.ts";
import { WAITS } from "./withdrawal-words.ts";
import { o, wordOf, type OpWord } from "./words.ts";

type Campaign = Schemas["ListedCampaign"];
export type Packet = Schemas["ListedPacket"];
type Claim = Schemas["ListedClaim"];
type Sharer = Schemas["ListedSharer"];
export type Winner = Schemas["ListedWinner"];
type Action = Schemas["ListedAction"];
type Withdrawal = Schemas["ListedWithdrawal"];
const WITHDRAWAL_STATES = [
  ...(["queued", "processing", "awaiting_confirmation", "cancelling"] as const),
  ...(["paid", "failed", "cancelled"] as const),
] as const satisfies readonly Withdrawal["status"][];
export type Approval = Schemas["ListedApproval"];

const options = (...values: OpWord[]) => values.map((label) => ({ value: label, label }));
const status = (...values: OpWord[]): Filter => ({ name: "status", label: "status", options: options(...values) });
const code = (text: string | null) => (text ? html`<code>${text}</code>` : "—");

/** Renders user-written text, which may have no line break opportunity. */
const long = (text: string) => html`<span class="long">${text}</span>`;

/** Renders a nickname as a quotation beside the id, because users choose nicknames freely. */
export const saidName = (name: string | null, user = "") =>
  name ? html`<small class="long">${o("calls_themselves", { name, user })}</small>` : nothing;

/** Renders the nicknames of the people in a row's sentence. */
const saidNames = ({ operator, subject_user, subject, subject_name }: Action | Approval) =>
  html`${saidName(operator.name, operator.user ?? operator.id)}${saidName(subject_name, subject_user ?? subject)}`;

/** Renders a user's host id, or the user token if the host id is unknown, and the nickname. */
function person(row: { user: string | null; user_token: string; nickname: string | null }) {
  return html`${long(row.user ?? row.user_token)}
  ${saidName(row.nickname)}`;
}

export function campaigns(): ListOf<Campaign> {
  return {
    path: "/admin/campaigns",
    title: "campaigns",
    file: "campaigns",
    duty: "read",
    columns: [
      {
        label: "campaign",
        show: ({ campaign_id: id, title }) =>
          html`<a class="long" href="/operator/campaigns/${id}">${title}</a><small>${id}</small>`,
      },
      { label: "status", show: (row) => o(`state_${stateOf(row)}`) },
      { label: "starts", show: (row) => when(row.starts_at_ms) },
      { label: "ends", show: (row) => when(row.ends_at_ms) },
      { label: "budget", isNumber: true, show: (row) => amountCell(row.budget_fen) },
      { label: "budget_left", isNumber: true, show: (row) => amountCell(row.budget_left_fen) },
      { label: "version", isNumber: true, show: (row) => row.version },
    ],
  };
}

const asked = new WeakMap<Packet, Promise<number | string>>();

/** Renders the number of claimed shares from the packet's feed, because the list has it only after the packet's end. */
function takenOf(row: Packet) {
  if (!row.packet_id || !["open", "emptied", "closing"].includes(row.status)) return "—";
  const path = `/packets/${row.packet_id}/feed?limit=1`;
  const told = asked.get(row) ?? session.client.get<Schemas["Feed"]>(path).then(
    ({ claimed_count }) => claimed_count,
    () => "—",
  );
  asked.set(row, told);
  return html`${until(told, "…")}`;
}

/** The packet's id, or its reference for operators who may not act on it. */
export const idOrRef = ({ packet_id: id, packet_ref: ref }: Packet): string => id ?? ref;

export function packets(): ListOf<Packet> {
  const columns: Column<Packet>[] = [
    {
      label: "packet",
      show: (row) => html`<a href="/operator/packets/${idOrRef(row)}"><code>${idOrRef(row)}</code></a>`,
    },
    { label: "status", show: (row) => wordOf(row.status) },
    {
      label: "sender",
      show: ({ sender: user, sender_token, sender_name: name }) => person({ user, user_token: sender_token, nickname: name === user ? null : name }),
    },
    {
      label: "campaign",
      show: ({ campaign_id: id, prize_id: prize }) =>
        id
          ? html`<a href="/operator/campaigns/${id}">${id}</a>${prize ? html`<small>${prize}</small>` : nothing}`
          : "—",
    },
    { label: "total", isNumber: true, show: (row) => amountCell(row.total_fen) },
    { label: "shares", isNumber: true, show: (row) => row.count },
    { label: "claimed", isNumber: true, show: (row) => row.claimed_count ?? takenOf(row) },
    { label: "refunded", isNumber: true, show: (row) => amountCell(row.refunded_fen) || "—" },
    { label: "created", show: (row) => when(row.created_at_ms) },
  ];
  return {
    path: "/admin/packets",
    title: "packets",
    file: "packets",
    duty: "read",
    columns,
    filters: [
      { name: "campaign_id", label: "campaign_id" },
      { name: "sender", label: "sender" },
      status("unpaid", "cancelled", "open", "emptied", "closing", "closed"),
    ],
  };
}

export function claims(packetId: string): ListOf<Claim> {
  return {
    path: `/admin/packets/${packetId}/claims`,
    title: "claims",
    file: `claims-${packetId}`,
    duty: "read",
    columns: [
      { label: "share_no", isNumber: true, show: (row) => row.share_no },
      { label: "user", show: person },
      { label: "amount", isNumber: true, show: (row) => amountCell(row.amount_fen) },
      { label: "claimed_at", show: (row) => when(row.claimed_at_ms) },
      { label: "payout", show: (row) => wordOf(row.payout) },
      { label: "via", show: (row) => row.via ?? "" },
    ],
  };
}

export function sharers(packetId: string): ListOf<Sharer> {
  return {
    path: `/admin/packets/${packetId}/sharers`,
    title: "sharers",
    file: `sharers-${packetId}`,
    duty: "read",
    columns: [
      { label: "user", show: person },
      { label: "claim_count", isNumber: true, show: (row) => row.claim_count },
    ],
  };
}

export function winners(campaignId: string): ListOf<Winner> {
  return {
    path: `/admin/campaigns/${campaignId}/winners`,
    title: "winners",
    file: `winners-${campaignId}`,
    duty: "read",
    columns: [
      { label: "unit", show: (row) => code(row.unit) },
      { label: "user", show: person },
      { label: "won_at", show: (row) => when(row.won_at_ms) },
      {
        label: "status",
        show: (row) => html`${wordOf(row.status)}<small>${when(row.decided_at_ms)}</small>`,
      },
      { label: "note", show: (row) => long(row.note ?? "—") },
    ],
    filters: [{ name: "prize_id", label: "prize_id" }, status("won", "handed_over", "forfeited")],
  };
}

export function auditLog(): ListOf<Action> {
  return {
    path: "/admin/journal",
    title: "journal",
    file: "journal",
    duty: "see_journal",
    columns: [
      { label: "at", show: (row) => when(row.at_ms) },
      { label: "action", show: (row) => html`${long(sentenceOf(row))}${saidNames(row)}${changesView(row.changes)}` },
      { label: "subject", show: (row) => code(row.subject) },
    ],
    filters: [{ name: "subject", label: "subject" }],
  };
}

export function approvals(): ListOf<Approval> {
  return {
    path: "/admin/approvals",
    title: "approvals",
    file: "approvals",
    duty: "see_approvals",
    columns: [
      { label: "at", show: (row) => when(row.asked_at_ms) },
      { label: "asked", show: (row) => html`${long(sentenceOf(row))}${saidNames(row)}${changesView(row.changes)}` },
      { label: "amount", isNumber: true, show: (row) => amountCell(row.amount_fen) },
      { label: "status", show: (row) => html`${wordOf(row.status)}<small>${outcome(row)}</small>` },
    ],
    filters: [status("awaiting", "approved", "rejected", "expired")],
  };
}

export function withdrawals(): ListOf<Withdrawal> {
  return {
    path: "/admin/withdrawals",
    title: "withdrawals",
    file: "withdrawals",
    duty: "see_withdrawals",
    isWithoutCsv: true,
    columns: [
      { label: "at", show: (row) => when(row.created_at_ms) },
      { label: "user", show: ({ user, user_token: token }) => person({ user, user_token: token, nickname: null }) },
      { label: "amount", isNumber: true, show: (row) => amountCell(row.amount_fen) },
      { label: "status", show: (row) => html`${o(`withdrawal_${row.status}`)}<small>${say(PROVIDERS[row.channel], "name")}</small>` },
      { label: "waits_for", show: (row) => (row.waits_for ? translated(row.waits_for) : "—") },
      {
        label: "next_step",
        show: (row) =>
          row.next_step ? html`${translated(row.next_step)}<small>${when(row.next_at_ms)}</small>` : "—",
      },
      { label: "number", show: (row) => code(row.withdrawal_id) },
    ],
    filters: [
      {
        name: "status",
        label: "status",
        options: WITHDRAWAL_STATES.map((value) => ({ value, label: `withdrawal_${value}` as const })),
      },
      { name: "user", label: "user" },
    ],
  };
}

/** Translates the API's sentence about a withdrawal. */
const translated = (text: string) => (language() === "en" ? text : translate(WAITS[text] ?? text));

/** Renders a user's host id, user token and nickname, or only the token if the host id is unknown. */
export function nameOf({ id, user, name }: Action["operator"]) {
  return user ? html`${long(user)} <small>${code(id)}</small> ${saidName(name)}` : code(id);
}

export function subjectOf(row: Action | Approval) {
  return nameOf({ id: row.subject, user: row.subject_user, name: row.subject_name });
}

function outcome(row: Approval): string {
  if (row.refusal) return o("refused_by", { code: row.refusal });
  if (row.status === "approved" && !row.is_applied) return o("not_applied");
  return when(row.decided_at_ms);
}
