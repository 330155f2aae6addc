import { useEffect, useRef } from 'react';
import type { ReactNode } from 'react';
import uPlot from 'uplot';
import { watchTheme } from '../../page/around/theme_change.ts';
import { written } from '../../time/words.ts';
import { ticksOf } from '../slots/axis.ts';
import type { Span } from '../slots/boundaries.ts';
import type { Series } from './metrics.ts';
import { steps_of } from './steps.ts';
import 'uplot/dist/uPlot.min.css';

const height = 190;
const tick_width = 90;
/** More points are drawn as a line without dots. */
const dots_max = 60;
/** A shorter drag is a click. */
const drag_width_min = 4;
const colours = ['--mantine-color-anchor', '--warn'];

/** The input of a chart. */
type Given = {
  title: string;
  range: Span;
  at: number[];
  series: Series[];
  /** The chart in one number. */
  figure?: ReactNode;
  zone: string;
  inWords: (value: number) => string;
  /** The unit of the values, which decides the steps of the axis. */
  unit: keyof typeof steps_of;
  choose: (from: number, to: number) => void;
};

/** Series over time; dragging selects a range. */
export function Chart({ figure, ...given }: Given) {
  const { title, range, at, series, zone, inWords, unit, choose } = given;
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = place.current!;
    const colourOf = (name: string) => getComputedStyle(element).getPropertyValue(name);
    const shown = { title, range, at, series, zone, inWords, unit, choose };
    const chart = new uPlot(
      { width: element.clientWidth, height, ...optionsOf(shown, colourOf) },
      [at, ...series.map(({ values }) => values)],
      element,
    );
    const observer = new ResizeObserver(() =>
      chart.setSize({ width: element.clientWidth, height }),
    );
    observer.observe(element);
    const leaveTheme = watchTheme(() => chart.redraw(false, true));
    return () => {
      leaveTheme();
      observer.disconnect();
      chart.destroy();
    };
  }, [title, range, at, series, zone, inWords, unit, choose]);
  return (
    <section className="sheet chart">
      <h2>{title}</h2>
      {figure !== undefined && <p className="figure">{figure}</p>}
      <div
        ref={place}
        role="img"
        aria-label={`${title} over time; the table below has the same values`}
      />
    </section>
  );
}

type Drawn = Omit<Given, 'figure'>;
type Colours = (name: string) => string;

function optionsOf(given: Drawn, colourOf: Colours): Omit<uPlot.Options, 'width' | 'height'> {
  const { range, at, series, zone, inWords, choose } = given;
  return {
    cursor: { drag: { x: true, y: false, setScale: false }, y: false },
    scales: {
      x: { time: true, range: [range.from / 1000, range.to / 1000] },
      y: { range: (_chart, _low, high) => [0, Math.max(high ?? 0, 1) * 1.08] },
    },
    axes: axesOf(given, colourOf),
    series: [
      {
        label: zone,
        value: (_chart, value: number | null) =>
          value === null ? '' : written(new Date(value * 1000).toISOString(), zone),
      },
      ...series.map(({ label }, index) => ({
        label,
        stroke: () => colourOf(colours[index]!),
        fill: () => `${colourOf(colours[index]!)}1f`,
        width: 1.5,
        points: { show: at.length < dots_max, size: 5 },
        value: (_chart: uPlot, value: number | null) => (value === null ? '' : inWords(value)),
      })),
    ],
    hooks: {
      setSelect: [
        (chart) => {
          const { left, width } = chart.select;
          if (width < drag_width_min) return;
          const from = chart.posToVal(left, 'x');
          const to = chart.posToVal(left + width, 'x');
          chart.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          choose(from * 1000, to * 1000);
        },
      ],
    },
  };
}

function axesOf({ range, zone, inWords, unit }: Drawn, colourOf: Colours): uPlot.Axis[] {
  const grid = { stroke: () => colourOf('--line'), width: 1 };
  const axis = {
    stroke: () => colourOf('--mantine-color-dimmed'),
    font: '11px Geist, system-ui',
    grid,
    ticks: grid,
  };
  const ticks = ({ width }: uPlot) => ticksOf(range, zone, width / tick_width);
  return [
    {
      ...axis,
      splits: (chart) => ticks(chart).map(({ at }) => at / 1000),
      values: (chart) => ticks(chart).map(({ text }) => text),
    },
    {
      ...axis,
      size: 72,
      incrs: steps_of[unit],
      values: (_chart, values) => values.map((value) => inWords(value)),
    },
  ];
}
