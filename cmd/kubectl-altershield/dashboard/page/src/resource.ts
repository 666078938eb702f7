import { useEffect, useState } from "preact/hooks";
import { get, type Query } from "./api";

// Resource is what a call gives. While it loads again the earlier data stays.
export interface Resource<T> { data?: T; error?: Error; loading: boolean; again: () => void }

// useResource calls once, and again when the query or the occasion changes. what names what is asked about: as long as it stays the same, the
// earlier data stays while it loads.
export function useResource<T>(path: string, query: Query, occasion: unknown = 0, what = JSON.stringify(query)): Resource<T> {
  const [held, hold] = useState<{ asked: string; data?: T; error?: Error; loading: boolean }>({ asked: "", loading: true });
  const [attempt, retry] = useState(0);
  const asked = path + what;
  useEffect(() => {
    const abort = new AbortController();
    hold((before) => (before.asked === asked ? { ...before, loading: true } : { asked, loading: true }));
    get<T>(path, query, abort.signal).then(
      (data) => { if (!abort.signal.aborted) hold({ asked, data, loading: false }); },
      (error: Error) => { if (!abort.signal.aborted) hold((before) => ({ asked, data: before.data, error, loading: false })); },
    );
    return () => abort.abort();
  }, [asked, JSON.stringify(query), occasion, attempt]);
  const current = held.asked === asked ? held : { loading: true };
  return { ...current, again: () => retry((count) => count + 1) };
}
