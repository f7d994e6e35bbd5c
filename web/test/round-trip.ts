/** Sends, grabs and reads a packet with the released types. Arguments: the API's URL and two tokens. */

import createClient from "openapi-fetch";

import type { paths } from "../src/api/schema.ts";

const [baseUrl = "", sender, guest] = process.argv.slice(2);
const as = (token = "") =>
  createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${token}` } });

const sent = await as(sender).POST("/packets", {
  params: { header: { "Idempotency-Key": "typescript" } },
  body: { kind: "lucky", total_fen: 100, count: 1 },
});
if (!sent.data) throw new Error(JSON.stringify(sent.error));
const path = { packet_id: sent.data.packet_id };
const grabbed = await as(guest).POST("/packets/{packet_id}/grab", { params: { path } });
if (!grabbed.data) throw new Error(JSON.stringify(grabbed.error));
const read = await as(guest).GET("/packets/{packet_id}", { params: { path } });
const claim = "amount_fen" in grabbed.data ? grabbed.data : undefined;
console.log(JSON.stringify([claim?.amount_fen, read.data?.mine?.amount_fen, read.data?.greeting]));
