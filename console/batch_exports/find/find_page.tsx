import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi } from '@tanstack/react-router';
import type { FoundExport, FoundRecord } from '../../../server/api/batch_exports/find/schema.ts';
import { useDestinationLabel } from '../../destinations/destinations.ts';
import { pathOf } from '../../http/reading.ts';
import { Page } from '../../page/page.tsx';
import { Sentence } from '../../page/text/sentence.tsx';
import { Shown } from '../../page/shown.tsx';
import { Instant } from '../../time/instant.tsx';
import { counted, inBytes } from '../../page/text/quantities.ts';
import { ReceiptLink } from '../runs/receipt_link.tsx';
import { exportIds } from '../export_context.ts';
import { StateMark } from '../state_mark.tsx';
import { foundRecords } from './find.ts';
import type { FindSearch } from './find.ts';
import { found_states, groupsOf, isUuid } from './found_groups.ts';
import { InTools } from './in_tools.tsx';
import { WaysToFind } from './ways_to_find.tsx';
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
        Find where the exports of this project delivered an event, a person, a session or a group:
        the run, the file or table, and the receipt. If it was not delivered, you see why.
      </p>
      <WaysToFind search={search} />
      {is_asked && <Results search={search} />}
    </Page>
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
  const { timestamp, inserted_at, exports, tools } = record;
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
      {uuid !== null && tools.length > 0 && <InTools {...{ tools, uuid }} />}
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
