/** An event as an iCalendar file (RFC 5545), with a reminder. */

import { now } from "../now.ts";

const REMINDER_MIN = 10;

export interface Event {
  id: string;
  title: string;
  link: string;
  starts_at_ms: number;
  ends_at_ms: number;
}

export function calendarOf(event: Event, nowMs = now()): string {
  return [
    "BEGIN:VCALENDAR",
    "VERSION:2.0",
    "PRODID:-//redpacket//page//EN",
    "BEGIN:VEVENT",
    `UID:${event.id}@${new URL(event.link).hostname}`,
    `DTSTAMP:${stamp(nowMs)}`,
    `DTSTART:${stamp(event.starts_at_ms)}`,
    `DTEND:${stamp(event.ends_at_ms)}`,
    `SUMMARY:${escaped(event.title)}`,
    `URL:${event.link}`,
    "BEGIN:VALARM",
    "ACTION:DISPLAY",
    `DESCRIPTION:${escaped(event.title)}`,
    `TRIGGER:-PT${REMINDER_MIN}M`,
    "END:VALARM",
    "END:VEVENT",
    "END:VCALENDAR",
    "",
  ].join("\r\n");
}

/** 2027-01-05T12:00:00.000Z -> 20270105T120000Z */
function stamp(atMs: number): string {
  return new Date(atMs).toISOString().replace(/\.\d+|[-:]/g, "");
}

function escaped(text: string): string {
  return text.replace(/[\\;,]/g, "\\$&").replace(/\n/g, "\\n");
}
