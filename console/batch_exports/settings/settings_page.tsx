import { Checkbox } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { ReactNode } from 'react';
import type { BatchExport } from '../../../server/api/batch_exports/schema.ts';
import type { Config } from '../../destinations/config.ts';
import { destinationTypes } from '../../destinations/destinations.ts';
import { exportPath, useExport } from '../export_context.ts';
import { AsYaml } from '../../configuration/as_yaml.tsx';
import { Form } from '../../form/form.tsx';
import { TypedForm } from '../../form/typed_form.tsx';
import { etagOf } from '../../http/reading.ts';
import { Section, useDone } from '../../page/section.tsx';
import { Sentence } from '../../page/sentence.tsx';
import { intervals } from '../form/draft.ts';
import { configFacts } from './config_facts.ts';
import { counted, inTime } from '../../page/quantities.ts';
import { Instant } from '../../time/instant.tsx';
import { pathTo } from '../../http/path.ts';
import type { ExportIds } from '../export_context.ts';

/** Shows an export's settings, its pause and its deletion. */
export function SettingsPage() {
  const { row, ids } = useExport();
  return (
    <>
      <Section title="Settings">
        <Facts row={row} />
        <AsYaml kind="batch_export" id={row.id} />
      </Section>
      <Section title={row.paused ? 'Paused' : 'Pause'}>
        {row.paused ? <Unpause row={row} ids={ids} /> : <Pause row={row} ids={ids} />}
      </Section>
      <Section title="Delete">
        <Delete row={row} ids={ids} />
      </Section>
    </>
  );
}

function Facts({ row }: { row: BatchExport }) {
  const { destination, custom_query, start_at, end_at, freshness_seconds } = row;
  const facts: [string, ReactNode][] = [
    ['Name', <bdi key="name">{row.name}</bdi>],
    ['Model', custom_query === null ? row.model : `a query over ${row.model}`],
    ['Interval', intervals[row.interval]],
    ['Starts', start_at === null ? 'when it was created' : <Instant at={start_at} is_exact />],
    ['Ends', end_at === null ? 'never' : <Instant at={end_at} is_exact />],
    [
      'Late after',
      freshness_seconds === null
        ? 'two intervals, the settle time, and ten minutes'
        : inTime(freshness_seconds),
    ],
    ['Refused rows', refusedRows(row)],
    ['Created', <Instant key="created" at={row.created_at} is_exact />],
    ['Changed', <Instant key="changed" at={row.last_updated_at} is_exact />],
    ['Destination', destination.type],
  ];
  const types = useQuery(destinationTypes);
  const type = types.data?.results.find((one) => one.type === destination.type);
  // Titles do not take the place of keys under the eyes of a reader.
  const config = types.isPending ? [] : configFacts(type, (destination.config ?? {}) as Config);
  return (
    <>
      <dl className="settings">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
        {config.map(({ key, title, text, is_word }) => (
          <div key={key}>
            <dt>{title}</dt>
            <dd>{is_word ? <span className="muted">{text}</span> : <code>{text}</code>}</dd>
          </div>
        ))}
      </dl>
      <p className="muted small">Secrets are stored, and never shown.</p>
      {custom_query !== null && (
        <>
          <h3>Query</h3>
          <pre className="query" tabIndex={0} role="region" aria-label="Query">
            {custom_query}
          </pre>
        </>
      )}
    </>
  );
}

function refusedRows(row: BatchExport): string {
  if (row.rejected_rows === 'stop') return 'stop the run';
  return (
    `set aside: at most ${counted(row.rejected_rows_max, 'row')} and ` +
    `${row.rejected_percent_max} percent of a run`
  );
}

type Own = { row: BatchExport; ids: ExportIds };

function Pause({ row, ids }: Own) {
  const done = useDone();
  return (
    <>
      <p>A paused export plans no runs. Runs in progress and backfills continue.</p>
      <Form
        path={pathTo('/api/projects/:project_id/batch_exports/:id/pause/', ids)}
        if_match={etagOf(row)}
        done={() => done('The export is paused.', { queryKey: [exportPath(ids)] })}
        button="Pause the export"
        tone="danger"
      />
    </>
  );
}

function Unpause({ row, ids }: Own) {
  const done = useDone();
  const [makes_up, setMakesUp] = useState(true);
  return (
    <>
      <p>
        No runs are planned
        {row.last_paused_at !== null && (
          <>
            {' '}
            since <Instant at={row.last_paused_at} is_exact />
          </>
        )}
        . <Sentence text={row.pause_reason?.detail ?? ''} />
      </p>
      <Form
        path={pathTo('/api/projects/:project_id/batch_exports/:id/unpause/', ids)}
        body={() => ({ backfill: makes_up })}
        if_match={etagOf(row)}
        done={() => done('The export is resumed.', { queryKey: [exportPath(ids)] })}
        button="Resume the export"
      >
        <Checkbox
          label="Deliver the missed intervals"
          checked={makes_up}
          onChange={({ target }) => setMakesUp(target.checked)}
        />
      </Form>
    </>
  );
}

function Delete({ row, ids }: Own) {
  const navigate = useNavigate();
  return (
    <TypedForm
      name={row.name}
      text={
        'Sluice deletes its runs, receipts and ledger, and cancels runs in progress. Delivered ' +
        'rows stay at the destination. A new export would deliver them again.'
      }
      path={exportPath(ids)}
      if_match={etagOf(row)}
      done={() =>
        navigate({
          to: '/projects/$project_id/exports',
          params: { project_id: String(row.team_id) },
        })
      }
      button="Delete the export"
    />
  );
}
