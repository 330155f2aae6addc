import { BoxField } from '../form/box_field.tsx';
import { TextField } from '../form/fields.tsx';
import { Form } from '../form/form.tsx';
import { LongField } from '../form/long_field.tsx';
import { OnlyFor } from '../signed_in/only_for.tsx';
import { Section, Seldom, useDone } from '../page/section.tsx';
import { jobsOf, payloadOf } from './jobs.ts';
import type { Job, JobField } from './jobs.ts';
import { pluginLogs } from './plugins.ts';
import { pathTo } from '../http/path.ts';

type Given = { project_id: string; config_id: number; is_enabled: boolean };

/** The public jobs of the plugin, each with its fields and a button. */
export function JobSection({
  public_jobs,
  organization_id,
  ...given
}: Given & { public_jobs: unknown; organization_id: string }) {
  const jobs = jobsOf(public_jobs);
  if (jobs.length === 0) return undefined;
  return (
    <Section title="Jobs">
      <OnlyFor organization_id={organization_id}>
        {!given.is_enabled && <p className="muted">They can be started once it is switched on.</p>}
        {jobs.map((job) => (
          <Seldom key={job.name} summary={job.name}>
            <Start job={job} {...given} />
          </Seldom>
        ))}
      </OnlyFor>
    </Section>
  );
}

function Start({ job: { name, fields }, project_id, config_id }: Given & { job: Job }) {
  const done = useDone();
  return (
    <Form
      path={pathTo('/api/projects/:project_id/plugin_configs/:id/jobs/', {
        project_id,
        id: config_id,
      })}
      part={name}
      body={(values) => ({ name, payload: payloadOf(fields, values) })}
      done={({ id }) =>
        done(
          `The job ${id.slice(-8)} is queued. The log will have its result.`,
          pluginLogs(project_id, config_id, undefined),
        )
      }
      button="Start"
      about={name}
    >
      {fields.map((field) => (
        <JobInput key={field.key} field={field} />
      ))}
    </Form>
  );
}

function JobInput({ field: { key, label, type, is_required, initial } }: { field: JobField }) {
  const name = `payload__${key}`;
  const common = { name, label, hint: is_required ? 'Required.' : '' };
  if (type === 'boolean') return <BoxField {...common} is_on={initial === 'true'} />;
  if (type === 'json') return <LongField {...common} defaultValue={initial} />;
  const text = { autoComplete: 'off', inputMode: type === 'number' ? 'decimal' : 'text' } as const;
  if (type === 'daterange')
    return (
      <>
        <TextField {...common} {...text} label={`${label}, from`} type="date" />
        <TextField {...text} name={`${name}__1`} label={`${label}, to`} type="date" />
      </>
    );
  return (
    <TextField {...common} {...text} type={type === 'date' ? 'date' : 'text'} value={initial} />
  );
}
