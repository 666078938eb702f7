import { language } from "../settings";
import { en } from "./en";
import { zh } from "./zh";

// Dictionary has the keys of the English sentences, and the same parameters.
export type Dictionary = typeof en;

const dictionaries: Record<"en" | "zh", Dictionary> = { en, zh };

// t returns the sentences in the language of the user.
export function t(): Dictionary {
  return dictionaries[language.value];
}
