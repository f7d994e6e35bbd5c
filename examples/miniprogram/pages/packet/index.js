/** A packet on its own page. A shared card opens this page. */

const { ask } = require("../../api");

Component({
  properties: { id: String, via: String },
  data: { packetId: "" },
  methods: {
    onLoad(options) {
      this.setData({ packetId: options.id, via: options.via ?? "" });
      // Claims are attributed to the user who shared the card.
      ask("GET", "/me").then(
        (me) => (this.me = me.user_token),
        () => undefined,
      );
    },

    know({ detail }) {
      // A card shows the sender's greeting, never an amount, and no details of an exclusive packet.
      this.greeting = detail.is_exclusive ? "" : detail.greeting;
    },

    onShareAppMessage() {
      const via = this.me ? `&via=${this.me}` : "";
      return {
        title: this.greeting || "你收到一个红包",
        path: `/pages/packet/index?id=${encodeURIComponent(this.data.packetId)}${via}`,
      };
    },
  },
});
