export interface Bar { title: string; value: number }

const height = 48;

// Bars shows one value for each week, the highest one at full height.
export function Bars({ of, label }: { of: Bar[]; label: string }) {
  const most = Math.max(...of.map((bar) => bar.value), 0);
  const step = 100 / of.length;
  return (
    <svg class="bars" width="100%" height={height} role="img" aria-label={label}>
      {of.map((bar, index) => {
        const tall = most === 0 ? 0 : Math.max(bar.value > 0 ? 2 : 0, (bar.value / most) * (height - 4));
        return (
          <g>
            <title>{bar.title}</title>
            <rect class="target" x={`${index * step}%`} width={`${step}%`} height={height} />
            <rect class="empty" x={`${(index + 0.1) * step}%`} width={`${step * 0.8}%`} y={height - 1} height="1" />
            {tall > 0 && <rect class="value" x={`${(index + 0.1) * step}%`} width={`${step * 0.8}%`} y={height - tall} height={tall} rx="1" />}
          </g>
        );
      })}
    </svg>
  );
}
