import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useContext, useState } from 'react';
import type { ReactNode } from 'react';
import { counted } from '../page/text/quantities.ts';
import { ChoiceField, TextField } from '../form/fields.tsx';
import { Form } from '../form/form.tsx';
import { LongField } from '../form/long_field.tsx';
import type { Values } from '../form/values.ts';
import { Problem } from '../http/problem.ts';
import type { Question } from '../form/question.tsx';
import { ZoneContext } from '../time/instant.tsx';
import { filterInWords, filterOf, linesOf } from './conditions.ts';
import { erasuresPath, sizeOf } from './erasures.ts';
import type { ErasureRow } from './erasures.ts';
import type { ErasureAsked } from '../../server/api/erasures/schema.ts';

/** Returns the question before an erasure. */
function asked(title: string, what: string, size: ReactNode): Question {
  return {
    title,
    text: (
      <>
        {what} are deleted from the store, and from destinations that can be rewritten. You cannot
        undo this. {size}
      </>
    ),
    button: 'Erase them',
    keep: 'Cancel',
    typed: 'erase',
  };
}

/** Shows how much the erasure would delete now. */
function Size({ project_id, body }: { project_id: string; body: ErasureAsked }) {
  const { data, error } = useQuery(sizeOf(project_id, body));
  if (error !== null) return <span role="alert">Counting failed: {error.message}</span>;
  if (data === undefined) return <span className="muted">Sluice is counting.</span>;
  const ids = data.distinct_ids === 0 ? '' : `${counted(data.distinct_ids, 'distinct id')} and `;
  const refused = counted(data.refused_events, 'refused event');
  return (
    <strong aria-live="polite">
      It concerns {ids}
      {counted(data.events, 'event')}.
      {data.refused_events > 0 && ` Sluice also deletes all ${refused} of the project.`}
    </strong>
  );
}

/** A form to erase persons, each by any one of their distinct ids. */
export function ErasePersons({ project_id }: { project_id: string }) {
  const done = useErased(project_id);
  const checked = useChecked(project_id, (values) => ({
    distinct_ids: linesOf(values['distinct_ids']),
  }));
  return (
    <Form
      {...checked}
      path={erasuresPath(project_id)}
      part="persons"
      body={({ distinct_ids, late_events }) => ({
        distinct_ids: linesOf(distinct_ids),
        late_events,
      })}
      asks={(values) => {
        const distinct_ids = linesOf(values['distinct_ids']);
        return asked(
          `Erase the persons of ${counted(distinct_ids.length, 'distinct id')}?`,
          'They, and all their events under every distinct id that they have,',
          <Size project_id={project_id} body={{ distinct_ids }} />,
        );
      }}
      done={done}
      button="Erase these persons"
      tone="danger"
    >
      <LongField
        name="distinct_ids"
        label="Distinct ids"
        hint="One per line. Enter any distinct id of each person; Sluice finds the others."
      />
      <ChoiceField
        name="late_events"
        label="Later events of these persons"
        value="refuse"
        options={[
          { value: 'refuse', label: 'are not stored' },
          { value: 'anonymize', label: 'are stored without person and properties' },
        ]}
      />
    </Form>
  );
}

/** A form to erase the events that match every condition. */
export function EraseEvents({ project_id }: { project_id: string }) {
  const zone = useContext(ZoneContext);
  const done = useErased(project_id);
  const checked = useChecked(project_id, (values) => ({ filter: filterOf(values, zone) }));
  return (
    <Form
      {...checked}
      path={erasuresPath(project_id)}
      part="events"
      body={(values) => ({ filter: filterOf(values, zone) })}
      asks={(values) => {
        const filter = filterOf(values, zone);
        const names = filter.events?.length ?? 0;
        const what = names === 0 ? 'events of every name' : `events of ${counted(names, 'name')}`;
        return asked(
          `Erase ${what}?`,
          filterInWords(values, zone),
          <Size project_id={project_id} body={{ filter }} />,
        );
      }}
      done={done}
      button="Erase these events"
      tone="danger"
    >
      <p className="muted">Events that meet every condition; persons stay.</p>
      <LongField name="filter__events" label="Names" hint="One per line. If empty, every name." />
      <TextField
        name="filter__after"
        label={`From this day on (${zone})`}
        type="date"
        is_optional
      />
      <TextField
        name="filter__before"
        label={`Before this day (${zone})`}
        type="date"
        is_optional
      />
      <LongField
        name="filter__properties"
        label="Properties"
        hint={
          'One per line: plan = trial, seats = 5, paid = true. ' +
          'Quote text that looks like a number: zip = "04109".'
        }
      />
    </Form>
  );
}

/** Counts a form's rows before its question, so that a refusal appears at its field. */
function useChecked(project_id: string, bodyOf: (values: Values) => ErasureAsked) {
  const queries = useQueryClient();
  const [later, setLater] = useState<Problem>();
  const confirm = async (values: Values) => {
    try {
      await queries.fetchQuery(sizeOf(project_id, bodyOf(values)));
    } catch (error) {
      const refusal = error instanceof Problem && error.status === 400 ? error : undefined;
      setLater(refusal);
      return refusal === undefined;
    }
    setLater(undefined);
    return true;
  };
  return { confirm, later };
}

/** Opens the requested erasure. */
function useErased(project_id: string) {
  const navigate = useNavigate();
  return ({ id }: ErasureRow) =>
    navigate({
      to: '/projects/$project_id/erasures/$erasure_id',
      params: { project_id, erasure_id: id },
    });
}
