import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi } from '@tanstack/react-router';
import { useContext } from 'react';
import type { Static } from 'typebox';
import type { BatchExportRun, Receipt } from '../../../server/api/batch_exports/runs/schema.ts';
import { addressOf } from '../../http/address.ts';
import { CommandLine } from '../../page/around/command_line.tsx';
import { CopyButton } from '../../page/copy_button.tsx';
import { NoSuch, Shown } from '../../page/shown.tsx';
import { useDrawnDate } from '../../time/dates.ts';
import { Instant, ZoneContext } from '../../time/instant.tsx';
import { exactly, seconds } from '../../time/words.ts';
import { useInLabels } from '../../destinations/destinations.ts';
import { useExport } from '../export_context.ts';
import { useRunsFollowed } from '../following.ts';
import { counted, inBytes } from '../../page/text/quantities.ts';
import { Table } from '../../page/tables/table.tsx';
import { runsOfSlot } from '../slots/slots.ts';
import { stateOfRun } from '../state.ts';
import { Mark, StateMark } from '../state_mark.tsx';
import { visibleAfter } from '../visible_after.ts';
import { AttemptBars } from './attempt_bars.tsx';
import { RunActions } from './run_actions.tsx';
import { runsOf } from './listed_run.ts';
import type { ListedRun } from './listed_run.ts';
import { NextTry } from './next_try.tsx';
import { retryOf } from './run_filters.ts';
import { RunLog } from './run_log.tsx';
import { oneRun, receiptOf, receiptPath } from './runs.ts';
import { outcomeOf, stepsOf } from './steps.ts';

const route = getRouteApi('/signed_in/projects/$project_id/exports/$export_id/runs/$run_id');

/** One run: its result, its steps, its files, its receipt and its log. */
export function RunPage() {
  const params = route.useParams();
  const { ids } = useExport();
  const query = useQuery(oneRun(ids, params.run_id));
  const missing = (
    <NoSuch noun="run">
      <Link to="/projects/$project_id/exports/$export_id/runs" params={params}>
        The runs of this export
      </Link>
    </NoSuch>
  );
  return (
    <Shown query={query} missing={missing}>
      {(run) => (
        <>
          <Outcome run={run} />
          <Steps run={run} />
          {run.status === 'Completed' && <Files run={run} />}
          <RunLog run={run} />
        </>
      )}
    </Shown>
  );
}

function Outcome({ run }: { run: BatchExportRun }) {
  const { row } = useExport();
  const inLabels = useInLabels(row.destination.type);
  const { tone, shape } = stateOfRun(run);
  const parameters = { project_id: String(row.team_id), export_id: row.id };
  const { retry, answer } = useRetryOf(run);
  const after =
    run.kind === 'scheduled' ? visibleAfter(run)?.replace('arrive', 'arrived') : undefined;
  return (
    <section className="part">
      <div className="part_head">
        <h2>
          Run of <Instant at={run.data_interval_start} is_exact /> to{' '}
          <Instant at={run.data_interval_end} is_exact />
        </h2>
        <span className="row_actions">
          <RunActions run={run} retry={answer} size="compact-sm" />
        </span>
      </div>
      <p role="status" className={`outcome ${tone === 'muted' ? '' : tone}`}>
        <Mark tone={tone} shape={shape} /> {inLabels(outcomeOf(run))}{' '}
        {run.next_try_at !== null && <NextTry at={run.next_try_at} />}
      </p>
      {after !== undefined && <p className="muted small">Its rows were visible {after}.</p>}
      {retry !== undefined && (
        <p>
          Retried as{' '}
          <Link
            to="/projects/$project_id/exports/$export_id/runs/$run_id"
            params={{ ...parameters, run_id: retry.id }}
          >
            run {retry.id.slice(-8)}
          </Link>
          : <StateMark state={stateOfRun(retry)} />
        </p>
      )}
      <p className="muted small">
        Run <code>{run.id}</code>, delivery <code>{run.delivery_id}</code>
        {run.error_code !== null && (
          <>
            , error{' '}
            <a href={addressOf(`/docs/errors/${run.error_code}`)}>
              <code>{run.error_code}</code>
            </a>
          </>
        )}
        .{' '}
        <Link
          to="/projects/$project_id/exports/$export_id"
          params={parameters}
          search={{ selected_from: run.data_interval_start, selected_to: run.data_interval_end }}
        >
          Its slots on the map
        </Link>
      </p>
    </section>
  );
}

/** Returns the run that retries this one, if this one failed, and the answer to a retry. */
function useRetryOf(run: BatchExportRun): {
  retry: ListedRun | undefined;
  answer: ListedRun['retry'];
} {
  const { ids } = useExport();
  const [from, to] = [Date.parse(run.data_interval_start), Date.parse(run.data_interval_end)];
  const { data, refetch } = useQuery({
    ...runsOfSlot(ids, { from, to }),
    enabled: run.finished_at !== null && run.status !== 'Completed',
  });
  useRunsFollowed(refetch);
  const listed = runsOf(data === undefined ? [] : [data]);
  return {
    retry: retryOf(run, listed),
    answer: listed.find(({ id }) => id === run.id)?.retry ?? null,
  };
}

function Steps({ run }: { run: BatchExportRun }) {
  const steps = stepsOf(run);
  const inLabels = useInLabels(useExport().row.destination.type);
  return (
    <section className="part">
      <h2>Steps</h2>
      <AttemptBars run={run} />
      <Table className="cards">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Step</Table.Th>
            <Table.Th>At</Table.Th>
            <Table.Th className="number">Took</Table.Th>
            <Table.Th>Result</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {steps.map(({ name, at, took, told }) => (
            <Table.Tr key={name}>
              <Table.Th scope="row">{name}</Table.Th>
              <Table.Td data-label="At">
                {at === null ? <span className="muted">-</span> : <ToTheSecond at={at} />}
              </Table.Td>
              <Table.Td data-label="Took" className="number">
                {took ?? <span className="muted">-</span>}
              </Table.Td>
              <Table.Td data-label="Result">{inLabels(told)}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </section>
  );
}

function ToTheSecond({ at }: { at: string }) {
  const zone = useContext(ZoneContext);
  useDrawnDate(true);
  return (
    <time dateTime={at} title={exactly(at, zone)}>
      {seconds(at, zone)}
    </time>
  );
}

/** The slices with their files, from the receipt. */
function Files({ run }: { run: BatchExportRun }) {
  const { ids } = useExport();
  const query = useQuery(receiptOf(ids, run.id));
  return (
    <section className="part">
      <div className="part_head">
        <h2>Receipt</h2>
        <Button
          component="a"
          size="compact-sm"
          href={addressOf(receiptPath(ids, run.id))}
          download={`receipt_${run.id}.json`}
        >
          Download the receipt
        </Button>
      </div>
      <Shown query={query}>
        {(receipt) => (
          <>
            <p>
              {counted(receipt.source_records, 'row')} counted at the source,{' '}
              {counted(receipt.records, 'row')} written,{' '}
              {receipt.rejected_records !== undefined &&
                `${counted(receipt.rejected_records, 'row')} refused, `}
              {inBytes(receipt.bytes)} in {counted(receipt.slices.length, 'slice')}.{' '}
              <CommandLine words="verify" /> checks the signature ({receipt.signature.algorithm}).
            </p>
            {receipt.slices.length > 0 && <Slices slices={receipt.slices} />}
            {receipt.slices.length > slices_max && (
              <p className="muted">The first {slices_max} are shown; the receipt has all.</p>
            )}
          </>
        )}
      </Shown>
    </section>
  );
}

const slices_max = 200;

function Slices({ slices }: { slices: Static<typeof Receipt>['slices'] }) {
  return (
    <Table className="cards">
      <Table.Thead>
        <Table.Tr>
          <Table.Th className="number">Slice</Table.Th>
          <Table.Th>File, object or table</Table.Th>
          <Table.Th className="number">Rows</Table.Th>
          <Table.Th className="number">Bytes</Table.Th>
          <Table.Th>SHA-256</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {slices.slice(0, slices_max).map((slice) => (
          <Table.Tr key={slice.number}>
            <Table.Td data-label="Slice" className="number">
              {slice.number + 1}
            </Table.Td>
            <Table.Td data-label="File">
              <code>{slice.name}</code>
            </Table.Td>
            <Table.Td data-label="Rows" className="number">
              {slice.records.toLocaleString('en')}
            </Table.Td>
            <Table.Td data-label="Bytes" className="number">
              {slice.bytes.toLocaleString('en')}
            </Table.Td>
            <Table.Td data-label="SHA-256">
              <code className="small">{slice.sha256}</code>{' '}
              <CopyButton text={slice.sha256} what={`the SHA-256 of ${slice.name}`} />
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}
