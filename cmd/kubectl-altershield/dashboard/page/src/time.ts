// Times in the language and the time zone of the user.

import { language } from "./settings";

function locale(): string {
  return language.value === "zh" ? "zh-CN" : "en-GB";
}

function formatted(at: number, options: Intl.DateTimeFormatOptions): string {
  return Number.isNaN(at) ? "" : new Intl.DateTimeFormat(locale(), { hourCycle: "h23", ...options }).format(at);
}

// absolute returns a time with its zone.
export function absolute(at: number): string {
  return formatted(at, { year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit", timeZoneName: "short" });
}

export function clock(at: number): string {
  return formatted(at, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
}

// recent returns the time of day, with the day unless that is today.
export function recent(at: number, now: number): string {
  return midnight(at) === midnight(now) ? clock(at) : formatted(at, { weekday: "short", day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", second: "2-digit" });
}

export function day(at: number): string {
  return formatted(at, { weekday: "short", day: "numeric", month: "short" });
}

export function moment(at: number): string {
  return formatted(at, { weekday: "short", day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
}

// midnight returns the beginning of the day of a time, or of one some days away. Days have 23 or 25 hours where the clocks change.
export function midnight(at: number, days = 0): number {
  const date = new Date(at);
  date.setDate(date.getDate() + days);
  return date.setHours(0, 0, 0, 0);
}

export function hour(at: number): string {
  return formatted(at, { hour: "2-digit" });
}

const units: [Intl.NumberFormatOptions["unit"], number][] = [["day", 86_400], ["hour", 3_600], ["minute", 60], ["second", 1]];

// span returns a duration by its largest unit, and by the next one too where it is less than ten: 9m 5s, 12m, 1h 20m.
export function span(seconds: number): string {
  let left = Math.max(0, Math.round(seconds));
  const parts: string[] = [];
  for (const [unit, size] of units) {
    const count = Math.floor(left / size);
    if (count > 0 || (unit === "second" && parts.length === 0)) {
      const isExact = count >= 10 && unit !== "second";
      parts.push(new Intl.NumberFormat(locale(), { style: "unit", unit, unitDisplay: "narrow" }).format(count));
      if (isExact) {
        break;
      }
    } else if (parts.length > 0) {
      break;
    }
    left -= count * size;
    if (parts.length === 2) {
      break;
    }
  }
  return parts.join(language.value === "zh" ? "" : " ");
}

export function number(value: number, digits = 0): string {
  return new Intl.NumberFormat(locale(), { maximumFractionDigits: digits }).format(value);
}

export function percent(share: number): string {
  return new Intl.NumberFormat(locale(), { style: "percent", maximumFractionDigits: 1 }).format(share);
}
