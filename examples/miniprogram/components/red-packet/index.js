/** One packet: its cover and coin, then the amount and the list of claims. */

const { ask, digits, money, now, pause, unit } = require("../../api");

const LOOK_MS = 3000;
const TURN_MS = 900;

Component({
  properties: {
    packetId: { type: String, value: "", observer: "load" },
    /** User token of the user who shared the link. */
    via: { type: String, value: "" },
  },
  data: {
    state: "loading", // waiting, ready, opening, admitted, opened, sent, over, refused
    cover: null,
    amount: "",
    unit: unit.symbol,
    note: "",
    summary: "",
    claims: [],
  },
  lifetimes: {
    detached() {
      clearTimeout(this.timer);
      this.isGone = true;
    },
  },
  pageLifetimes: {
    show() {
      if (this.data.cover) this.look();
    },
    hide() {
      clearTimeout(this.timer);
    },
  },
  methods: {
    async load() {
      if (!this.data.packetId) return;
      try {
        const packet = await ask("GET", `/packets/${encodeURIComponent(this.data.packetId)}`);
        this.show(packet);
      } catch (problem) {
        this.setData({ state: "refused", note: problem.text });
      }
    },

    /** Shows the viewer's state. */
    show(packet) {
      const state = stateOf(packet);
      const { greeting, sender, cover_url, needs_passphrase, kind, is_exclusive } = packet;
      this.setData({
        state,
        cover: { greeting, cover_url, needs_passphrase, from: `${sender.nickname}的红包` },
        amount: packet.mine ? digits(packet.mine.amount_fen) : "",
        note: noteOf(state, packet) || (kind === "lucky" ? "拼手气红包" : "普通红包"),
        ...listOf(packet),
      });
      this.triggerEvent("known", { greeting, is_exclusive, state });
      if (state === "waiting") this.wait(packet.starts_at_ms);
      else this.look();
    },

    wait(startsAtMs) {
      clearTimeout(this.timer);
      // Jitter, so that waiting users tap at slightly different times.
      const leftMs = Math.max(0, startsAtMs - now()) + Math.random() * 400;
      this.timer = setTimeout(() => this.load(), Math.min(leftMs, 2 ** 31 - 1));
    },

    type(event) {
      this.passphrase = event.detail.value;
    },

    /** Handles the tap: grabs, or opens after an admission. */
    async take() {
      const { packetId, via, state, cover } = this.data;
      if (state !== "ready" && state !== "admitted") return;
      if (cover.needs_passphrase && !this.passphrase) return this.setData({ note: "请先输入口令" });
      this.setData({ state: "opening", note: "正在拆…" });
      const sharer = via ? { via } : {};
      const [path, body] = this.grabToken
        ? ["open", { grab_token: this.grabToken, ...sharer }]
        : ["grab", { ...sharer, ...(cover.needs_passphrase ? { passphrase: this.passphrase } : {}) }];
      try {
        const asked = ask("POST", `/packets/${encodeURIComponent(packetId)}/${path}`, { body });
        const [claim] = await Promise.all([asked, pause(TURN_MS)]);
        this.grabToken = claim.grab_token;
        if (claim.grab_token) return this.setData({ state: "admitted", note: "抢到了！快拆开" });
        this.setData({ state: "opened", amount: digits(claim.amount_fen), note: "已存入余额" });
        wx.vibrateShort({ type: "medium" });
        this.triggerEvent("claimed", claim);
        this.look();
      } catch (problem) {
        this.grabToken = undefined;
        const isOver = ["gone", "expired"].includes(problem.state);
        const isOff = ["refused", "missing"].includes(problem.state);
        const next = isOver ? "over" : isOff ? "refused" : "ready";
        this.setData({ state: next, note: problem.text });
        this.triggerEvent("refused", { code: problem.code });
        if (isOver) this.look();
      }
    },

    /** Updates the list while the packet changes and the page is visible. */
    async look() {
      clearTimeout(this.timer);
      if (!["opened", "sent", "over"].includes(this.data.state)) return;
      let isOpen = true;
      try {
        // The API counts a read without a query as a visit.
        const packet = await ask("GET", `/packets/${encodeURIComponent(this.data.packetId)}?limit=20`);
        isOpen = packet.status === "open";
        if (!this.isGone) this.setData(listOf(packet));
      } catch {
        // Ignore the failure, because the next read may succeed.
      }
      if (isOpen && !this.isGone) this.timer = setTimeout(() => this.look(), LOOK_MS);
    },
  },
});

function stateOf(packet) {
  if (packet.mine) return "opened";
  if (packet.status !== "open") return "over";
  if (packet.is_sender) return "sent";
  return packet.starts_at_ms > now() ? "waiting" : "ready";
}

function noteOf(state, packet) {
  if (state === "opened") return packet.mine.payout === "settled" ? "已存入余额" : "正在存入余额…";
  if (state === "sent") return `还剩 ${packet.remaining_count} 个`;
  if (state === "over") return packet.remaining_count ? "红包已结束" : "手慢了，红包派完了";
  return state === "waiting" ? `${new Date(packet.starts_at_ms).toLocaleString()} 开抢` : "";
}

function listOf({ claims, claimed_count, count, claimed_fen, total_fen }) {
  const sum = claimed_fen === null ? "金额结束后揭晓" : `共 ${digits(claimed_fen)}/${money(total_fen)}`;
  return {
    summary: `已领取 ${claimed_count}/${count} 个 · ${sum}`,
    claims: claims.map((claim) => ({
      no: claim.share_no,
      name: claim.nickname,
      amount: claim.amount_fen === null ? "" : money(claim.amount_fen),
      isLuckiest: claim.is_luckiest,
    })),
  };
}
