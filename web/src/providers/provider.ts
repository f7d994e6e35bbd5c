/** A payment provider on the page. A part that is missing does not exist at this provider. */

import type { Client, Schemas } from "../api/client.ts";
import type { Config } from "../config.ts";
import type { Written } from "../i18n/language.ts";
import type { Arrival } from "../oidc.ts";
import type { Cover } from "../packet/states.ts";

type AppWord = "own_face" | "pay_here" | "pay_in_app" | "confirm_in_app" | "open_in_app";
type AccountWord = "bind" | "bound" | "opens";
export type Word = "name" | "pay" | AppWord | AccountWord;
export type Words = Record<"name" | "pay", string> & Partial<Record<Word, string>>;
export type Shared = Pick<Cover, "is_exclusive" | "greeting" | "nickname" | "cover_url">;

export interface Provider {
  readonly words: Record<Written, Words>;
  readonly app?: App;
  readonly payment?: AppPayment;
  readonly transfer?: Transfer;
  readonly account?: Account;
}

/** The provider's own app, whose browser shows this page to its users. */
export interface App {
  isHere(): boolean;
  isSetUp(config: Config): boolean;
  speech?(): Promise<{ offer(client: Client): void }>;
  sharing(): Promise<Sharing>;
  signIn?(): Promise<SilentSignIn>;
  /** Whether its users may have the name and picture that they have there. */
  hasFaces?(config: Config): boolean;
}

/** Sharing from the app, whose menu no page can open. */
export interface Sharing {
  /** Sets what the menu shares of a packet: never an amount, and of an exclusive packet nothing. */
  setCard(client: Client, shared: Shared, link: string): Promise<void>;
  /** Sets what the menu shares of another page. */
  setLinkCard(client: Client, title: string, text: string, link: string): Promise<void>;
  /** Shows a picture under *view*, for the long press that saves or forwards it. */
  showPicture(view: Element, source: string): void;
  pointAtMenu(): void;
}

/** Sign-in without a tap; it has no name unless the user agrees, and the subject of its tokens is a hash. */
export interface SilentSignIn {
  depart(config: Config, path: string, isNamed?: boolean): void;
  /** Returns the sign-in that this page load completes; undefined if it comes from elsewhere. */
  arrive(client: Client): Promise<Arrival | undefined>;
}

export interface AppPayment {
  /** Code that another device scans. */
  codeOf(payment: Schemas["Payment"]): string | null | undefined;
  /** Whether the payment was made for the app's own form. */
  isForApp(payment: Schemas["Payment"]): boolean;
  pay(payment: Schemas["Payment"]): Promise<void>;
}

export interface Transfer {
  awaitsUser(withdrawal: Schemas["Withdrawal"]): boolean;
  canConfirm(): boolean;
  confirm(withdrawal: Schemas["Withdrawal"]): Promise<void>;
}

/** The account that a user binds for withdrawals. */
export interface Account {
  find(client: Client): Promise<Schemas["Binding"]>;
  /** Leaves for the provider, which names the account. */
  ask(config: Config): Promise<void>;
  /** Binds the account that this page load comes back with; false if it comes from elsewhere. */
  bind(client: Client, config: Config): Promise<boolean>;
}
