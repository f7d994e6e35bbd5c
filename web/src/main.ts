/** The page's first script: the visit begins while the app loads. */

import "./begin.ts";

import("./app.ts").catch(() => document.querySelector(".late")?.classList.add("is-due"));
