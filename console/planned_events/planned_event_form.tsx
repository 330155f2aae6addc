import type { PlannedEventRow } from '../../server/api/planned_events/schema.ts';
import { ChoiceField, TextField } from '../form/fields.tsx';
import { Form } from '../form/form.tsx';
import { LongField } from '../form/long_field.tsx';
import type { Values } from '../form/values.ts';
import { etagOf } from '../http/reading.ts';
import { mode_options, plannedEventPath, plannedEventsPath } from './planned_events.ts';
import { linesOf, propertiesOf } from './property_lines.ts';

/** Adds an event to the plan, or changes it there. */
export function PlannedEventForm({
  project_id,
  stored,
  done,
}: {
  project_id: string;
  /** The planned event to change; undefined for a new one. */
  stored?: PlannedEventRow;
  done: (saved: PlannedEventRow) => unknown;
}) {
  const is_new = stored === undefined;
  return (
    <Form
      method={is_new ? 'POST' : 'PATCH'}
      path={is_new ? plannedEventsPath(project_id) : plannedEventPath(project_id, stored.id)}
      if_match={is_new ? undefined : etagOf(stored)}
      body={plannedOf}
      done={done}
      clears={is_new}
      button={is_new ? 'Add event' : 'Save event'}
    >
      <TextField name="event" label="Event" value={stored?.event ?? ''} inputMode="text" />
      <LongField
        name="description"
        label="Description"
        rows={2}
        defaultValue={stored?.description ?? ''}
      />
      <LongField
        name="properties"
        label="Properties"
        hint={
          'One per line: name, type (any, text, number, integer, boolean, list, object), ' +
          'required, allowed values. For example: plan text required ["free", "pro"]'
        }
        defaultValue={linesOf(stored?.properties ?? [])}
      />
      <Fates stored={stored} />
    </Form>
  );
}

/** The treatment of properties and events that differ from the plan. */
function Fates({ stored }: { stored: PlannedEventRow | undefined }) {
  return (
    <>
      <ChoiceField
        name="other_properties"
        label="Other properties"
        options={[
          { value: 'allow', label: 'Allow' },
          { value: 'report', label: 'Report' },
        ]}
        value={stored?.other_properties ?? 'allow'}
      />
      <ChoiceField
        name="mode"
        label="If an event differs"
        options={mode_options}
        value={stored?.mode ?? 'warn'}
      />
    </>
  );
}

function plannedOf(values: Values) {
  const text = (name: string) => String(values[name] ?? '');
  return {
    event: text('event'),
    description: text('description'),
    properties: propertiesOf(text('properties')),
    other_properties: text('other_properties') as PlannedEventRow['other_properties'],
    mode: text('mode') as PlannedEventRow['mode'],
  };
}
