// The address of each view, in the fragment.

import { signal } from "@preact/signals";

// A Reference names a workload. Its kind is that of kindOf.
export interface Reference { namespace: string; kind: string; name: string }

export type Route =
  | { screen: "first" | "calendar" | "dora" | "settings" | "doctor" | "unknown" }
  | ({ screen: "release" } & Reference)
  | ({ screen: "compare"; from: string; to: string } & Reference);

export function parse(fragment: string): Route {
  const parts = fragment.replace(/^#?\/?/, "").split("/").map(decoded);
  const [first = "", namespace = "", kind = "", name = "", more, range = ""] = parts;
  if (parts.length === 1) {
    return first === "" ? { screen: "first" } : { screen: isScreen(first) ? first : "unknown" };
  }
  if (first !== "w" || name === "") {
    return { screen: "unknown" };
  }
  if (more === "compare") {
    const [from = "", to = ""] = range.split("..");
    return { screen: "compare", namespace, kind, name, from, to };
  }
  return { screen: more === undefined ? "release" : "unknown", namespace, kind, name };
}

function isScreen(name: string): name is "calendar" | "dora" | "settings" | "doctor" {
  return ["calendar", "dora", "settings", "doctor"].includes(name);
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function addressOf(of: Reference): string {
  return "#/w/" + [of.namespace, of.kind, of.name].map(encodeURIComponent).join("/");
}

export function comparison(of: Reference, from: string, to: string): string {
  return `${addressOf(of)}/compare/${encodeURIComponent(from)}..${encodeURIComponent(to)}`;
}

export const route = signal<Route>({ screen: "first" });

// follow keeps the route at what the address bar has. A new view begins at its top, with the focus on its heading.
export function follow(): void {
  route.value = parse(location.hash);
  addEventListener("hashchange", () => {
    if (!/^(#?$|#\/)/.test(location.hash)) { // an address with the key of a plugin that was started anew, opened in the same tab
      location.reload();
      return;
    }
    route.value = parse(location.hash);
    scrollTo(0, 0);
    requestAnimationFrame(() => document.querySelector<HTMLElement>("main h1")?.focus());
  });
}
