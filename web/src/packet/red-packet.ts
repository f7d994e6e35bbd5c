/** `<red-packet packet-id=...>`: one packet in all of its states, for our page and for other pages. */

import { html, LitElement, nothing, unsafeCSS, type PropertyValues } from "lit";

import { Client } from "../api/client.ts";
import { claimsOf } from "../claims.ts";
import { language, languageOf, speaking, Speaks } from "../i18n/language.ts";
import { p } from "../i18n/packet.ts";
import { inUnit, type Unit } from "../money.ts";
import { announcement, coverView } from "./cover.ts";
import { insideView } from "./inside.ts";
import { PacketFlow } from "./flow.ts";
import { onReturn } from "../returned.ts";
import { fetchFrom, unitOf } from "./origin.ts";
import { listen, type Listening } from "./speech.ts";
import { isOpen, type State } from "./states.ts";
import styles from "./packet.css?inline";

/** Events of the element. A `signin` event asks the page to sign in the viewer. */
export interface PacketEvents {
  claimed: CustomEvent<{ packet_id: string; amount_fen: number; share_no: number; is_repeat: boolean }>;
  refused: CustomEvent<{ packet_id: string; code: string }>;
}

const LEAVE_MS = 900;

export class RedPacket extends LitElement {
  static override styles = unsafeCSS(styles);
  static override properties = {
    packetId: { attribute: "packet-id" },
    api: {},
    language: { attribute: "language" },
    tokenOrigin: { attribute: "token-origin" },
    via: {},
    nickname: { attribute: false },
    avatarUrl: { attribute: false },
    token: { attribute: false },
    client: { attribute: false },
    isLeaving: { state: true },
    listening: { state: true },
    isBare: { state: true },
  };

  declare packetId: string;
  /** URL of the API. Default: `/api` on the page's own origin. */
  declare api: string;
  declare language: string | undefined;
  /** Origin of the windows that may set the token with a message. */
  declare tokenOrigin: string | undefined;
  /** User token of the user who shared the link. */
  declare via: string;
  /** The viewer's nickname. Default: the token's. */
  declare nickname: string | undefined;
  declare avatarUrl: string | null | undefined;
  declare token: string | undefined;
  /** Client of our own page. Other pages set a token instead. */
  declare client: Client | undefined;
  /** Whether the cover is still animating away. */
  declare isLeaving: boolean;
  declare listening: Listening | undefined;
  declare isBare: boolean;
  flow: PacketFlow | undefined;
  #shown: State = "loading";
  /** Unit of account on other pages. Our own page sets its unit itself. */
  #unit: Unit | undefined;
  #forget: (() => void) | undefined;

  constructor() {
    super();
    this.packetId = "";
    this.api = "/api";
    this.via = "";
    this.isLeaving = false;
    this.isBare = false;
    new Speaks(this);
  }

  override connectedCallback(): void {
    super.connectedCallback();
    window.addEventListener("message", this.#onMessage);
    this.#forget = onReturn(() => void this.flow?.refresh(), 0);
    if (this.hasUpdated) this.#restart();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    window.removeEventListener("message", this.#onMessage);
    this.#forget?.();
    this.listening?.stop();
    this.flow?.end();
  }

  override willUpdate(changed: PropertyValues): void {
    const isOther = ["packetId", "client", "api"].some((name) => changed.has(name));
    if (isOther || (changed.has("token") && holder(changed.get("token")) !== holder(this.token))) {
      this.#restart();
    }
    const nickname = this.nickname ?? claimsOf(this.token ?? "").nickname;
    if (this.flow) this.flow.viewer = { nickname, avatarUrl: this.avatarUrl };
  }

  override render() {
    return speaking(this.language ? languageOf(this.language) : undefined, () => inUnit(this.client ? undefined : this.#unit, () => this.#view()));
  }

  #view() {
    const flow = this.flow;
    if (!flow) return nothing;
    const showsInside = isOpen(flow.state);
    return html`
      <article class="packet" lang=${language()} data-state=${flow.state} aria-label=${p("packet")}>
        ${showsInside ? insideView(flow, this.#proofUrl) : nothing}
        ${!showsInside || this.isLeaving
          ? coverView(flow, {
              isLeaving: this.isLeaving,
              isListening: this.listening !== undefined,
              isBare: this.isBare,
              loseArt: () => (this.isBare = true),
              take: this.#take,
              listen: () => void this.#listen(),
              retry: () => void flow.load(),
              watch: this.#watch,
              signIn: () => this.#emit("signin", {}),
            })
          : nothing}
        <p class="unseen" role="status">${announcement(flow)}</p>
      </article>
    `;
  }

  /** URL of our page that checks the amounts. Undefined on our own page, which has another link. */
  get #proofUrl(): string | undefined {
    if (this.client || !this.api.endsWith("/api")) return undefined;
    return `${this.api.slice(0, -"/api".length)}/packets/${encodeURIComponent(this.packetId)}/proof`;
  }

  #restart(): void {
    this.flow?.end();
    this.flow = undefined;
    if (!this.packetId || !this.isConnected) return;
    const base = this.api;
    const client = this.client ?? new Client({ base, token: () => this.token, fetch: fetchFrom(base) });
    const flow = new PacketFlow({
      client,
      packetId: this.packetId,
      changed: () => this.#onChange(flow),
      isCalm: matchMedia("(prefers-reduced-motion: reduce)").matches,
      via: this.via,
      prepare: this.client ? () => Promise.resolve() : async () => void (this.#unit ??= await unitOf(base)),
    });
    this.flow = flow;
    this.#shown = "loading";
    this.isBare = false;
    void flow.load();
  }

  #onChange(flow: PacketFlow): void {
    if (flow !== this.flow) return;
    const { state } = flow;
    if (state !== this.#shown) {
      const wasAsked = this.#shown === "opening" || this.#shown === "confirming";
      if (wasAsked && state === "opened") this.#onOpened(flow);
      else if (wasAsked && flow.problem && state !== "confirming") {
        this.#emit("refused", { packet_id: this.packetId, code: flow.problem });
      }
      this.#shown = state;
    }
    this.dispatchEvent(new Event("change"));
    this.requestUpdate();
  }

  #onOpened(flow: PacketFlow): void {
    const { amount_fen, share_no } = flow.claim!;
    const is_repeat = flow.isRepeat;
    this.#emit("claimed", { packet_id: this.packetId, amount_fen, share_no, is_repeat });
    // Safari can't vibrate.
    if ("vibrate" in navigator) navigator.vibrate(30);
    this.isLeaving = true;
    setTimeout(() => (this.isLeaving = false), LEAVE_MS);
    this.#focus(".amount");
  }

  /** Moves the focus to *selector* for screen readers, because the tapped button is gone. */
  #focus(selector: string): void {
    void this.updateComplete.then(() => {
      this.renderRoot.querySelector<HTMLElement>(selector)?.focus({ preventScroll: true });
    });
  }

  #emit(name: string, detail: object): void {
    this.dispatchEvent(new CustomEvent(name, { detail, bubbles: true, composed: true }));
  }

  readonly #take = (event: Event) => {
    event.preventDefault();
    const field = this.renderRoot.querySelector<HTMLInputElement>("input[name=passphrase]");
    if (field && !field.value.trim()) {
      field.focus();
      return;
    }
    void this.flow?.take(field?.value.trim());
  };

  readonly #watch = () => {
    this.flow?.watch();
    this.#focus(".sorry");
  };

  async #listen(): Promise<void> {
    if (this.listening) {
      this.listening.stop();
      return;
    }
    const field = this.renderRoot.querySelector<HTMLInputElement>("input[name=passphrase]");
    this.listening = listen();
    const heard = await this.listening.heard;
    this.listening = undefined;
    if (!field?.isConnected || !heard) return;
    field.value = heard;
    void this.flow?.take(heard);
  }

  readonly #onMessage = (event: MessageEvent) => {
    if (!this.tokenOrigin || event.origin !== this.tokenOrigin) return;
    const data = event.data as { type?: unknown; token?: unknown } | null;
    if (data?.type === "red-packet:token" && typeof data.token === "string") {
      this.token = data.token;
    }
  };
}

/** Returns the user whom a token names. A renewed token for the same user does not reload the packet. */
function holder(token: unknown): string | undefined {
  return typeof token === "string" ? (claimsOf(token).sub ?? token) : undefined;
}

if (!customElements.get("red-packet")) customElements.define("red-packet", RedPacket);

