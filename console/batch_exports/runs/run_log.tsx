import { Button, NativeSelect, TextInput } from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useContext, useState } from 'react';
import type { LogEntry } from '../../../server/api/batch_exports/logs/schema.ts';
import type { BatchExportRun } from '../../../server/api/batch_exports/runs/schema.ts';
import { useRestedText } from '../../form/rested_text.ts';
import { Shown } from '../../page/shown.tsx';
import { useDrawnDate } from '../../time/dates.ts';
import { ZoneContext } from '../../time/instant.tsx';
import { exactly, seconds } from '../../time/words.ts';
import { useExport } from '../export_context.ts';
import { logSpanOf } from './attempts.ts';
import { logOf } from './runs.ts';

const route = getRouteApi('/signed_in/projects/$project_id/exports/$export_id/runs/$run_id');

const levels = {
  INFO: { label: 'Info and more important', asked: ['INFO', 'WARNING', 'ERROR'] },
  WARNING: { label: 'Warnings and errors', asked: ['WARNING', 'ERROR'] },
  ERROR: { label: 'Errors', asked: ['ERROR'] },
} as const;
const page_size = 100;
const limit_max = 500;

/** The log of a run, newest line first; updated while the run is in progress. */
export function RunLog({ run }: { run: BatchExportRun }) {
  const { query, limit, setLimit, change, wanted, text, attempt } = useLines(run);
  return (
    <section className="part">
      <h2>Log</h2>
      <div className="filters">
        <NativeSelect
          size="xs"
          label="Level"
          value={wanted ?? ''}
          onChange={({ target }) => change({ level: target.value })}
          data={[
            { value: '', label: 'All' },
            ...Object.entries(levels).map(([value, { label }]) => ({ value, label })),
          ]}
        />
        <AttemptFilter
          run={run}
          attempt={attempt ?? ''}
          set={(chosen) => change({ attempt: chosen })}
        />
        <TextFilter text={text ?? ''} set={(typed) => change({ text: typed })} />
      </div>
      <Shown query={query}>
        {({ results, count }) => (
          <>
            <Lines lines={results} />
            {count > results.length && limit < limit_max && (
              <Button
                size="compact-sm"
                onClick={() => setLimit((lines) => Math.min(lines + page_size, limit_max))}
              >
                Show more of {count.toLocaleString('en')} lines
              </Button>
            )}
            {count > results.length && limit >= limit_max && (
              <p className="muted">
                The newest {limit_max} of {count.toLocaleString('en')} lines: filter for others.
              </p>
            )}
          </>
        )}
      </Shown>
    </section>
  );
}

/** Returns the lines that match the filters of the address. */
function useLines(run: BatchExportRun) {
  const { ids } = useExport();
  const { level, text, attempt } = route.useSearch();
  const navigate = route.useNavigate();
  const [limit, setLimit] = useState(page_size);
  const wanted = level !== undefined && Object.hasOwn(levels, level) ? level : undefined;
  const asked = wanted === undefined ? undefined : levels[wanted as keyof typeof levels].asked;
  const query = useQuery({
    ...logOf(ids, run.id, { level: asked, text, limit, ...logSpanOf(run, Number(attempt)) }),
    placeholderData: keepPreviousData,
  });
  const change = (changed: { level?: string; text?: string; attempt?: string }) =>
    void navigate({
      search: (before) => ({ ...before, ...changed }),
      replace: true,
      resetScroll: false,
    });
  return { query, limit, setLimit, change, wanted, text, attempt };
}

function AttemptFilter({
  run: { steps },
  attempt,
  set,
}: {
  run: BatchExportRun;
  attempt: string;
  set: (attempt: string) => void;
}) {
  if (steps.length < 2) return undefined;
  return (
    <NativeSelect
      size="xs"
      label="Attempt"
      value={attempt}
      onChange={({ target }) => set(target.value)}
      data={[
        { value: '', label: 'All' },
        ...steps.map((one) => ({ value: `${one.attempt}`, label: `${one.attempt}` })),
      ]}
    />
  );
}

function TextFilter({ text, set }: { text: string; set: (text: string) => void }) {
  const [typed, type] = useRestedText(text, set);
  return (
    <TextInput
      size="xs"
      label="Text"
      value={typed}
      maxLength={1000}
      autoComplete="off"
      onChange={({ target }) => type(target.value)}
    />
  );
}

const tones = { DEBUG: 'muted', INFO: '', WARNING: 'warn', ERROR: 'bad' } as const;

function Lines({ lines }: { lines: LogEntry[] }) {
  const zone = useContext(ZoneContext);
  useDrawnDate(lines.length > 0);
  if (lines.length === 0) return <p className="muted">No lines match.</p>;
  return (
    <ol className="log" aria-label="Log, newest first">
      {lines.map(({ timestamp, level, message }, index) => (
        <li key={`${timestamp} ${lines.length - index}`}>
          <time dateTime={timestamp} title={exactly(timestamp, zone)}>
            {seconds(timestamp, zone)}
          </time>{' '}
          <span className={tones[level]}>{level}</span> {message}
        </li>
      ))}
    </ol>
  );
}
