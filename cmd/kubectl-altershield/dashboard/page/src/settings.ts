// What the user chose for this tab, and who they are.

import { effect, signal } from "@preact/signals";
import type { Session } from "./types";

export const session = signal<Session | undefined>(undefined);
// chosen is the namespace that is shown, empty for all.
export const chosen = signal("");
export const search = signal("");

export type Theme = "auto" | "light" | "dark";
export const theme = signal<Theme>(stored("altershield-theme", ["auto", "light", "dark"]) ?? "auto");

function stored<T extends string>(name: string, known: readonly T[]): T | undefined {
  const value = sessionStorage.getItem(name);
  return known.find((one) => one === value);
}

export type Language = "en" | "zh";
const preferred = () => stored("altershield-language", ["en", "zh"]);
export const language = signal<Language>(preferred() ?? "en");

// begin takes the session; a choice of the user goes before its language.
export function begin(of: Session): void {
  session.value = of;
  chosen.value = of.namespace ?? "";
  if (preferred() === undefined) {
    language.value = of.language === "zh" ? "zh" : "en";
  }
}

export function speak(chosen: Language): void {
  language.value = chosen;
  sessionStorage.setItem("altershield-language", chosen);
}

// nextTheme goes on to the next of the three themes.
export function nextTheme(): void {
  const order: Theme[] = ["auto", "light", "dark"];
  theme.value = order[(order.indexOf(theme.value) + 1) % order.length] ?? "auto";
  sessionStorage.setItem("altershield-theme", theme.value);
}

// dress keeps the attributes of the document at the choices.
export function dress(): void {
  effect(() => { document.documentElement.lang = language.value === "zh" ? "zh-CN" : "en"; });
  effect(() => { document.documentElement.dataset.theme = theme.value; });
}
