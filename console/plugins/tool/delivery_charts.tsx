import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useContext, useMemo, useState } from 'react';
import type { DeliveryPoint } from '../../../server/api/plugin_configs/deliveries/schema.ts';
import { Chart } from '../../batch_exports/metrics/chart.tsx';
import { PointTable, secondsInWords } from '../../batch_exports/metrics/point_table.tsx';
import { Seldom } from '../../page/section.tsx';
import { Shown } from '../../page/shown.tsx';
import { inNumbers, inTime } from '../../page/text/quantities.ts';
import { ZoneContext } from '../../time/instant.tsx';
import { Lengths, lengths_of_time } from '../../time/lengths.tsx';
import { now } from '../../time/now.ts';
import { pointsOf } from './deliveries.ts';
import type { Given } from './deliveries.ts';
import '../../batch_exports/one_export.css';

const day_ms = 86_400_000;
const point_ms = 600_000;
const lengths = lengths_of_time.filter(({ label }) => ['Day', 'Week', 'Month'].includes(label));

const nothing = () => undefined;

/** The charts of a tool over the last day, week or month. */
export function DeliveryCharts(given: Given) {
  const [length_ms, setLength] = useState(day_ms);
  const [end] = useState(() => Math.ceil(now() / point_ms) * point_ms);
  const zone = useContext(ZoneContext);
  const before = new Date(end).toISOString();
  const query = useQuery({
    ...pointsOf(given, length_ms / day_ms, before),
    placeholderData: keepPreviousData,
    refetchInterval: 30_000,
  });
  const range = useMemo(() => ({ from: end - length_ms, to: end }), [end, length_ms]);
  return (
    <>
      <div className="toolbar" role="group" aria-label="Range of the charts">
        <Lengths
          lengths={lengths}
          shown_ms={length_ms}
          choose={(length) => setLength(length.length_ms)}
        />
      </div>
      <Shown query={query}>
        {({ results }) =>
          results.length === 0 ? (
            <p className="muted">No event was sent in this time.</p>
          ) : (
            <Charts points={results} {...{ range, zone }} />
          )
        }
      </Shown>
    </>
  );
}

function Charts({
  points,
  ...shown
}: {
  points: DeliveryPoint[];
  range: { from: number; to: number };
  zone: string;
}) {
  const charts = useMemo(() => seriesOf(points), [points]);
  const common = { ...shown, at: charts.at, choose: nothing };
  const count = { inWords: inNumbers, unit: 'count' } as const;
  return (
    <>
      <div className="charts">
        <Chart {...common} {...count} title="Events delivered" series={charts.sent} />
        <Chart {...common} {...count} title="Retried and set aside" series={charts.failed} />
        <Chart {...common} {...count} title="Events a second" series={charts.rate} />
        <Chart
          {...common}
          title="Delay from storing to delivery"
          series={charts.delay}
          inWords={inTime}
          unit="seconds"
        />
      </div>
      <Seldom summary="The same as a table">
        <PointTable
          from="From"
          points={points}
          keyOf={({ start_at }) => start_at}
          columns={{
            Delivered: { number: ({ delivered }) => delivered.toLocaleString('en') },
            Retried: { number: ({ retried }) => retried.toLocaleString('en') },
            'Set aside': { number: ({ set_aside }) => set_aside.toLocaleString('en') },
            Delay: { number: ({ delay_seconds }) => secondsInWords(delay_seconds) },
            Longest: { number: ({ delay_seconds_max }) => secondsInWords(delay_seconds_max) },
          }}
        />
      </Seldom>
    </>
  );
}

/** Returns the series of the charts. */
function seriesOf(points: DeliveryPoint[]) {
  const series = (label: string, valueOf: (point: DeliveryPoint) => number | null) => ({
    label,
    values: points.map(valueOf),
  });
  return {
    at: points.map(({ start_at }) => Date.parse(start_at) / 1_000),
    sent: [series('delivered', ({ delivered }) => delivered)],
    failed: [
      series('retried', ({ retried }) => retried),
      series('set aside', ({ set_aside }) => set_aside),
    ],
    rate: [series('events a second', ({ per_second }) => per_second)],
    delay: [
      series('mean', ({ delay_seconds }) => delay_seconds),
      series('longest', ({ delay_seconds_max }) => delay_seconds_max),
    ],
  };
}
