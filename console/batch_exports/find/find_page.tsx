import { Button, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi } from '@tanstack/react-router';
import { useContext } from 'react';
import type { SyntheticEvent } from 'react';
import type { FoundExport, FoundRecord } from '../../../server/api/batch_exports/find/schema.ts';
import { useDestinationLabel } from '../../destinations/destinations.ts';
import { pathOf } from '../../http/reading.ts';
import { Page } from '../../page/page.tsx';
import { Sentence } from '../../page/sentence.tsx';
import { Shown } from '../../page/shown.tsx';
import { Instant, ZoneContext } from '../../time/instant.tsx';
import { counted, inBytes } from '../../page/quantities.ts';
import { ReceiptLink } from '../runs/receipt_link.tsx';
import { exportIds } from '../export_context.ts';
import { StateMark } from '../state_mark.tsx';
import { foundRecords } from './find.ts';
import type { FindSearch } from './find.ts';
import { found_states, groupsOf, isUuid } from './found_groups.ts';
import '../one_export.css';

const route = getRouteApi('/signed_in/projects/$project_id/find');

/**
 * Shows the place of an event, a person, a session or a group in every export of the project, or
 * the reason for its absence.
 */
export function FindPage() {
  const { project_id } = route.useParams();
  const search = route.useSearch();
  const is_asked =
    search.uuid === undefined
      ? (search.session_id ?? search.group_id ?? search.distinct_id) !== undefined
      : isUuid(search.uuid);
  return (
    <Page
      title="Find a record"
      request={is_asked ? pathOf(foundRecords(project_id, search)) : undefined}
    >
      <p className="muted">
        Where an event, a person, a session or a group went, in every export of the project: run,
        file or table, and receipt; or why it was not delivered.
      </p>
      <div className="sheet ways_to_find">
        <FindByUuid key={`uuid ${search.uuid}`} search={search} />
        <FindByDay key={`day ${search.distinct_id} ${search.day}`} search={search} />
        <FindById key={`session ${search.session_id}`} search={search} of="session" />
        <FindById key={`group ${search.group_id}`} search={search} of="group" />
      </div>
      {is_asked && <Results search={search} />}
    </Page>
  );
}

function useAsk(): (search: FindSearch) => void {
  const navigate = route.useNavigate();
  return (search) => void navigate({ search });
}

/** Reads the typed values of a form, by name. */
function typedIn(event: SyntheticEvent<HTMLFormElement>): (name: string) => string {
  event.preventDefault();
  const data = new FormData(event.currentTarget);
  return (name) => {
    const value = data.get(name);
    return typeof value === 'string' ? value.trim() : '';
  };
}

function FindByUuid({ search }: { search: FindSearch }) {
  const ask = useAsk();
  return (
    <form
      className="filters"
      aria-label="By uuid"
      onSubmit={(event) => ask({ uuid: typedIn(event)('uuid') })}
    >
      <TextInput
        name="uuid"
        label="The uuid of an event"
        size="sm"
        className="uuid_field"
        defaultValue={search.uuid}
        error={
          search.uuid !== undefined && !isUuid(search.uuid)
            ? 'This is not a uuid. A uuid has 32 digits of 0-9 and a-f, with four dashes.'
            : undefined
        }
        autoComplete="off"
        spellCheck={false}
        required
        withAsterisk={false}
      />
      <Button type="submit">Find the event</Button>
    </form>
  );
}

function FindByDay({ search }: { search: FindSearch }) {
  const zone = useContext(ZoneContext);
  const ask = useAsk();
  return (
    <form
      className="filters"
      aria-label="By distinct id and day"
      onSubmit={(event) => {
        const typed = typedIn(event);
        ask({ distinct_id: typed('distinct_id'), day: typed('day') });
      }}
    >
      <TextInput
        name="distinct_id"
        label="Or a distinct id"
        size="sm"
        defaultValue={search.distinct_id}
        autoComplete="off"
        spellCheck={false}
        required
        withAsterisk={false}
      />
      <TextInput
        name="day"
        type="date"
        label={`and a day (${zone})`}
        size="sm"
        defaultValue={search.day}
        required
        withAsterisk={false}
      />
      <Button type="submit">Find its records</Button>
    </form>
  );
}

function FindById({ search, of }: { search: FindSearch; of: 'session' | 'group' }) {
  const ask = useAsk();
  const name = `${of}_id` as const;
  return (
    <form
      className="filters"
      aria-label={`By ${of}`}
      onSubmit={(event) => ask({ [name]: typedIn(event)(name) })}
    >
      <TextInput
        name={name}
        label={`Or the id of a ${of}`}
        size="sm"
        className="uuid_field"
        placeholder={of === 'group' ? 'company:acme' : undefined}
        defaultValue={search[name]}
        autoComplete="off"
        spellCheck={false}
        required
        withAsterisk={false}
      />
      <Button type="submit">{`Find the ${of}`}</Button>
    </form>
  );
}

function Results({ search }: { search: FindSearch }) {
  const { project_id } = route.useParams();
  const query = useQuery(foundRecords(project_id, search));
  return (
    <Shown query={query}>
      {({ detail, records, has_more_records, exports_left_out }) => (
        <>
          <p role="status" className={records.length === 0 ? 'panel' : ''}>
            <Sentence text={detail} />
          </p>
          {records.map((record) => (
            <Record
              key={`${record.uuid} ${record.person_version} ${record.inserted_at}`}
              record={record}
            />
          ))}
          {has_more_records && (
            <p className="muted">There are more records. Find an event by its uuid.</p>
          )}
          {exports_left_out > 0 && (
            <p className="muted">{counted(exports_left_out, 'older export')} not looked at.</p>
          )}
        </>
      )}
    </Shown>
  );
}

function Record({ record }: { record: FoundRecord }) {
  const { uuid, event, distinct_id, session_id, group_id, person_version } = record;
  const { timestamp, inserted_at, exports } = record;
  const [name = `Person ${distinct_id}`] = [
    ...(session_id === null ? [] : [`Session ${session_id}`]),
    ...(group_id === null ? [] : [`Group ${group_id}`]),
  ];
  return (
    <section className="part found">
      <h2>
        <bdi>{event ?? name}</bdi>
        {person_version !== null && ` version ${person_version}`}
      </h2>
      <p className="muted">
        {uuid !== null && (
          <>
            <code>{uuid}</code> of <bdi>{distinct_id}</bdi>,{' '}
          </>
        )}
        {timestamp !== null && (
          <>
            happened <Instant at={timestamp} is_exact />,{' '}
          </>
        )}
        stored <Instant at={inserted_at} is_exact />
      </p>
      {exports.length === 0 ? (
        <p>This project has no export.</p>
      ) : (
        groupsOf(exports).map((group) =>
          group.is_folded ? (
            <details key={group.state} className="seldom">
              <summary>
                {found_states[group.state].word} in {counted(group.exports.length, 'export')}
              </summary>
              <InExports exports={group.exports} />
            </details>
          ) : (
            <InExports key={group.state} exports={group.exports} />
          ),
        )
      )}
    </section>
  );
}

function InExports({ exports }: { exports: FoundExport[] }) {
  return (
    <ul className="records">
      {exports.map((one) => (
        <li key={one.batch_export}>
          <InExport found={one} />
        </li>
      ))}
    </ul>
  );
}

function InExport({ found }: { found: FoundExport }) {
  const labelOf = useDestinationLabel();
  const { project_id } = route.useParams();
  const { batch_export, name, destination_type, run, slice, receipt, detail } = found;
  const params = { project_id, export_id: batch_export };
  const { data_interval_start: from, data_interval_end: to, due_at } = found;
  return (
    <div>
      <p>
        <StateMark state={found_states[found.state]} /> in{' '}
        <Link to="/projects/$project_id/exports/$export_id" params={params}>
          <bdi>{name}</bdi>
        </Link>{' '}
        <span className="muted">({labelOf(destination_type)})</span>
      </p>
      <p>
        <Sentence text={detail} />
        {due_at !== null && (
          <span className="muted">
            {' '}
            (due <Instant at={due_at} />)
          </span>
        )}
      </p>
      {slice !== null && (
        <p>
          {slice.name !== null && (
            <>
              In <code>{slice.name}</code>,{' '}
            </>
          )}
          slice {slice.number + 1}: {counted(slice.records, 'row')}
          {slice.bytes !== null && `, ${inBytes(slice.bytes)}`}
        </p>
      )}
      <p className="links">
        {run !== null && (
          <Link
            to="/projects/$project_id/exports/$export_id/runs/$run_id"
            params={{ ...params, run_id: run }}
          >
            Run {run.slice(-8)}
          </Link>
        )}
        {receipt !== null && run !== null && (
          <ReceiptLink ids={exportIds(project_id, batch_export)} run_id={run} />
        )}
        {from !== null && to !== null && (
          <Link
            to="/projects/$project_id/exports/$export_id"
            params={params}
            search={{ selected_from: from, selected_to: to }}
          >
            Its slot on the map
          </Link>
        )}
      </p>
    </div>
  );
}
