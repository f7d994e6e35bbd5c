/** The page's first script: the visit begins while the app loads. */

import "./begin.ts";

void import("./app.ts");
