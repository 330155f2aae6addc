import { useState } from 'react';
import type { Static } from 'typebox';
import type { ImportedPlan } from '../../server/api/planned_events/schema.ts';
import { ChoiceField } from '../form/fields.tsx';
import { Form } from '../form/form.tsx';
import { LongField } from '../form/long_field.tsx';
import { pathTo } from '../http/path.ts';
import { Coded } from '../page/text/coded.tsx';
import { counted } from '../page/text/quantities.ts';
import { useDone } from '../page/section.tsx';
import { mode_options, plannedEvents } from './planned_events.ts';

type Imported = Static<typeof ImportedPlan>;

/** Imports a tracking plan of another tool, and lists the parts that Sluice does not compare. */
export function ImportSection({ project_id }: { project_id: string }) {
  const [imported, setImported] = useState<Imported>();
  const done = useDone();
  return (
    <>
      <Form
        path={pathTo('/api/projects/:project_id/planned_events/import/', { project_id })}
        part="import"
        body={({ plan, mode }) => ({ plan, mode: mode === 'refuse' ? 'refuse' : 'warn' }) as const}
        done={async (answer) => {
          setImported(answer);
          await done(resultOf(answer), plannedEvents(project_id));
        }}
        button="Import plan"
        tone="plain"
      >
        <LongField
          name="plan"
          label="Plan as JSON"
          hint="An export of Segment, RudderStack or Avo, with a JSON Schema for each event."
          rows={8}
          defaultValue=""
        />
        <ChoiceField
          name="mode"
          label="If a new event differs"
          options={mode_options}
          value="warn"
        />
      </Form>
      {imported !== undefined && imported.left_out.length > 0 && (
        <>
          <p className="warn">Sluice does not compare these parts of the file:</p>
          <ul>
            {imported.left_out.map(({ event, property, detail }, at) => (
              <li key={at}>
                {[event, property].filter((name) => name !== null).join(', ')}{' '}
                <Coded text={detail} />
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}

function resultOf({ created, changed, unchanged }: Imported): string {
  return (
    `${counted(created.length, 'event')} added, ${changed.length} changed, ` +
    `${unchanged} unchanged.`
  );
}
