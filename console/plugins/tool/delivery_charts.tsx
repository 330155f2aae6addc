import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useContext, useMemo, useState } from 'react';
import type { DeliveryPoint } from '../../../server/api/plugin_configs/deliveries/schema.ts';
import { Chart } from '../../batch_exports/metrics/chart.tsx';
import { Rows } from '../../page/rows.tsx';
import { Seldom } from '../../page/section.tsx';
import { Shown } from '../../page/shown.tsx';
import { Table } from '../../page/table.tsx';
import { inNumbers, inTime } from '../../page/text/quantities.ts';
import { Instant, ZoneContext } from '../../time/instant.tsx';
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
      <div className="toolbar" role="group" aria-label="Time of the charts">
        <Lengths
          lengths={lengths}
          shown_ms={length_ms}
          choose={(length) => setLength(length.length_ms)}
        />
      </div>
      <Shown query={query}>
        {({ results }) =>
          results.length === 0 ? (
            <p className="muted">Nothing was sent in this time.</p>
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
  return (
    <>
      <div className="charts">
        <Chart
          {...common}
          title="Events delivered"
          series={charts.sent}
          inWords={inNumbers}
          unit="count"
        />
        <Chart
          {...common}
          title="Retried and set aside"
          series={charts.failed}
          inWords={inNumbers}
          unit="count"
        />
        <Chart
          {...common}
          title="Events a second"
          series={charts.rate}
          inWords={inNumbers}
          unit="count"
        />
        <Chart
          {...common}
          title="Delay from storing to delivery"
          series={charts.delay}
          inWords={inTime}
          unit="seconds"
        />
      </div>
      <Seldom summary="The same as a table">
        <Points points={points} />
      </Seldom>
    </>
  );
}

/** The lines of the charts. */
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

const rows_max = 200;

function Points({ points }: { points: DeliveryPoint[] }) {
  const columns = ['From', 'Delivered', 'Retried', 'Set aside', 'Delay', 'Longest'];
  const time = (seconds: number | null) => (seconds === null ? '' : inTime(seconds));
  return (
    <Rows columns={columns} numbers={columns.slice(1)}>
      {points
        .toReversed()
        .slice(0, rows_max)
        .map((point) => (
          <Table.Tr key={point.start_at}>
            <Table.Td data-label="From">
              <Instant at={point.start_at} is_exact />
            </Table.Td>
            <Table.Td data-label="Delivered" className="number">
              {point.delivered.toLocaleString('en')}
            </Table.Td>
            <Table.Td data-label="Retried" className="number">
              {point.retried.toLocaleString('en')}
            </Table.Td>
            <Table.Td data-label="Set aside" className="number">
              {point.set_aside.toLocaleString('en')}
            </Table.Td>
            <Table.Td data-label="Delay" className="number">
              {time(point.delay_seconds)}
            </Table.Td>
            <Table.Td data-label="Longest" className="number">
              {time(point.delay_seconds_max)}
            </Table.Td>
          </Table.Tr>
        ))}
    </Rows>
  );
}
