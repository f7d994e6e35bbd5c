/** In a template: <red-packet :packet-id="id" :token="token" @claimed="onClaimed" />. */

import { createApp, h, ref } from "vue";

import { api, query, tokenOf } from "./host.js";

const Shop = {
  setup() {
    const token = ref();
    const message = ref("");
    return () =>
      h("main", [
        h("h1", "A shop made with Vue"),
        h("red-packet", {
          "packet-id": query.get("packet"),
          api,
          token: token.value,
          onSignin: async () => (token.value = await tokenOf(query.get("user"))),
          onClaimed: ({ detail }) => (message.value = `claimed ${detail.amount_fen} fen`),
          onRefused: ({ detail }) => (message.value = `refused ${detail.code}`),
        }),
        h("p", { id: "message" }, message.value),
      ]);
  },
};

createApp(Shop).mount("#root");
