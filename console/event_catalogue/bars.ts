import { counted } from '../page/text/quantities.ts';

/** Returns the events of each day as the path of an image, one bar a day, and in words. */
export function barsOf(
  by_day: number[],
  { width, height }: { width: number; height: number },
): { path: string; label: string } {
  const most = Math.max(1, ...by_day);
  const step = width / by_day.length;
  const bars = by_day.map((events, at) => {
    // A small count stays visible beside large ones.
    const bar = events === 0 ? 0.5 : Math.max(1, (events / most) * height);
    const [x, y, wide, high] = [at * step, height - bar, step * 0.75, bar].map(
      (value) => +value.toFixed(2),
    );
    return `M${x} ${y}h${wide}v${high}h-${wide}z`;
  });
  const today = (by_day.at(-1) ?? 0).toLocaleString('en');
  return {
    path: bars.join(''),
    label:
      `The last ${counted(by_day.length, 'day')}: at most ` +
      `${counted(Math.max(0, ...by_day), 'event')} a day, today ${today}`,
  };
}
