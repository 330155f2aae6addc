import { Table } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi } from '@tanstack/react-router';
import { counted } from '../batch_exports/quantities.ts';
import { ChoiceField, TextField } from '../form/fields.tsx';
import { Form } from '../form/form.tsx';
import { LongField } from '../form/long_field.tsx';
import type { Question } from '../form/question.tsx';
import type { Values } from '../form/values.ts';
import { pathOf } from '../http/reading.ts';
import { Page } from '../page/page.tsx';
import { Pages } from '../page/pages.tsx';
import { Rows } from '../page/rows.tsx';
import { Section, Seldom } from '../page/section.tsx';
import { Shown } from '../page/shown.tsx';
import { Instant } from '../time/instant.tsx';
import { askedInWords, erasurePath, erasuresOf, step_words } from './erasures.ts';
import type { ErasureRow } from './erasures.ts';

const route = getRouteApi('/signed_in/projects/$project_id/erasures');

/** What was erased from the project, and the way to ask for it. */
export function ErasuresPage() {
  const { project_id } = route.useParams();
  const { page = 1 } = route.useSearch();
  const navigate = route.useNavigate();
  const list = erasuresOf(project_id, page);
  const query = useQuery(list);
  return (
    <Page title="Erasures" request={pathOf(list)}>
      <Section title="What leaves for good" is_wide>
        <p>
          Persons, or events that a filter fits, leave the store and what was delivered, where that
          can be rewritten. Each ends with a signed certificate.
        </p>
        <Shown query={query}>
          {({ count, results }) => (
            <>
              {count === 0 ? (
                <p className="empty">Nothing was erased yet.</p>
              ) : (
                <Rows columns={['What', 'Asked for', 'State', 'Copies']}>
                  {results.map((erasure) => (
                    <Row key={erasure.id} erasure={erasure} project_id={project_id} />
                  ))}
                </Rows>
              )}
              <Pages
                count={count}
                page={page}
                go={(to) => void navigate({ search: to === 1 ? {} : { page: to } })}
              />
            </>
          )}
        </Shown>
        <Seldom summary="Erase persons">
          <ErasePersons project_id={project_id} />
        </Seldom>
        <Seldom summary="Erase events">
          <EraseEvents project_id={project_id} />
        </Seldom>
      </Section>
    </Page>
  );
}

function Row({ erasure, project_id }: { erasure: ErasureRow; project_id: string }) {
  const { id, status, step, copies, created_at, created_by } = erasure;
  const delivered = copies.waiting + copies.rewriting + copies.rewritten + copies.yours;
  return (
    <Table.Tr>
      <Table.Th scope="row">
        <Link
          to="/projects/$project_id/erasures/$erasure_id"
          params={{ project_id, erasure_id: id }}
        >
          {askedInWords(erasure)}
        </Link>
      </Table.Th>
      <Table.Td data-label="Asked for" className="long">
        <Instant at={created_at} />
        {created_by !== null && ` by ${created_by}`}
      </Table.Td>
      <Table.Td data-label="State" className={status === 'Completed' ? 'good' : undefined}>
        {step_words[step]}
      </Table.Td>
      <Table.Td data-label="Copies">
        {delivered === 0 ? 'None' : `${copies.rewritten} of ${delivered} rewritten`}
        {copies.yours > 0 && `, ${copies.yours} yours`}
      </Table.Td>
    </Table.Tr>
  );
}

/** The lines of a field that say something. */
function linesOf(value: Values[string] | undefined): string[] {
  return String(value ?? '')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

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

function ErasePersons({ project_id }: { project_id: string }) {
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

function EraseEvents({ project_id }: { project_id: string }) {
  const done = useErased(project_id);
  return (
    <Form<ErasureRow>
      path={erasurePath(project_id)}
      part="events"
      body={({ filter__events, filter__after, filter__before }) => {
        const events = linesOf(filter__events);
        const at = (name: string, day: Values[string] | undefined) =>
          typeof day === 'string' && day !== '' ? { [name]: `${day}T00:00:00Z` } : {};
        return {
          filter: {
            ...(events.length === 0 ? {} : { events }),
            ...at('after', filter__after),
            ...at('before', filter__before),
          },
        };
      }}
      asks={({ filter__events, filter__after, filter__before }) => {
        const names = linesOf(filter__events).length;
        const is_said = names > 0 || Boolean(filter__after ?? filter__before);
        const what = names === 0 ? 'events of every name' : `events of ${counted(names, 'name')}`;
        return asked(
          is_said,
          `Erase ${what}?`,
          'All events that meet every condition, and no persons,',
        );
      }}
      done={done}
      button="Erase these events"
      tone="danger"
    >
      <p className="muted">
        Events that meet every condition; persons stay. A filter of properties goes through the API.
      </p>
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
    </Form>
  );
}

/** Leads to the erasure that was asked for. */
function useErased(project_id: string) {
  const navigate = route.useNavigate();
  return ({ id }: ErasureRow) =>
    navigate({
      to: '/projects/$project_id/erasures/$erasure_id',
      params: { project_id, erasure_id: id },
    });
}
