/** Features of a payment provider on the page. The provider does not support a feature that is missing. */

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
  /** Whether users may import their name and picture from the app. */
  hasFaces?(config: Config): boolean;
}

/** Sharing from the app's menu, which a page can't open. */
export interface Sharing {
  /** Sets the menu's card for a packet. It never shows an amount or the details of an exclusive packet. */
  setCard(client: Client, shared: Shared, link: string): Promise<void>;
  /** Sets the menu's card for a view without a packet. */
  setLinkCard(client: Client, title: string, text: string, link: string): Promise<void>;
  /** Shows a picture under *view*, so that a long press can save or forward it. */
  showPicture(view: Element, source: string): void;
  pointAtMenu(): void;
}

/** Sign-in without a tap. Tokens have a hash as subject, and a name only if the user agreed. */
export interface SilentSignIn {
  depart(config: Config, path: string, isNamed?: boolean): void;
  /** Completes a sign-in if this page load comes from the provider. Otherwise returns undefined. */
  arrive(client: Client): Promise<Arrival | undefined>;
}

export interface AppPayment {
  /** Returns the link of the QR code that another device scans. */
  codeOf(payment: Schemas["Payment"]): string | null | undefined;
  /** Returns whether the payment was created for the payment form of the provider's app. */
  isForApp(payment: Schemas["Payment"]): boolean;
  pay(payment: Schemas["Payment"]): Promise<void>;
}

export interface Transfer {
  awaitsUser(withdrawal: Schemas["Withdrawal"]): boolean;
  canConfirm(): boolean;
  confirm(withdrawal: Schemas["Withdrawal"]): Promise<void>;
}

/** The account that a user links for withdrawals. */
export interface Account {
  find(client: Client): Promise<Schemas["Binding"]>;
  /** Redirects to the provider, which identifies the account. */
  ask(config: Config): Promise<void>;
  /** Links the account if this page load comes from the provider. Otherwise returns false. */
  bind(client: Client, config: Config): Promise<boolean>;
}
