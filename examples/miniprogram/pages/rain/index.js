/** A campaign's packets as a rain. A hit grabs each packet once. */

const { ask, digits, money, now } = require("../../api");

Component({
  data: { title: "红包雨", note: "", sum: "", drops: [], isOver: false },
  methods: {
    onLoad({ campaign }) {
      this.campaign = campaign;
      this.wonFen = 0;
      return this.load();
    },

    onUnload() {
      clearTimeout(this.timer);
    },

    async load() {
      try {
        const found = await ask("GET", `/campaigns/${encodeURIComponent(this.campaign)}`);
        this.setData({ title: found.title, ...this.viewOf(found) });
      } catch (problem) {
        this.setData({ note: problem.text });
      }
    },

    viewOf({ state, starts_at_ms, packets }) {
      if (state === "paused") return { note: "活动暂停中，请稍后再来" };
      if (state === "ended" || (state === "on" && !packets.length)) return { note: "红包雨结束了", isOver: true };
      if (state === "upcoming") {
        const leftMs = Math.max(0, starts_at_ms - now()) + Math.random() * 400;
        this.timer = setTimeout(() => this.load(), Math.min(leftMs, 2 ** 31 - 1));
        return { note: `${new Date(starts_at_ms).toLocaleString()} 开抢` };
      }
      const drops = packets.map(({ packet_id }, at) => ({
        id: packet_id,
        state: "falling",
        left: 4 + ((at * 37) % 76),
        delay: (at % 12) * 0.4,
      }));
      return { note: "点中红包就能领", drops };
    },

    async tap(event) {
      const { at } = event.currentTarget.dataset;
      const drop = this.data.drops[at];
      if (drop.state !== "falling") return;
      this.setData({ [`drops[${at}].state`]: "asked" });
      try {
        const claim = await ask("POST", `/packets/${encodeURIComponent(drop.id)}/grab`, { body: {} });
        // A packet that was opened before is shown, but not counted again.
        if (claim.outcome === "claimed") this.wonFen += claim.amount_fen;
        wx.vibrateShort({ type: "light" });
        this.setData({
          [`drops[${at}].state`]: "won",
          [`drops[${at}].amount`]: digits(claim.amount_fen),
          sum: `抢到 ${money(this.wonFen)}`,
        });
      } catch (problem) {
        const isGone = ["packet_emptied", "packet_expired"].includes(problem.code);
        const isAgain = ["unavailable", "offline", "rate_limited"].includes(problem.code);
        this.setData({
          [`drops[${at}].state`]: isAgain ? "falling" : "missed",
          note: isGone ? "这个被抢光了" : problem.text,
        });
        if (problem.code === "quota_exhausted") this.setData({ isOver: true });
      }
      const isOver = this.data.drops.every(({ state }) => state === "won" || state === "missed");
      if (isOver) this.setData({ note: "红包雨结束了", isOver });
    },

    onShareAppMessage() {
      return { title: this.data.title, path: `/pages/rain/index?campaign=${this.campaign}` };
    },
  },
});
