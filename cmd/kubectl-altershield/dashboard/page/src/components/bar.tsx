import { number } from "../time";
import { t } from "../text";
import type { Pods } from "../types";
import { Mark } from "./basic";

// PodBar shows how many pods passed, failed, are checked, wait and are to come: a bar, and the same in numbers. A short one counts those that wait as
// checked.
export function PodBar({ pods, long }: { pods: Pods; long?: boolean }) {
  if (pods.desired === 0 && pods.passed + pods.failed + pods.checking + pods.waiting === 0) {
    return null;
  }
  const running = pods.passed + pods.failed + pods.checking + pods.waiting;
  const total = Math.max(pods.desired, running, 1);
  const parts = [["passed", pods.passed], ["failed", pods.failed], ["checking", pods.checking], ["waiting", pods.waiting]] as const;
  const checking = long ? pods.checking : pods.checking + pods.waiting;
  let from = 0;
  return (
    <span class="podbar">
      <svg class="bar" width="120" height="10" aria-hidden="true">
        <rect class="left" width="100%" height="10" rx="2" />
        {parts.map(([name, count]) => {
          const at = from;
          from += count;
          return count > 0 && <rect class={name} x={share(at, total)} width={share(count, total)} height="10" rx="1" />;
        })}
      </svg>
      <span class="counts">
        {pods.failed > 0 && <span class="bad" title={t().failedPods}><Mark shape="cross" tone="bad" />{number(pods.failed)}<span class={long ? "" : "hidden"}> {t().failedPods}</span></span>}
        {pods.passed > 0 && <span class="good" title={t().passed}><Mark shape="check" tone="good" />{number(pods.passed)}<span class={long ? "" : "hidden"}> {t().passed}</span></span>}
        {checking > 0 && <span class="busy" title={t().checking}><Mark shape="turn" tone="busy" />{number(checking)}<span class={long ? "" : "hidden"}> {t().checking}</span></span>}
        {long && pods.waiting > 0 && <span class="warn"><Mark shape="pause" tone="warn" />{number(pods.waiting)} {t().waiting}</span>}
        {long && pods.desired > running && <span class="muted">{number(pods.desired - running)} {t().left}</span>}
        <span class="muted">{t().of(pods.desired)}</span>
      </span>
    </span>
  );
}

function share(part: number, total: number): string {
  return `${Math.round((part / total) * 10_000) / 100}%`;
}
