/** In a template: <red-packet :packet-id="id" :token="token" @claimed="onClaimed" />. */

import { createApp, h, ref } from "vue";

import { api, asked, tokenOf } from "./host.js";

const Shop = {
  setup() {
    const token = ref();
    const told = ref("");
    return () =>
      h("main", [
        h("h1", "A shop made with Vue"),
        h("red-packet", {
          "packet-id": asked.get("packet"),
          api,
          token: token.value,
          onSignin: async () => (token.value = await tokenOf(asked.get("user"))),
          onClaimed: ({ detail }) => (told.value = `claimed ${detail.amount_fen} fen`),
          onRefused: ({ detail }) => (told.value = `refused ${detail.code}`),
        }),
        h("p", { id: "told" }, told.value),
      ]);
  },
};

createApp(Shop).mount("#root");
