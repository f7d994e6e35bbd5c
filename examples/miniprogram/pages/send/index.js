/** Sends a packet that its sender pays for with WeChat Pay. */

const { ask, fenOf, money, newKey, pause } = require("../../api");

const DRAFT = "redpacket.draft";
/** In-memory copy of the stored send, because the storage may be full. */
let draft;
const PAID_LOOKS = 30;

Component({
  data: { isLucky: true, sum: "", isSending: false, note: "没领完的，24 小时后退回" },
  methods: {
    type(event) {
      this.form = { ...this.form, [event.currentTarget.dataset.name]: event.detail.value };
      const fen = fenOf(this.form.total ?? "");
      this.setData({ sum: fen ? ` ${money(fen)}` : "" });
    },

    turn(event) {
      this.setData({ isLucky: event.detail.value });
    },

    async send() {
      const { total = "", count = "", greeting = "" } = this.form ?? {};
      const body = {
        kind: this.data.isLucky ? "lucky" : "equal",
        total_fen: fenOf(total),
        count: Number(count),
        pay_with: "wechat",
        pay_method: "jsapi",
        ...(greeting ? { greeting } : {}),
      };
      if (total.trim() && !body.total_fen) return this.setData({ note: `读不出“${total}”，请写成 88.88 这样` });
      if (!body.total_fen || !body.count) return this.setData({ note: "请填写金额和个数" });
      this.setData({ isSending: true, note: "" });
      try {
        const sent = await ask("POST", "/packets", await keptOf(body));
        await this.pay(sent);
      } catch (problem) {
        this.setData({ note: problem.text ?? "还没有付款，请再试一次" });
      }
      this.setData({ isSending: false });
    },

    async pay(sent) {
      const payment = `/me/payments/${sent.payment_id}`;
      const prompt = sent.wechat ?? (await ask("GET", payment)).wechat;
      if (!prompt) throw { text: "微信支付没有回应，请再试一次" };
      const { timeStamp, nonceStr, package: order, signType, paySign } = prompt;
      await new Promise((success, fail) =>
        wx.requestPayment({ timeStamp, nonceStr, package: order, signType, paySign, success, fail }),
      );
      // Only the API knows the outcome: WeChat may say "ok" before the money arrives.
      for (let looks = 0; looks < PAID_LOOKS; looks += 1) {
        const { status } = await ask("GET", payment);
        if (status === "paid") {
          forget();
          wx.redirectTo({ url: `/pages/packet/index?id=${sent.packet_id}` });
          return;
        }
        if (status !== "pending") forget();
        if (status !== "pending") throw { text: "这次付款已关闭，请重新发" };
        await pause(2000);
      }
      throw { text: "正在确认付款，稍后可以再点一次" };
    },
  },
});

/** Keeps the key of an unchanged form, so that a retry after a lost response sends no second packet. */
async function keptOf(body) {
  draft ??= attempt(() => wx.getStorageSync(DRAFT));
  if (draft && JSON.stringify(draft.body) === JSON.stringify(body)) return draft;
  draft = { key: await newKey(), body };
  attempt(() => wx.setStorageSync(DRAFT, draft));
  return draft;
}

function forget() {
  draft = undefined;
  attempt(() => wx.removeStorageSync(DRAFT));
}

/** Calls a storage function that may fail if the storage is full or broken. */
function attempt(work) {
  try {
    return work();
  } catch {
    return undefined;
  }
}
