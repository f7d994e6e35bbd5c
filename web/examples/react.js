/** React 19 sets properties of custom elements and listens to their events. */

import { createElement as h, useState } from "react";
import { createRoot } from "react-dom/client";

import { api, query, tokenOf } from "./host.js";

function Shop() {
  const [token, setToken] = useState();
  const [message, setMessage] = useState("");
  return h(
    "main",
    null,
    h("h1", null, "A shop made with React"),
    h("red-packet", {
      "packet-id": query.get("packet"),
      api,
      token,
      onsignin: async () => setToken(await tokenOf(query.get("user"))),
      onclaimed: ({ detail }) => setMessage(`claimed ${detail.amount_fen} fen`),
      onrefused: ({ detail }) => setMessage(`refused ${detail.code}`),
    }),
    h("p", { id: "message" }, message),
  );
}

createRoot(document.getElementById("root")).render(h(Shop));
