// Calls to the plugin. The key comes in the fragment of the address, which no request and no log has, and goes with each call as a header.

const stored = "altershield-key";

let key = "";

// takeKey takes the key from the address, or from the tab's storage after a reload, and removes it from the address bar.
export function takeKey(): void {
  const fragment = location.hash.slice(1);
  if (fragment !== "" && !fragment.startsWith("/")) {
    const end = fragment.indexOf("/");
    key = end < 0 ? fragment : fragment.slice(0, end);
    sessionStorage.setItem(stored, key);
    history.replaceState(null, "", "#" + (end < 0 ? "/" : fragment.slice(end)));
    return;
  }
  key = sessionStorage.getItem(stored) ?? "";
}

// Refusal is an answer that isn't the one asked for. Its reason is Unauthorized, Forbidden, Denied or another of the contract.
export class Refusal extends Error {
  constructor(readonly status: number, readonly reason: string, message: string) {
    super(message);
  }
}

export type Query = Record<string, string | undefined>;

// open sends a request and returns the answer if it is a good one.
export async function open(path: string, query: Query, init: RequestInit): Promise<Response> {
  const given = Object.entries(query).filter((pair): pair is [string, string] => pair[1] !== undefined && pair[1] !== "");
  const search = new URLSearchParams(given).toString();
  const answer = await fetch("/api/" + path + (search && "?" + search), {
    ...init, headers: { ...init.headers, "X-Altershield-Key": key }, cache: "no-store", credentials: "omit", redirect: "error",
  });
  if (answer.ok) {
    return answer;
  }
  const body: unknown = await answer.json().catch(() => null);
  const told = typeof body === "object" && body !== null ? (body as { error?: unknown; reason?: unknown }) : {};
  throw new Refusal(answer.status, String(told.reason ?? ""), String(told.error ?? answer.statusText));
}

export async function get<T>(path: string, query: Query, signal: AbortSignal): Promise<T> {
  return (await (await open(path, query, { signal })).json()) as T;
}

export async function post<T>(path: string, body: unknown): Promise<T> {
  const init = { method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json" } };
  return (await (await open(path, {}, init)).json()) as T;
}
