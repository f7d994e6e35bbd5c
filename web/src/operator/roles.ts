/** What an operator may do, by the scopes of their token; the API decides, this only hides. */

import { Problem } from "../api/problems.ts";

export type Role = "admin" | "operate" | "treasury" | "audit";
export const ROLES: readonly Role[] = ["admin", "operate", "treasury", "audit"];

/** Each with the roles that its routes let in, besides `admin`. */
const DUTIES = {
  read: ["operate", "treasury", "audit"],
  switch: ["operate"],
  preheat: ["operate"],
  decide_winner: ["operate"],
  stock_goods: ["operate"],
  stock_cash: ["treasury"],
  deposit: ["treasury"],
  see_approvals: ["treasury", "audit"],
  approve: ["treasury"],
  see_journal: ["audit"],
} as const satisfies Record<string, readonly Role[]>;

export type Duty = keyof typeof DUTIES;

export function rolesOf(scope: string): Role[] {
  const scopes = scope.split(" ");
  return ROLES.filter((role) => scopes.includes(`hongbao/${role}`));
}

/** The duties of one person, less those that the API has refused them since. */
export class Duties {
  readonly roles: readonly Role[];
  readonly #refused = new Set<Duty>();

  constructor(scope: string) {
    this.roles = rolesOf(scope);
  }

  may(duty: Duty): boolean {
    const allowed: readonly Role[] = DUTIES[duty];
    const isOfRole = this.roles.some((role) => role === "admin" || allowed.includes(role));
    return isOfRole && !this.#refused.has(duty);
  }

  /** Those that the role or the API keeps from them. */
  get missing(): Duty[] {
    return (Object.keys(DUTIES) as Duty[]).filter((duty) => !this.may(duty));
  }

  /** Notes that the API refused *duty*, if *error* says so; a refusal for four eyes is not about the role. */
  note(duty: Duty, error: unknown): void {
    if (error instanceof Problem && error.code === "forbidden") this.#refused.add(duty);
  }
}
