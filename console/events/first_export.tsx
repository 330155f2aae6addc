import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { batchExports } from '../batch_exports/batch_exports.ts';
import { Form } from '../form/form.tsx';
import { ask } from '../http/ask.ts';
import { Section, useDone } from '../page/section.tsx';
import { now } from '../time/now.ts';
import { dayUntil } from './day_until.ts';
import type { Newest } from './events.ts';
import { pathTo } from '../http/path.ts';

const first_export = {
  name: 'First export, hourly',
  model: 'events',
  interval: 'hour',
  destination: {
    type: 'File',
    config: {
      prefix: 'events/day={local_year}-{local_month}-{local_day}',
      file_format: 'Parquet',
      compression: 'zstd',
    },
  },
} as const;

type Given = { project_id: string; newest: Newest['results'][number] };

/**
 * Offers a button, when events but no export exist. It creates an export, and a backfill of the day
 * before the newest event, so that a result appears at once. If the export is created and its
 * backfill is refused, the next press only requests the backfill.
 */
export function FirstExport({ project_id, newest }: Given) {
  const list = batchExports(project_id, 1);
  const { data } = useQuery(list);
  const navigate = useNavigate();
  const done = useDone();
  const [created, setCreated] = useState<string>();
  if (data === undefined || (data.count > 0 && created === undefined)) return undefined;
  const backfillOf = (id: string) =>
    pathTo('/api/projects/:project_id/batch_exports/:id/backfill/', { project_id, id });
  const range = () => dayUntil(newest.timestamp, now());
  const leave = async (export_id: string) => {
    await done('The export was created.', list);
    const params = { project_id, export_id };
    await navigate({ to: '/projects/$project_id/exports/$export_id', params });
  };
  return (
    <Section title="Your first export">
      <p>
        Your project has events. This creates an hourly export to Parquet files in the export folder
        of the server. It delivers the last day at once.
      </p>
      {created === undefined ? (
        <Form
          path={pathTo('/api/projects/:project_id/batch_exports/', { project_id })}
          body={() => first_export}
          done={async ({ id }) => {
            const outcome = await ask('POST', backfillOf(id), { body: range() });
            if (outcome.ok) return leave(id);
            setCreated(id);
            throw outcome.problem;
          }}
          button="Create the first export"
        />
      ) : (
        <Form
          path={backfillOf(created)}
          body={range}
          done={() => leave(created)}
          button="Deliver the last day"
        />
      )}
    </Section>
  );
}
