// Calls to the plugin. The key comes in the fragment of the address, which no request and no log has, and goes with each call as a header.

const stored = "altershield-key";
const once = "once=";

let key = "";
// ticket is what the address has in place of the key if the plugin started the browser, whose address other users of the machine can read. It
// gives the key once.
let ticket = "";
let trading: Promise<void> | undefined;

// takeKey takes the key or the ticket from the address, or the key from the tab's storage after a reload, and removes it from the address bar.
export function takeKey(): void {
  const fragment = location.hash.slice(1);
  if (fragment === "" || fragment.startsWith("/")) {
    key = sessionStorage.getItem(stored) ?? "";
    return;
  }
  const end = fragment.indexOf("/");
  const given = end < 0 ? fragment : fragment.slice(0, end);
  if (given.startsWith(once)) {
    ticket = given.slice(once.length);
  } else {
    keep(given);
  }
  history.replaceState(null, "", "#" + (end < 0 ? "/" : fragment.slice(end)));
}

function keep(given: string): void {
  key = given;
  sessionStorage.setItem(stored, key);
}

// trade gives the ticket for the key. All calls wait for it; one that fails for want of a connection is made again by the next call.
async function trade(): Promise<void> {
  const answer = await ask("/api/key", { method: "POST", body: JSON.stringify({ ticket }), headers: { "Content-Type": "application/json" } });
  keep(((await answer.json()) as { key: string }).key);
  ticket = "";
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
  if (ticket !== "") {
    trading ??= trade().finally(() => { trading = undefined; });
    await trading;
  }
  const given = Object.entries(query).filter((pair): pair is [string, string] => pair[1] !== undefined && pair[1] !== "");
  const search = new URLSearchParams(given).toString();
  return ask("/api/" + path + (search && "?" + search), init);
}

async function ask(address: string, init: RequestInit): Promise<Response> {
  const answer = await fetch(address, {
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
