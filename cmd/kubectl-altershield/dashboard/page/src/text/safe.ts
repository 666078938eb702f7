// Texts that others wrote: messages of checks, names, annotations. They are shown as text only.

// shown makes characters visible that change how the text beside them is read: controls and directions.
export function shown(text: string): string {
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g, (char) => `⟨U+${char.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);
}

export interface Part { text: string; link?: string }

// partsOf finds the links in a text. A link is what parses as http or https.
export function partsOf(text: string): Part[] {
  const parts: Part[] = [];
  let end = 0;
  for (const found of text.matchAll(/https?:\/\/[^\s"'<>()\u201c\u201d，。；、]+/gi)) {
    const address = found[0].replace(/[.,;:!?]+$/, "");
    const link = linkOf(address);
    if (link !== undefined) {
      parts.push({ text: text.slice(end, found.index) }, { text: address, link });
      end = found.index + address.length;
    }
  }
  parts.push({ text: text.slice(end) });
  return parts.filter((part) => part.text !== "");
}

// upTo returns the beginning of a text. A link that doesn't end there is none: it would lead elsewhere.
export function upTo(parts: Part[], length: number): Part[] {
  let left = length;
  return parts.flatMap((part) => {
    const text = part.text.slice(0, left);
    left -= text.length;
    return text === part.text ? [part] : text === "" ? [] : [{ text: text + "…" }];
  });
}

export function linkOf(address: string): string | undefined {
  let parsed: URL;
  try {
    parsed = new URL(address); // URL.parse is missing in browsers of 2023
  } catch {
    return undefined;
  }
  return ["http:", "https:"].includes(parsed.protocol) && parsed.username === "" && parsed.password === "" ? parsed.href : undefined;
}
