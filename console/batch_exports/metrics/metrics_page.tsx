import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useCallback, useContext, useMemo, useState } from 'react';
import type { MetricPoint } from '../../../server/api/batch_exports/metrics/schema.ts';
import { useExport } from '../export_context.ts';
import { latestBackfills } from '../backfills/backfills.ts';
import { inBytes, inNumbers, inTime } from '../../page/text/quantities.ts';
import { Empty } from '../../page/empty.tsx';
import { Seldom } from '../../page/section.tsx';
import { Shown } from '../../page/shown.tsx';
import { Instant, ZoneContext } from '../../time/instant.tsx';
import { Lengths, lengths_of_time } from '../../time/lengths.tsx';
import { now } from '../../time/now.ts';
import type { Span } from '../slots/boundaries.ts';
import { isoInstant } from '../slots/slots.ts';
import { Chart } from './chart.tsx';
import { chartsOf, metricsOf } from './metrics.ts';
import type { Series } from './metrics.ts';
import { PointTable, secondsInWords } from './point_table.tsx';
import { endOfHour, firstRange, pointLength } from './range.ts';

const route = getRouteApi('/signed_in/projects/$project_id/exports/$export_id/metrics');
const lengths = lengths_of_time.filter(({ label }) => label !== 'Hour');
const point_words = { run: 'Each point is a run', hour: 'By the hour', day: 'By the day (UTC)' };

/** The charts of an export, after the start of its data was read. */
export function MetricsPage() {
  const { row, ids } = useExport();
  return (
    <Shown query={useQuery(latestBackfills(ids))}>
      {({ results }) => (
        <ChartsPage
          begun={Math.min(...[row, ...results].map((one) => Date.parse(beginningOf(one))))}
        />
      )}
    </Shown>
  );
}

const beginningOf = (one: { start_at: string | null; created_at: string | null }) =>
  one.start_at ?? one.created_at ?? '';

/** Rows, bytes, duration and delay of the runs over the time of their data. */
function ChartsPage({ begun }: { begun: number }) {
  const { row, ids } = useExport();
  const zone = useContext(ZoneContext);
  const { from = '', to = '' } = route.useSearch();
  const navigate = route.useNavigate();
  const [first] = useState(() => firstRange(now(), begun));
  const range = useMemo(() => {
    const wanted = { from: Date.parse(from), to: Date.parse(to) };
    return wanted.from < wanted.to ? wanted : first;
  }, [from, to, first]);
  const points = pointLength(range, row);
  const query = useQuery({
    ...metricsOf(ids, range, points),
    placeholderData: keepPreviousData,
  });
  const choose = useCallback(
    (start: number, end: number) =>
      void navigate({
        search: { from: isoInstant(Math.floor(start)), to: isoInstant(Math.ceil(end)) },
        resetScroll: false,
      }),
    [navigate],
  );
  return (
    <>
      <div className="toolbar" role="group" aria-label="What is shown">
        <span className="shown">
          <Instant at={isoInstant(range.from)} is_exact /> to{' '}
          <Instant at={isoInstant(range.to)} is_exact />
        </span>
        <span className="muted small">
          {point_words[points]}. Drag along a chart to look closer.
        </span>
        <Lengths
          lengths={lengths}
          shown_ms={range.to - range.from}
          choose={({ length_ms }) => {
            const end_ms = endOfHour(now());
            choose(end_ms - length_ms, end_ms);
          }}
        />
      </div>
      <Shown query={query}>
        {({ results }) =>
          results.length === 0 ? (
            <Empty title="No runs have data of this time">Choose a longer time above.</Empty>
          ) : (
            <Charts results={results} range={range} zone={zone} choose={choose} />
          )
        }
      </Shown>
    </>
  );
}

function Charts({
  results,
  range,
  zone,
  choose,
}: {
  results: MetricPoint[];
  range: Span;
  zone: string;
  choose: (from: number, to: number) => void;
}) {
  const charts = useMemo(() => chartsOf(results), [results]);
  const common = { at: charts.at, range, zone, choose };
  return (
    <>
      <div className="charts">
        <Chart
          {...common}
          title="Rows delivered"
          series={charts.rows}
          figure={<Total series={charts.rows} inWords={(rows) => rows.toLocaleString('en')} />}
          inWords={inNumbers}
          unit="count"
        />
        <Chart
          {...common}
          title="Bytes delivered"
          series={charts.bytes}
          figure={<Total series={charts.bytes} inWords={inBytes} />}
          inWords={inBytes}
          unit="count"
        />
        <Chart
          {...common}
          title="Duration"
          series={charts.duration}
          figure={<Longest series={charts.duration} />}
          inWords={inTime}
          unit="seconds"
        />
        <Chart
          {...common}
          title="Delay from the end of the interval"
          series={charts.delay}
          figure={<Longest series={charts.delay} />}
          inWords={inTime}
          unit="seconds"
        />
      </div>
      <Seldom summary="The same as a table">
        <Points results={results} />
      </Seldom>
    </>
  );
}

function Points({ results }: { results: MetricPoint[] }) {
  return (
    <PointTable
      from="Data from"
      points={results}
      keyOf={({ start_at, kind, run }) => `${start_at} ${kind} ${run}`}
      columns={{
        Kind: ({ kind }) => kind.replace('_', ' '),
        Rows: { number: ({ rows }) => rows.toLocaleString('en') },
        Bytes: { number: ({ bytes }) => inBytes(bytes) },
        Duration: { number: ({ duration_seconds_max }) => secondsInWords(duration_seconds_max) },
        Delay: { number: ({ lag_seconds_max }) => secondsInWords(lag_seconds_max) },
      }}
    />
  );
}

const valuesOf = (series: Series[]) =>
  series.flatMap(({ values }) => values).filter((value) => value !== null);

function Total({ series, inWords }: { series: Series[]; inWords: (value: number) => string }) {
  return inWords(valuesOf(series).reduce((sum, value) => sum + value, 0));
}

function Longest({ series }: { series: Series[] }) {
  const values = valuesOf(series);
  if (values.length === 0) return <span className="muted">No run of the schedule yet.</span>;
  return (
    <>
      {inTime(Math.max(...values))} <span className="muted">at most</span>
    </>
  );
}
