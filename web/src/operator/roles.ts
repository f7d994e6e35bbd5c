/** Permissions of an operator, from the scopes of their token. The console only hides controls; the API enforces permissions. */

import { ROLES as BY_ROUTE } from "../api/limits.ts";
import { Problem } from "../api/problems.ts";

export type Role = (typeof BY_ROUTE)[keyof typeof BY_ROUTE][number];
export const ROLES: readonly Role[] = ["admin", "operate", "treasury", "audit"];

/** Roles that the routes of each duty accept. */
const DUTIES = {
  read: BY_ROUTE["GET /admin/campaigns"],
  switch: BY_ROUTE["PUT /admin/switches/{name}"],
  // One route, but treasury may edit only the budget, and operate only the rest.
  edit_campaign: BY_ROUTE["PUT /admin/campaigns/{campaign_id}"],
  plan: ["admin", "operate"],
  set_budget: BY_ROUTE["POST /admin/deposits"],
  send_rain: BY_ROUTE["POST /admin/packets"],
  plan_rain: BY_ROUTE["POST /admin/campaigns/{campaign_id}/rains"],
  edit_audience: BY_ROUTE["POST /admin/campaigns/{campaign_id}/audience"],
  see_withdrawals: BY_ROUTE["GET /admin/withdrawals"],
  end_packet: BY_ROUTE["POST /admin/packets/{packet_id}/end"],
  end_any_packet: ["admin"],
  preheat: BY_ROUTE["POST /admin/campaigns/{campaign_id}/preheat"],
  decide_winner: BY_ROUTE["PUT /admin/campaigns/{campaign_id}/winners/{unit}"],
  // One route, but each role may change the stock of different kinds of prizes.
  stock_goods: ["admin", "operate"],
  stock_cash: ["admin", "treasury"],
  add_codes: BY_ROUTE["POST /admin/campaigns/{campaign_id}/prizes/{prize_id}/codes"],
  deposit: BY_ROUTE["POST /admin/deposits"],
  see_approvals: BY_ROUTE["GET /admin/approvals"],
  approve: BY_ROUTE["POST /admin/approvals/{approval_id}/approve"],
  see_journal: BY_ROUTE["GET /admin/journal"],
} as const satisfies Record<string, readonly Role[]>;

export type Duty = keyof typeof DUTIES;

export function rolesOf(scope: string): Role[] {
  const scopes = scope.split(" ");
  return ROLES.filter((role) => scopes.includes(`hongbao/${role}`));
}

/** Duties of one operator, without those that the API has refused. */
export class Duties {
  readonly roles: readonly Role[];
  readonly #refused = new Set<Duty>();

  constructor(scope: string) {
    this.roles = rolesOf(scope);
  }

  may(duty: Duty): boolean {
    const allowed: readonly Role[] = DUTIES[duty];
    const isOfRole = this.roles.some((role) => allowed.includes(role));
    return isOfRole && !this.#refused.has(duty);
  }

  /** Duties that the role or the API denies. */
  get missing(): Duty[] {
    return (Object.keys(DUTIES) as Duty[]).filter((duty) => !this.may(duty));
  }

  /** Records that the API refused *duty*. Only `forbidden` counts, because a four-eyes refusal does not concern the role. */
  note(duty: Duty, error: unknown): void {
    if (error instanceof Problem && error.code === "forbidden") this.#refused.add(duty);
  }
}
