import { Button, NativeSelect } from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link, getRouteApi } from '@tanstack/react-router';
import { useContext, useMemo, useState } from 'react';
import type { Proof, ProofCounts } from '../../../server/api/batch_exports/proof/schema.ts';
import type { Verification } from '../../../server/api/batch_exports/verifications/schema.ts';
import { addressOf } from '../../http/address.ts';
import { Empty } from '../../page/empty.tsx';
import { counted } from '../../page/text/quantities.ts';
import { Seldom } from '../../page/section.tsx';
import { Sentence } from '../../page/text/sentence.tsx';
import { Shown } from '../../page/shown.tsx';
import { Rows } from '../../page/tables/rows.tsx';
import type { Columns } from '../../page/tables/rows.tsx';
import { Lengths, lengths_of_time } from '../../time/lengths.tsx';
import { Instant, ZoneContext } from '../../time/instant.tsx';
import { now } from '../../time/now.ts';
import { dated, exactly } from '../../time/words.ts';
import { latestBackfills } from '../backfills/backfills.ts';
import { by_dates } from '../backfills/by_dates.ts';
import { useExport } from '../export_context.ts';
import { useRunsFollowed } from '../following.ts';
import { overviewOf } from '../list/overview.ts';
import { endOfHour, firstRange } from '../metrics/range.ts';
import { Moment } from '../moment.tsx';
import type { Span } from '../slots/boundaries.ts';
import { isoInstant } from '../slots/slots.ts';
import type { Clock } from '../slots/clocks.ts';
import { Deviations } from './deviations.tsx';
import { latestDeviations, latestVerifications, proofOf, receiptsPath } from './proof.ts';
import { Verifications } from './verifications.tsx';
import { before_export, provenInWords, restInWords, throughInWords } from './words.ts';
import './proof.css';

const route = getRouteApi('/signed_in/projects/$project_id/exports/$export_id/proof');
const times: { value: Clock; label: string }[] = [
  { value: 'inserted_at', label: 'Ingestion time' },
  { value: 'timestamp', label: 'Event time' },
];
const lengths = lengths_of_time.filter(({ label }) => label !== 'Hour');

/** Rows stored against rows delivered, after the start of the export's data was read. */
export function ProofPage() {
  const { row, ids } = useExport();
  return (
    <Shown query={useQuery(latestBackfills(ids))}>
      {({ results }) => {
        const begins = [row, ...results].map((one) => Date.parse(one.start_at ?? one.created_at!));
        return <ProofOf begun={Math.min(...begins)} />;
      }}
    </Shown>
  );
}

function ProofOf({ begun }: { begun: number }) {
  const { ids } = useExport();
  const { span, by, choose } = useSpan(begun);
  const query = useQuery({ ...proofOf(ids, span, by), placeholderData: keepPreviousData });
  useRunsFollowed(query.refetch);
  return (
    <>
      <Range span={span} by={by} choose={choose} />
      <Shown query={query}>{(proof) => <Proven proof={proof} />}</Shown>
      <div className="row_actions proof_receipts">
        <Button component="a" size="compact-sm" href={addressOf(receiptsPath(ids, span))} download>
          Download receipts
        </Button>
        <span className="muted small">
          A zip file with the signed receipts of this range, the public key, and how to check them.
        </span>
      </div>
      <Deviations span={span} />
      <Verifications />
    </>
  );
}

/** The range in the address, or the shortest of a day, a week and a month with all data. */
function useSpan(begun: number) {
  const { from = '', to = '', by: clock } = route.useSearch();
  const by: Clock = clock === 'timestamp' ? clock : 'inserted_at';
  const navigate = route.useNavigate();
  const [first] = useState(() => firstRange(now(), begun));
  const span = useMemo(() => {
    const wanted = { from: Date.parse(from), to: Date.parse(to) };
    return wanted.from < wanted.to ? wanted : first;
  }, [from, to, first]);
  const choose = (chosen: Span, chosen_by: Clock = by) =>
    void navigate({
      search: {
        from: isoInstant(Math.floor(chosen.from)),
        to: isoInstant(Math.ceil(chosen.to)),
        by: chosen_by,
      },
      replace: true,
      resetScroll: false,
    });
  return { span, by, choose };
}

function Range({
  span,
  by,
  choose,
}: {
  span: Span;
  by: Clock;
  choose: (span: Span, by?: Clock) => void;
}) {
  const { row } = useExport();
  const set = ({ from = span.from, to = span.to }: Partial<Span>) => choose({ from, to });
  return (
    <div className="toolbar proof_range" role="group" aria-label="Range">
      <Lengths
        lengths={lengths}
        shown_ms={span.to - span.from}
        choose={({ length_ms }) => {
          const to = endOfHour(now());
          choose({ from: to - length_ms, to });
        }}
      />
      <Moment
        label="From"
        at={span.from}
        set={(from) => set({ from })}
        faultOf={(from = span.from) => (from < span.to ? undefined : 'Must be before the end.')}
      />
      <Moment
        label="Until"
        at={span.to}
        set={(to) => set({ to })}
        faultOf={(to = span.to) => (span.from < to ? undefined : 'Must be after the start.')}
      />
      {row.model === 'events' && (
        <NativeSelect
          size="xs"
          label="Of that time"
          value={by}
          onChange={({ target }) => choose(span, target.value as Clock)}
          data={times}
        />
      )}
    </div>
  );
}

function Proven({ proof }: { proof: Proof }) {
  const { ids } = useExport();
  const latest = useQuery(latestVerifications(ids)).data?.results.find(
    ({ status }) => status === 'Completed',
  );
  const rest = useRest(proof);
  return (
    <section aria-label="Proof">
      <p className="proof_sentence" role="status">
        {provenInWords(proof.totals)}
      </p>
      <Through latest={latest} />
      {proof.totals.delivered === null && <p>{proof.detail}</p>}
      {rest !== undefined && rest.length > 0 && (
        <dl className="facts">
          {rest.map(({ name, rows, tone }) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd className={tone}>{rows.toLocaleString('en')}</dd>
            </div>
          ))}
        </dl>
      )}
      {rest?.some(({ name }) => name === before_export) === true && <Earlier />}
      <Periods proof={proof} />
    </section>
  );
}

/**
 * Returns rows that are not simply delivered; undefined until those from before the export are
 * counted.
 */
function useRest({ totals, by, after, before }: Proof) {
  const { row, ids } = useExport();
  const since = Date.parse(row.start_at ?? row.created_at);
  const span = { from: Date.parse(after), to: Math.min(since, Date.parse(before)) };
  const has_earlier =
    by === 'inserted_at' && (totals.not_delivered ?? 0) > 0 && span.from < span.to;
  const { data } = useQuery({ ...proofOf(ids, span, by), enabled: has_earlier });
  if (!has_earlier) return restInWords(totals, 0);
  return data && restInWords(totals, data.totals.not_delivered ?? 0);
}

/** Says why rows from before the export are not delivered, and how to deliver them. */
function Earlier() {
  const { row } = useExport();
  return (
    <p className="muted">
      The schedule delivers rows that are ingested after the start of the export.{' '}
      <Link
        to="/projects/$project_id/exports/$export_id"
        params={{ project_id: String(row.team_id), export_id: row.id }}
        search={{ backfill: by_dates }}
      >
        Start a backfill
      </Link>{' '}
      to deliver earlier rows too.
    </p>
  );
}

/** Shows until when the deliveries were found at the destination. */
function Through({ latest }: { latest: Verification | undefined }) {
  const { row, ids } = useExport();
  const zone = useContext(ZoneContext);
  const { data } = useQuery(overviewOf(String(row.team_id), row.id));
  const found = useQuery(latestDeviations(ids)).data?.results ?? [];
  const standing = data?.results[0];
  if (standing === undefined) return <p className="proof_through">…</p>;
  const { verified_through, verification } = standing;
  const { text, tone } = throughInWords(verified_through, latest, verification, found, (at) =>
    dated(at, zone),
  );
  return (
    <p className="proof_through">
      <span className={tone}>
        <Sentence text={text} />
      </span>
    </p>
  );
}

const sumOf = (one: number | null, other: number | null) =>
  one === null || other === null ? null : one + other;

/** The columns of the table; the last ones only if they have rows. */
const count_columns: Record<string, (counts: ProofCounts) => number | null> = {
  Stored: ({ stored }) => stored,
  Delivered: ({ delivered }) => delivered,
  'Left out': ({ left_out }) => left_out,
  'Set aside': ({ set_aside }) => set_aside,
  Waiting: ({ waiting, in_progress }) => sumOf(waiting, in_progress),
  'Not delivered': ({ not_delivered }) => not_delivered,
  Erased: ({ erased }) => erased,
};

function Periods({ proof }: { proof: Proof }) {
  const zone = useContext(ZoneContext);
  if (proof.periods.length === 0)
    return (
      <Empty title="No rows of this range are stored">
        Choose a longer range, or the other time of the events.
      </Empty>
    );
  const shown = Object.entries(count_columns).filter(
    ([name, rowsOf]) => name === 'Stored' || (rowsOf(proof.totals) ?? 0) > 0,
  );
  const numbers: Columns<Proof['periods'][number]> = Object.fromEntries(
    shown.map(([name, rowsOf]) => [
      name,
      { number: (period) => (rowsOf(period) ?? 0).toLocaleString('en') },
    ]),
  );
  const unit = proof.unit.replace('every ', '');
  return (
    <Seldom summary={`${counted(proof.periods.length, 'period')} with rows, by ${unit}`}>
      <Rows
        rows={proof.periods.toReversed()}
        keyOf={({ start_at }) => start_at}
        columns={{ From: ({ start_at }) => <Instant at={start_at} is_exact />, ...numbers }}
      />
      <p className="muted small">
        Rows ingested after {exactly(proof.counted_until, zone)} are not counted yet.
      </p>
    </Seldom>
  );
}
