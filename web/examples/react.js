/** React 19 sets properties of custom elements and listens to their events. */

import { createElement as h, useState } from "react";
import { createRoot } from "react-dom/client";

import { api, asked, tokenOf } from "./host.js";

function Shop() {
  const [token, setToken] = useState();
  const [told, setTold] = useState("");
  return h(
    "main",
    null,
    h("h1", null, "A shop made with React"),
    h("red-packet", {
      "packet-id": asked.get("packet"),
      api,
      token,
      onsignin: async () => setToken(await tokenOf(asked.get("user"))),
      onclaimed: ({ detail }) => setTold(`claimed ${detail.amount_fen} fen`),
      onrefused: ({ detail }) => setTold(`refused ${detail.code}`),
    }),
    h("p", { id: "told" }, told),
  );
}

createRoot(document.getElementById("root")).render(h(Shop));
