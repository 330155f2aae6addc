import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { Suspense, useContext, useMemo } from 'react';
import type { ComponentProps } from 'react';
import type { IngestionWarningRow } from '../../server/api/ingestion_warnings/schema.ts';
import type { Chart as DrawnChart } from '../batch_exports/metrics/chart.tsx';
import { Empty } from '../page/empty.tsx';
import { loadedLater } from '../page/load_page.tsx';
import { Rows } from '../page/tables/rows.tsx';
import type { Columns } from '../page/tables/rows.tsx';
import { Section, Seldom } from '../page/section.tsx';
import { Shown } from '../page/shown.tsx';
import { counted } from '../page/text/quantities.ts';
import { Instant, ZoneContext } from '../time/instant.tsx';
import { Lengths } from '../time/lengths.tsx';
import { useNow } from '../time/now.ts';
import { byReason, endOf, lineOf, rangeOf, ranges, spanOf } from './count_lines.ts';
import type { Counts, Range, Span } from './count_lines.ts';
import { eventCounts, ingestionWarnings } from './counts.ts';
import { outcome_words, reason_words } from './reason_words.ts';
import { RefusedSection } from './refused_section.tsx';
import '../batch_exports/one_export.css';

const route = getRouteApi('/signed_in/projects/$project_id/events');

/** `is_lively`: events are arriving now. */
type Given = { project_id: string; is_lively: boolean };

/** Shows the counts of stored events over time, and of refused or changed ones. */
export function CountSections({ project_id, is_lively }: Given) {
  const { range: label } = route.useSearch();
  const navigate = route.useNavigate();
  const range = rangeOf(label);
  const end = endOf(range, useNow());
  const span = useMemo(() => spanOf(range, end), [range, end]);
  const counts = useQuery({
    ...eventCounts(project_id, range, span, is_lively),
    placeholderData: keepPreviousData,
  });
  const warnings = useQuery({
    ...ingestionWarnings(project_id, span, is_lively),
    placeholderData: keepPreviousData,
  });
  return (
    <>
      <Section title="How many" is_wide>
        <div className="toolbar" role="group" aria-label="What is shown">
          <Lengths
            lengths={ranges}
            shown_ms={range.length_ms}
            choose={(one) =>
              void navigate({
                search: (before) => ({ ...before, range: one.label }),
                resetScroll: false,
              })
            }
          />
        </div>
        <Shown query={counts}>
          {(found) => <Stored counts={found} range={range} span={span} />}
        </Shown>
      </Section>
      <Section title="Refused and changed" is_wide>
        <Shown query={warnings}>
          {(found) =>
            found.results.length === 0 ? (
              <Empty title="All events were stored unchanged">
                Events that Sluice refuses or changes are counted here, with the reason and an
                example.
              </Empty>
            ) : (
              <Rows
                rows={byReason(found)}
                keyOf={({ reason }) => reason}
                columns={warning_columns}
              />
            )
          }
        </Shown>
      </Section>
      <RefusedSection project_id={project_id} />
    </>
  );
}

const inNumbers = (value: number) =>
  value.toLocaleString('en', { notation: 'compact', maximumFractionDigits: 1 });
const stay = () => undefined;

/** A third of the page's code, so it is loaded later. */
const Chart = loadedLater(() => import('../batch_exports/metrics/chart.tsx'), 'Chart', NoChart);

function NoChart({ title }: ComponentProps<typeof DrawnChart>) {
  return <p>{title}: the chart could not be loaded. Load the page again in the browser.</p>;
}

function Stored({ counts, range, span }: { counts: Counts; range: Range; span: Span }) {
  const zone = useContext(ZoneContext);
  const { at, series, total, values } = useMemo(() => {
    const line = lineOf(counts, span, range.step_ms);
    return { ...line, series: [{ label: `each ${range.interval}`, values: line.values }] };
  }, [counts, span, range]);
  const busiest = Math.max(0, ...values);
  return (
    <>
      <p className="lead">
        {total.toLocaleString('en')} {total === 1 ? 'event' : 'events'} stored in this{' '}
        {range.label.toLowerCase()}, {busiest.toLocaleString('en')} in the busiest {range.interval}.
      </p>
      <div className="charts">
        <Suspense fallback={<div className="chart_room" />}>
          <Chart
            title="Events stored"
            range={span}
            at={at}
            series={series}
            zone={zone}
            inWords={inNumbers}
            unit="count"
            choose={stay}
          />
        </Suspense>
      </div>
    </>
  );
}

const warning_columns: Columns<IngestionWarningRow> = {
  Reason: ({ reason }) => (
    <>
      {reason_words[reason]} <code className="muted">{reason}</code>
    </>
  ),
  Result: ({ outcome }) => {
    const [word, look] = outcome_words[outcome];
    return <span className={look}>{word}</span>;
  },
  'How many': { number: ({ events }) => events.toLocaleString('en') },
  Last: ({ last_at }) => <Instant at={last_at} />,
  Examples: ({ examples }) => <Examples examples={examples} />,
};

function Examples({ examples }: Pick<IngestionWarningRow, 'examples'>) {
  return (
    <Seldom summary={counted(examples.length, 'example')}>
      <ul>
        {examples.map(({ at, from, event, distinct_id, uuid, sent }, index) => (
          <li key={`${at} ${index}`}>
            <Instant at={at} is_exact />
            {from !== undefined && ` by ${from}`}
            {event !== undefined && (
              <>
                , event <bdi>{event}</bdi>
              </>
            )}
            {distinct_id !== undefined && (
              <>
                {' '}
                of <bdi>{distinct_id}</bdi>
              </>
            )}
            {uuid !== undefined && (
              <>
                {' '}
                (<code>{uuid}</code>)
              </>
            )}
            {sent !== undefined && (
              <>
                : <bdi>{sent}</bdi>
              </>
            )}
          </li>
        ))}
      </ul>
    </Seldom>
  );
}
