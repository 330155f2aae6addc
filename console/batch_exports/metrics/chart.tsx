import { useMantineColorScheme } from '@mantine/core';
import { useEffect, useRef } from 'react';
// Before the charts, which look at it as they are loaded.
import './known_language.ts';
import uPlot from 'uplot';
import type { Series } from './metrics.ts';
import 'uplot/dist/uPlot.min.css';

const height = 150;
const colours = ['--mantine-color-anchor', '--warn'];

/** A series over time; dragging along it chooses a range. */
export function Chart({
  title,
  at,
  series,
  zone,
  inWords,
  choose,
}: {
  title: string;
  at: number[];
  series: Series[];
  zone: string;
  inWords: (value: number) => string;
  choose: (from: number, to: number) => void;
}) {
  const place = useRef<HTMLDivElement>(null);
  const { colorScheme } = useMantineColorScheme();
  useEffect(() => {
    const element = place.current!;
    const colourOf = (name: string) => getComputedStyle(element).getPropertyValue(name);
    const axis = { stroke: () => colourOf('--mantine-color-dimmed'), font: '11px system-ui' };
    const grid = { stroke: () => colourOf('--line'), width: 1 };
    const chart = new uPlot(
      {
        width: element.clientWidth,
        height,
        tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), zone),
        cursor: { drag: { x: true, y: false, setScale: false }, y: false },
        legend: { live: true },
        scales: { y: { range: (_chart, _low, high) => [0, Math.max(high ?? 0, 1) * 1.08] } },
        axes: [
          { ...axis, grid, ticks: grid },
          {
            ...axis,
            grid,
            ticks: grid,
            size: 72,
            values: (_chart, values) => values.map((value) => inWords(value)),
          },
        ],
        series: [
          { value: (_chart, value: number | null) => (value === null ? '' : clock(value, zone)) },
          ...series.map(({ label }, index) => ({
            label,
            stroke: () => colourOf(colours[index]!),
            width: 1.5,
            points: { show: at.length < 60, size: 5 },
            spanGaps: false,
            value: (_chart: uPlot, value: number | null) => (value === null ? '' : inWords(value)),
          })),
        ],
        hooks: {
          setSelect: [
            (own) => {
              if (own.select.width < 4) return;
              const from = own.posToVal(own.select.left, 'x');
              const to = own.posToVal(own.select.left + own.select.width, 'x');
              own.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
              choose(from * 1000, to * 1000);
            },
          ],
        },
      },
      [at, ...series.map(({ values }) => values)],
      element,
    );
    const observer = new ResizeObserver(() =>
      chart.setSize({ width: element.clientWidth, height }),
    );
    observer.observe(element);
    const query = matchMedia('(prefers-color-scheme: dark)');
    const redraw = () => chart.redraw(false, true);
    query.addEventListener('change', redraw);
    return () => {
      query.removeEventListener('change', redraw);
      observer.disconnect();
      chart.destroy();
    };
  }, [at, series, zone, inWords, choose, colorScheme]);
  return (
    <section className="chart">
      <h2>{title}</h2>
      <div ref={place} role="img" aria-label={`${title} over time; the table below has the same`} />
    </section>
  );
}

function clock(seconds: number, zone: string): string {
  return new Intl.DateTimeFormat('en-GB', {
    timeZone: zone,
    dateStyle: 'medium',
    timeStyle: 'short',
  }).format(seconds * 1000);
}
