/** A campaign as form values, and the writes that make the API's campaign match the form. */

import type { Schemas } from "../api/client.ts";
import { CAMPAIGN_ID } from "../api/ids.ts";
import { BOUNDS, PRIZE_IMAGE_PATTERN } from "../api/limits.ts";
import { amountProblem, digits, parseAmount, plainAmount } from "../money.ts";
import { now } from "../now.ts";
import type { OpWord } from "./words.ts";

export type Campaign = Schemas["CampaignAdmin"];
export type CampaignBody = Schemas["CampaignBody"];
export type Prize = Schemas["PrizeAdmin"];
type PrizeBody = Schemas["PrizeBody"];

export interface PrizeForm {
  id: string;
  title: string;
  kind: Prize["kind"];
  percent: string;
  total: string;
  per_day: string;
  amount: string;
  image_url: string;
  once: boolean;
  is_on: boolean;
}

/** Texts in the form's fields. Times are in the campaign's time zone, like 2027-01-29T20:00. */
export interface PlanForm {
  id: string;
  title: string;
  description: string;
  starts: string;
  ends: string;
  timezone: string;
  budget: string;
  quota: string;
  attempts: string;
  wins: string;
  passphrase: string;
  prizes: PrizeForm[];
}

/** One write. *prize* is the id of the prize that the write changes, if any. */
export interface Step {
  method: "PUT" | "POST";
  path: string;
  body: Record<string, unknown>;
  prize?: string;
}

/** Sum of the weights that the form writes. A weight of 1 is a thousandth of a percent. */
const SCALE = 100_000;
/** The API's bounds of integers, keyed by the form's field name. */
const COUNTS = {
  quota: BOUNDS.CampaignBody.quota_per_user,
  attempts: BOUNDS.RulesBody.attempts_per_user_per_day,
  wins: BOUNDS.RulesBody.wins_per_user_per_day,
  total: BOUNDS.PrizeBody.total,
  per_day: BOUNDS.PrizeBody.per_day,
};

/** Returns the bounds of the field *name*, for its error text. */
export function allowedIn(name: string): { min: number; max: number } {
  const [min, max] = new Map<string, readonly [number, number]>(Object.entries(COUNTS)).get(name.split(".").at(-1)!) ?? [0, 100];
  return { min, max };
}

function isCount(name: keyof typeof COUNTS, text: string): boolean {
  const [min, max] = COUNTS[name];
  return /^\d+$/.test(text) && Number(text) >= min && Number(text) <= max;
}

const ID = new RegExp(`^${CAMPAIGN_ID}$`);

export const isId = (text: string) => ID.test(text);

/** Pattern of a link or of the path of an uploaded picture. */
const PICTURE = new RegExp(PRIZE_IMAGE_PATTERN);

const HOUR_MS = 3_600_000;

export function emptyPlan(nowMs: number, timezone: string, id: string): PlanForm {
  const nextHourMs = Math.ceil(nowMs / HOUR_MS) * HOUR_MS;
  return {
    id,
    title: "",
    description: "",
    starts: localText(nextHourMs, timezone),
    ends: localText(nextHourMs + 24 * HOUR_MS, timezone),
    timezone,
    budget: "",
    quota: "1",
    attempts: "3",
    wins: "0",
    passphrase: "",
    prizes: [],
  };
}

export function emptyPrize(id: string): PrizeForm {
  return {
    ...{ id, title: "", kind: "goods", percent: "", total: "", per_day: "0" },
    ...{ amount: "", image_url: "", once: false, is_on: true },
  };
}

export function planOf(campaign: Campaign): PlanForm {
  return {
    id: campaign.campaign_id,
    title: campaign.title,
    description: campaign.description,
    starts: localText(campaign.starts_at_ms, campaign.timezone),
    ends: localText(campaign.ends_at_ms, campaign.timezone),
    timezone: campaign.timezone,
    budget: campaign.budget_fen ? digits(campaign.budget_fen) : "",
    quota: String(campaign.quota_per_user),
    attempts: String(campaign.rules.attempts_per_user_per_day),
    wins: String(campaign.rules.wins_per_user_per_day),
    passphrase: campaign.passphrase ?? "",
    prizes: campaign.prizes.map((prize) => ({
      id: prize.prize_id,
      title: prize.title,
      kind: prize.kind,
      percent: percentOf(campaign, prize),
      total: String(prize.total),
      per_day: String(prize.per_day),
      amount: prize.amount_fen ? digits(prize.amount_fen) : "",
      image_url: prize.image_url ?? "",
      once: prize.once_per_user,
      is_on: prize.status === "on",
    })),
  };
}

/** Returns a prize's chance in a draw, if all active prizes have stock. */
export function percentOf(campaign: Campaign, prize: Prize): string {
  const on = campaign.prizes.filter((other) => other.status === "on" || other === prize);
  const all = on.reduce((sum, other) => sum + other.weight, campaign.miss_weight);
  return percentText(all ? prize.weight / all : 0);
}

export function percentText(share: number): string {
  return String(Number((100 * share).toFixed(3)));
}

/** Parses a percentage with a decimal point or comma. Returns NaN if *text* is invalid. */
export function percentIn(text: string): number {
  const number = plainAmount(text);
  return /^\d+(?:[.,]\d+)?$/.test(number) ? Number(number.replace(",", ".")) : NaN;
}

/** Returns the percentage of misses, which is negative if the prizes' percentages exceed 100. */
export function missPercent(prizes: readonly PrizeForm[]): number {
  const shares = prizes.filter((prize) => prize.is_on).map((prize) => percentIn(prize.percent) || 0);
  return Number((100 - shares.reduce((sum, share) => sum + share, 0)).toFixed(3));
}

/** Returns a form's campaign as the API would show it to users, before its start or while it runs. */
export function shownOf(form: PlanForm, state: "upcoming" | "on"): Schemas["Campaign"] {
  const [starts, ends] = [form.starts, form.ends].map((text) => atMs(text, form.timezone) ?? now());
  const sum = Math.max(100, 100 - missPercent(form.prizes));
  return {
    campaign_id: form.id,
    title: form.title.trim() || "…",
    description: form.description.trim(),
    // A running campaign has started. An upcoming one starts late enough to preview the countdown.
    starts_at_ms: state === "on" ? now() : Math.max(starts!, now() + HOUR_MS),
    ends_at_ms: Math.max(ends!, now() + 2 * HOUR_MS),
    timezone: isZone(form.timezone) ? form.timezone : "UTC",
    rules: {
      attempts_per_user_per_day: Number(form.attempts) || 0,
      wins_per_user_per_day: Number(form.wins) || 0,
      // Only signed-in users see these limits.
      ...{ guaranteed_after_misses: 0, helps_per_user_per_day: 0, helps_given_per_user_per_day: 0 },
    },
    quota_per_user: Number(form.quota) || 0,
    ...{ when_sold_out: "redistribute", amounts_shown: "end", status: "on", state, day: "", commitment: null },
    prizes: form.prizes.filter(({ is_on: isOn }) => isOn).map((prize) => shownPrize(prize, sum)),
    // With a budget, the campaign can have a rain.
    packets: parseAmount(form.budget) ? [{ packet_id: PREVIEWED, count: 1 }] : [],
    rains: [],
  };
}

/** Id of a packet that does not exist in the API. */
const PREVIEWED = "preview".padEnd(31, "-");

/** Returns a prize for the preview. Percentages are scaled by their *sum* if it exceeds 100. */
function shownPrize(prize: PrizeForm, sum: number): Schemas["Prize"] {
  const percent = percentIn(prize.percent) || 0;
  const image = prize.image_url.trim();
  return {
    ...{ prize_id: prize.id, title: prize.title.trim() || "…", kind: prize.kind, once_per_user: prize.once },
    ...{ description: "", attributes: {}, status: "on", is_sold_out: false, weight: percent },
    amount_fen: prize.kind === "packet" ? (parseAmount(prize.amount) ?? null) : null,
    image_url: PICTURE.test(image) ? image : null,
    probability: percent / sum,
  };
}

/** Returns the form's errors by field name. */
export function mistakes(form: PlanForm, isNew: boolean): Record<string, OpWord> {
  const errors: Record<string, OpWord> = {};
  const check = (name: string, isRight: boolean, word: OpWord) => {
    if (!isRight) errors[name] = word;
  };
  if (isNew) check("id", isId(form.id), "bad_id");
  check("title", form.title.trim() !== "", "needed");
  const starts = atMs(form.starts, form.timezone);
  const ends = atMs(form.ends, form.timezone);
  check("timezone", isZone(form.timezone), "bad_zone");
  if (isZone(form.timezone)) {
    check("starts", starts !== undefined, "needed");
    check("ends", ends !== undefined && ends > (starts ?? 0), "bad_end");
  }
  check("budget", !form.budget.trim() || parseAmount(form.budget) !== undefined, "unread_amount");
  for (const name of ["quota", "attempts", "wins"] as const) check(name, isCount(name, form[name]), "bad_count");
  form.prizes.forEach((prize, at) => {
    check(`prizes.${at}.title`, prize.title.trim() !== "", "needed");
    check(`prizes.${at}.percent`, percentIn(prize.percent) <= 100, "bad_percent");
    check(`prizes.${at}.total`, prize.kind === "code" || isCount("total", prize.total), "bad_count");
    check(`prizes.${at}.per_day`, isCount("per_day", prize.per_day), "bad_count");
    const problem = prize.kind === "packet" && amountProblem(prize.amount);
    if (problem) errors[`prizes.${at}.amount`] = problem;
    const isLink = !prize.image_url.trim() || PICTURE.test(prize.image_url.trim());
    check(`prizes.${at}.image_url`, isLink, "bad_link");
  });
  if (missPercent(form.prizes) < 0) errors[`prizes.${form.prizes.length - 1}.percent`] = "too_much";
  return errors;
}

/** Returns a body that changes nothing. Edits start from it, because a PUT resets most omitted fields. */
export function bodyOf(campaign: Campaign): CampaignBody {
  const { title, description, starts_at_ms, ends_at_ms, timezone, miss_weight, rules } = campaign;
  const { when_sold_out, passphrase, quota_per_user, amounts_shown, required_claims, status } = campaign;
  return {
    ...{ title, description, starts_at_ms, ends_at_ms, timezone, miss_weight, rules, when_sold_out },
    ...{ passphrase, quota_per_user, amounts_shown, required_claims, status },
  };
}

/**
 * Returns the writes that turn *before*, or no campaign, into the form's campaign with *status*.
 *
 * A new campaign stays a draft until its prizes exist. One with the status "on" pauses while odds change. After an
 * interruption, the same form yields the missing writes.
 */
export function stepsTo(
  before: Campaign | undefined,
  form: PlanForm,
  status: Campaign["status"],
  maySetBudget: boolean,
): Step[] {
  const path = `/admin/campaigns/${form.id}`;
  const weights = weightsOf(before, form);
  const steps: Step[] = [];
  const wanted: CampaignBody = {
    ...(before ? bodyOf(before) : { timezone: form.timezone }),
    title: form.title.trim(),
    description: form.description.trim(),
    starts_at_ms: atMs(form.starts, form.timezone)!,
    ends_at_ms: atMs(form.ends, form.timezone)!,
    miss_weight: weights.miss,
    rules: {
      ...before?.rules,
      attempts_per_user_per_day: Number(form.attempts),
      wins_per_user_per_day: Number(form.wins),
    },
    passphrase: form.passphrase.trim() || null,
    quota_per_user: Number(form.quota),
    status,
  };
  const budget = maySetBudget && form.budget.trim() ? parseAmount(form.budget) : undefined;
  const changed = form.prizes.filter((prize) => {
    const saved = before?.prizes.find((other) => other.prize_id === prize.id);
    return !saved || !isSame(prizeBodyOf(saved), prizeBody(prize, weights.of(prize), saved));
  });
  const areOddsMoving = changed.some((prize) => {
    const saved = before?.prizes.find((other) => other.prize_id === prize.id);
    return saved?.weight !== weights.of(prize);
  });
  if (!before) steps.push({ method: "PUT", path, body: { ...wanted, status: "off" } });
  else if (before.status === "on" && areOddsMoving) {
    steps.push({ method: "PUT", path, body: { ...bodyOf(before), status: "off" } });
  }
  for (const prize of changed) {
    const saved = before?.prizes.find((other) => other.prize_id === prize.id);
    const body = { ...prizeBody(prize, weights.of(prize), saved) };
    steps.push({ method: "PUT", path: `${path}/prizes/${prize.id}`, body, prize: prize.id });
  }
  for (const prize of form.prizes) {
    const saved = before?.prizes.find((other) => other.prize_id === prize.id);
    const delta = saved && saved.kind !== "code" ? Number(prize.total) - saved.total : 0;
    if (delta) {
      steps.push({ method: "POST", path: `${path}/prizes/${prize.id}/stock`, body: { delta }, prize: prize.id });
    }
  }
  const current = before && { ...bodyOf(before), budget_fen: before.budget_fen };
  const last = { ...wanted, ...(budget !== undefined && { budget_fen: budget }) };
  const isDraft = !before && status === "off" && budget === undefined;
  if (!isDraft && (steps.length || !current || !isSame(current, { ...current, ...last }))) {
    steps.push({ method: "PUT", path, body: last });
  }
  return steps;
}

/** Returns the weights, which stay unchanged while the percentages and the set of active prizes do. */
function weightsOf(before: Campaign | undefined, form: PlanForm) {
  const saved = before && planOf(before).prizes;
  const isKept =
    saved?.length === form.prizes.length &&
    saved.every((old, at) => percentIn(old.percent) === percentIn(form.prizes[at]!.percent) && old.is_on === form.prizes[at]!.is_on);
  const of = (prize: PrizeForm) =>
    isKept
      ? before!.prizes.find((other) => other.prize_id === prize.id)!.weight
      : Math.round((percentIn(prize.percent) / 100) * SCALE);
  const on = form.prizes.filter((prize) => prize.is_on);
  const miss = isKept ? before!.miss_weight : SCALE - on.reduce((sum, other) => sum + of(other), 0);
  return { of, miss: Math.max(0, miss) };
}

function prizeBody(prize: PrizeForm, weight: number, saved: Prize | undefined): PrizeBody {
  return {
    ...(saved && prizeBodyOf(saved)),
    title: prize.title.trim(),
    kind: prize.kind,
    weight,
    // A separate write changes the stock of an existing prize.
    total: saved ? saved.total : prize.kind === "code" ? 0 : Number(prize.total),
    per_day: Number(prize.per_day),
    amount_fen: prize.kind === "packet" ? parseAmount(prize.amount)! : null,
    image_url: prize.image_url.trim() || null,
    once_per_user: prize.once,
    status: prize.is_on ? "on" : "off",
  };
}

function prizeBodyOf(prize: Prize): PrizeBody {
  const { title, kind, weight, total, per_day, per_hour, amount_fen, image_url } = prize;
  const { description, attributes, once_per_user, status } = prize;
  return {
    ...{ title, kind, weight, total, per_day, per_hour, amount_fen, image_url },
    ...{ description, attributes, once_per_user, status },
  };
}

function isSame(left: object, other: object): boolean {
  const text = (value: object) => JSON.stringify(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
  return text(left) === text(other);
}

export function isZone(name: string): boolean {
  try {
    return !!new Intl.DateTimeFormat("en", { timeZone: name });
  } catch {
    return false;
  }
}

/** Formats a time in a time zone for a datetime field. */
export function localText(ms: number, timezone: string): string {
  return new Date(ms + offsetMs(ms, timezone)).toISOString().slice(0, 16);
}

/** Parses a datetime field in a time zone. Returns undefined if the text or the zone is invalid. */
export function atMs(text: string, timezone: string): number | undefined {
  const asUtc = Date.parse(`${text}Z`);
  if (Number.isNaN(asUtc) || !isZone(timezone)) return undefined;
  // Near a clock change, the first offset may be wrong. Use the offset at the guessed time.
  const guess = asUtc - offsetMs(asUtc, timezone);
  return asUtc - offsetMs(guess, timezone);
}

function offsetMs(ms: number, timeZone: string): number {
  const pieces = new Intl.DateTimeFormat("en-US", {
    ...({ timeZone, hourCycle: "h23", year: "numeric", month: "2-digit", day: "2-digit" } as const),
    ...({ hour: "2-digit", minute: "2-digit", second: "2-digit" } as const),
  }).formatToParts(ms);
  const of = (type: string) => Number(pieces.find((piece) => piece.type === type)!.value);
  const local = Date.UTC(of("year"), of("month") - 1, of("day"), of("hour"), of("minute"), of("second"));
  return local - Math.floor(ms / 1000) * 1000;
}

/** State of a campaign, derived from its status and the time. */
export type State = "draft" | "upcoming" | "running" | "paused" | "ended";

export function stateOf(
  campaign: Pick<Campaign, "status" | "starts_at_ms" | "ends_at_ms">,
  nowMs = now(),
): State {
  if (nowMs >= campaign.ends_at_ms) return "ended";
  const isUpcoming = nowMs < campaign.starts_at_ms;
  if (campaign.status === "off") return isUpcoming ? "draft" : "paused";
  return isUpcoming ? "upcoming" : "running";
}
