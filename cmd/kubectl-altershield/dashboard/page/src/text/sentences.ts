import { language } from "../settings";
import type { Note, Right } from "../types";
import { t } from "./index";
import { symptoms } from "./symptoms";

// sentence returns the sentence of a key with its values, or the values alone.
export function sentence(key: string, values: string[]): string {
  const rest = [...values];
  const found = symptoms[language.value][key.toLowerCase()];
  return found === undefined ? [key, ...values].join(" ") : found.replace(/%[sd]/g, () => rest.shift() ?? "");
}

export function rightOf(right: Right): string {
  return `${right.verb} ${right.resource}${right.group ? "." + right.group : ""}${right.subresource ? "/" + right.subresource : ""}`;
}

export function noteOf(note: Note): string {
  const where = note.namespace ? t().lackIn(note.namespace) : t().lackAll;
  return t().lack(note.verb, note.resource, where) + sentence("lack." + note.lacks, []);
}
