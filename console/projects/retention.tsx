import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { FormEvent } from 'react';
import type { ProjectRow } from '../../server/api/projects/schema.ts';
import type { RetentionAnswer } from '../../server/api/retention/schema.ts';
import { ChoiceField, TextField } from '../form/fields.tsx';
import { Form } from '../form/form.tsx';
import { etagOf, reading } from '../http/reading.ts';
import { useDone } from '../page/section.tsx';
import { counted } from '../page/text/quantities.ts';
import { Shown } from '../page/shown.tsx';
import { exactly, written } from '../time/words.ts';
import { projectOf } from './project.ts';
import { forecastOf, keptBy } from './retention_words.ts';
import { pathTo } from '../http/path.ts';
import { numberOf } from '../form/values.ts';

const choices = [
  { value: 'forever', label: 'For ever' },
  { value: 'days', label: 'For some days' },
  { value: 'until_delivered', label: 'Until every export has delivered them' },
];

const days_max = 36_500;

type Setting = { retention: ProjectRow['retention']; retention_days: string };

/** Shows the retention of a project, and the effect of the form's setting now. */
export function ChangeRetention({ project }: { project: ProjectRow }) {
  const done = useDone();
  const [setting, setSetting] = useState<Setting>({
    retention: project.retention,
    retention_days: String(project.retention_days),
  });
  const read = (event: FormEvent<HTMLDivElement>) => {
    const { name, value } = event.target as HTMLInputElement;
    setSetting((before) => ({ ...before, [name]: value }));
  };
  // Invalid days are not sent.
  const asked =
    setting.retention === 'forever'
      ? { ...setting, retention_days: String(project.retention_days) }
      : setting;
  const forecast = useQuery({
    ...forecastFor(project.id, asked),
    enabled: isDays(asked.retention_days),
  });
  return (
    <Form
      method="PATCH"
      path={pathTo('/api/projects/:id/', { id: project.id })}
      part="retention"
      if_match={etagOf(project)}
      body={({ retention, retention_days }) =>
        retention === 'forever'
          ? { retention }
          : { retention, retention_days: numberOf(String(retention_days)) }
      }
      asks={({ retention }) =>
        retention === 'forever' || !isDays(asked.retention_days)
          ? undefined
          : {
              title: 'Remove older rows?',
              text:
                (forecast.data === undefined ? '' : `${told(forecast.data, project)} `) +
                'It starts in an hour at the earliest, and removed rows cannot be restored.',
              button: 'Save, and remove them',
              keep: 'Keep them',
            }
      }
      done={() => done('It was saved.', projectOf(String(project.id)))}
      button="Save"
      about="the retention"
    >
      <Fields project={project} read={read} has_days={setting.retention !== 'forever'} />
      {isDays(asked.retention_days) && (
        <Shown query={forecast}>
          {(answer) => (
            <p aria-live="polite">
              {told(answer, project)} {keptBy(answer)} <Latest answer={answer} project={project} />
            </p>
          )}
        </Shown>
      )}
    </Form>
  );
}

function Fields({
  project,
  read,
  has_days,
}: {
  project: ProjectRow;
  read: (event: FormEvent<HTMLDivElement>) => void;
  has_days: boolean;
}) {
  return (
    <>
      <p>
        Sluice can remove old events and replaced versions of persons. Persons and delivered rows
        stay.
      </p>
      <div className="together" onInput={read} onChange={read}>
        <ChoiceField
          name="retention"
          label="Keep events"
          options={choices}
          value={project.retention}
        />
        <div hidden={!has_days}>
          <TextField
            name="retention_days"
            label="Days"
            hint="Counted from their ingestion."
            value={String(project.retention_days)}
            inputMode="numeric"
          />
        </div>
      </div>
    </>
  );
}

function Latest({ answer, project }: { answer: RetentionAnswer; project: ProjectRow }) {
  const [latest] = answer.removals;
  if (latest === undefined) return null;
  return (
    <>
      The latest removal, of {counted(latest.events ?? 0, 'event')},{' '}
      {latest.ended_at === null ? 'has run since' : 'ended'}{' '}
      {exactly(latest.ended_at ?? latest.started_at, project.timezone)}.
    </>
  );
}

function forecastFor(project_id: number, { retention, retention_days }: Setting) {
  const asked = { retention, retention_days: numberIn(retention_days) };
  return reading(pathTo('/api/projects/:project_id/retention/', { project_id }, asked), {
    is_busy: ({ removals }) => removals.some(({ ended_at }) => ended_at === null),
  });
}

function told(answer: RetentionAnswer, { timezone }: ProjectRow): string {
  return forecastOf(answer, (at) => `${written(at, timezone)} (${timezone})`);
}

/** Returns the typed whole number; undefined for other texts. */
function numberIn(text: string): number | undefined {
  return /^\s*-?\d{1,9}\s*$/.test(text) ? Number(text) : undefined;
}

/** Returns true if the API accepts the days, because only then a forecast exists. */
function isDays(text: string): boolean {
  const days = numberIn(text) ?? 0;
  return days > 0 && days <= days_max;
}
