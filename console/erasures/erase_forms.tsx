import { useNavigate } from '@tanstack/react-router';
import { counted } from '../batch_exports/quantities.ts';
import { ChoiceField, TextField } from '../form/fields.tsx';
import { Form } from '../form/form.tsx';
import { LongField } from '../form/long_field.tsx';
import type { Question } from '../form/question.tsx';
import { filterInWords, filterOf, isWhole, linesOf } from './conditions.ts';
import { erasurePath } from './erasures.ts';
import type { ErasureRow } from './erasures.ts';

/** The question before an erasure; none where the API has to say what is missing. */
function asked(is_said: boolean, title: string, what: string): Question | undefined {
  if (!is_said) return undefined;
  return {
    title,
    text:
      `${what} leave the store and what was delivered, where that can be rewritten. It cannot be ` +
      'taken back.',
    button: 'Erase them',
    keep: 'Leave everything as it is',
    typed: 'erase',
  };
}

/** Asks for the erasure of persons, each by any of their distinct ids. */
export function ErasePersons({ project_id }: { project_id: string }) {
  const done = useErased(project_id);
  return (
    <Form<ErasureRow>
      path={erasurePath(project_id)}
      part="persons"
      body={({ distinct_ids, late_events }) => ({
        distinct_ids: linesOf(distinct_ids),
        late_events,
      })}
      asks={({ distinct_ids }) => {
        const ids = linesOf(distinct_ids).length;
        return asked(
          ids > 0,
          `Erase the persons of ${counted(ids, 'distinct id')}?`,
          'They, and all their events under every distinct id that they have,',
        );
      }}
      done={done}
      button="Erase these persons"
      tone="danger"
    >
      <LongField
        name="distinct_ids"
        label="Distinct ids"
        hint="One a line, any one of each person: all others are found."
      />
      <ChoiceField
        name="late_events"
        label="Events of them that come later"
        value="refuse"
        options={[
          { value: 'refuse', label: 'are not stored' },
          { value: 'anonymize', label: 'are stored under nobody, without properties' },
        ]}
      />
    </Form>
  );
}

/** Asks for the erasure of the events that meet every condition. */
export function EraseEvents({ project_id }: { project_id: string }) {
  const done = useErased(project_id);
  return (
    <Form<ErasureRow>
      path={erasurePath(project_id)}
      part="events"
      body={(values) => ({ filter: filterOf(values) })}
      asks={(values) => {
        const filter = filterOf(values);
        const names = filter.events?.length ?? 0;
        const what = names === 0 ? 'events of every name' : `events of ${counted(names, 'name')}`;
        return asked(isWhole(filter), `Erase ${what}?`, filterInWords(filter));
      }}
      done={done}
      button="Erase these events"
      tone="danger"
    >
      <p className="muted">Events that meet every condition; persons stay.</p>
      <LongField name="filter__events" label="Names" hint="One a line; none: every name." />
      <TextField
        name="filter__after"
        label="From this day on (UTC)"
        type="date"
        autoComplete="off"
        is_optional
      />
      <TextField
        name="filter__before"
        label="Before this day (UTC)"
        type="date"
        autoComplete="off"
        is_optional
      />
      <LongField
        name="filter__properties"
        label="Properties"
        hint={
          'One a line: plan = trial, seats = 5, paid = true. The text of digits: zip = "04109".'
        }
      />
    </Form>
  );
}

/** Leads to the erasure that was asked for. */
function useErased(project_id: string) {
  const navigate = useNavigate();
  return ({ id }: ErasureRow) =>
    navigate({
      to: '/projects/$project_id/erasures/$erasure_id',
      params: { project_id, erasure_id: id },
    });
}
