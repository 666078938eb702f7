import { useEffect, useRef, useState } from "preact/hooks";
import { get, type Query } from "./api";

// Resource is what a call gives. While it loads again the earlier data stays.
export interface Resource<T> { data?: T; error?: Error; loading: boolean; again: () => void }

// oneByOne returns what makes a call: at once, or once more when the one that runs has ended, however often it is asked for meanwhile. So a call
// that takes longer than the time between two occasions has an answer.
function oneByOne(signal: AbortSignal, call: () => Promise<void>): () => void {
  let runs = false;
  let isDue = false;
  const go = () => {
    isDue = runs;
    if (runs || signal.aborted) {
      return;
    }
    runs = true;
    void call().finally(() => {
      runs = false;
      if (isDue) {
        go();
      }
    });
  };
  return go;
}

// useResource calls once, and again when the query or the occasion changes. what names what is asked about: as long as it stays the same, the
// earlier data stays while it loads, and a call that runs ends.
export function useResource<T>(path: string, query: Query, occasion: unknown = 0, what = JSON.stringify(query)): Resource<T> {
  const [held, hold] = useState<{ asked: string; data?: T; error?: Error; loading: boolean }>({ asked: "", loading: true });
  const [attempt, retry] = useState(0);
  const asked = path + what;
  const latest = useRef(query);
  latest.current = query;
  const call = useRef(() => {});
  useEffect(() => {
    const abort = new AbortController();
    call.current = oneByOne(abort.signal, () => {
      hold((before) => (before.asked === asked ? { ...before, loading: true } : { asked, loading: true }));
      return get<T>(path, latest.current, abort.signal).then(
        (data) => { if (!abort.signal.aborted) hold({ asked, data, loading: false }); },
        (error: Error) => { if (!abort.signal.aborted) hold((before) => ({ asked, data: before.data, error, loading: false })); },
      );
    });
    return () => abort.abort();
  }, [asked]);
  useEffect(() => call.current(), [asked, JSON.stringify(query), occasion, attempt]);
  const current = held.asked === asked ? held : { loading: true };
  return { ...current, again: () => retry((count) => count + 1) };
}
