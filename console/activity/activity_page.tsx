import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { ActivityRow } from '../../server/api/activity/schema.ts';
import { pathOf } from '../http/reading.ts';
import { Page } from '../page/page.tsx';
import { Shown } from '../page/shown.tsx';
import { Instant } from '../time/instant.tsx';
import { activityOf, chainOf, cursorOf } from './activity.ts';
import type { Continued, Filter } from './activity.ts';
import { missingBetween, shownValue } from './chain.ts';
import { FilterForm } from './filter_form.tsx';
import { scopeWords } from './scope_words.ts';

const route = getRouteApi('/signed_in/organizations/$organization_id/activity');

/** What was changed in the organization, by whom, and what it was before. */
export function ActivityPage() {
  const { organization_id } = route.useParams();
  const filter = route.useSearch();
  const navigate = route.useNavigate();
  const list = activityOf(organization_id, filter);
  const query = useQuery(list);
  return (
    <Page title="Activity" request={pathOf(list)}>
      <FilterForm
        key={JSON.stringify(filter)}
        filter={filter}
        chosen={(search) => void navigate({ search })}
      />
      <Shown query={query}>
        {(page) => (
          <>
            <ChainState entries={page.results} filter={filter} organization_id={organization_id} />
            {page.results.length === 0 && <p className="empty">Nothing fits these filters.</p>}
            <ol className="records" reversed>
              {page.results.map((entry) => (
                <Entry key={entry.id} entry={entry} organization_id={organization_id} />
              ))}
            </ol>
            <Further
              page={page}
              go={(cursor) => void navigate({ search: { ...filter, cursor } })}
            />
          </>
        )}
      </Shown>
    </Page>
  );
}

/** How the chain of the log stands: as far as it is on the screen, and as the server found it. */
function ChainState({
  entries,
  filter,
  organization_id,
}: {
  entries: ActivityRow[];
  filter: Filter;
  organization_id: string;
}) {
  const [newest] = entries;
  const is_whole = Object.keys(filter).every((name) => name === 'cursor');
  if (newest === undefined || !is_whole) return undefined;
  const missing = missingBetween(entries);
  return (
    <div className="panel">
      <p className={missing.length === 0 ? 'good' : 'bad'}>
        {missing.length === 0
          ? `Entries ${entries.at(-1)!.number} to ${newest.number} follow each other without a gap.`
          : `Entries are missing: ${missing.slice(0, 20).join(', ')}.`}
      </p>
      <LastCheck organization_id={organization_id} />
      <p className="muted">
        Entry {newest.number} seals all before it: <code>{newest.hash}</code>. The key of the seal
        is the server’s: <code>npm run sluice -- doctor</code> checks every entry.
      </p>
    </div>
  );
}

/** What the server found when it last read all entries again. */
function LastCheck({ organization_id }: { organization_id: string }) {
  const { data } = useQuery(chainOf(organization_id));
  if (data === undefined) return null;
  const { check } = data;
  if (check === null)
    return <p className="muted">The server has not read all entries again yet; it does daily.</p>;
  const { number, faults_found, detail, checked_at } = check;
  return (
    <p className={faults_found === 0 ? 'good' : 'bad'}>
      {faults_found === 0
        ? `All entries up to ${number} are as they were written: the server read them again `
        : `${faults_found} of the entries up to ${number} are not as they were written ` +
          `(${detail}): the server read them again `}
      <Instant at={checked_at} />.
    </p>
  );
}

function Entry({ entry, organization_id }: { entry: ActivityRow; organization_id: string }) {
  const { number, activity, scope, item_id, item_name, user, key, ip, created_at } = entry;
  const narrow = (search: Filter, text: string): ReactNode => (
    <Link
      to="/organizations/$organization_id/activity"
      params={{ organization_id }}
      search={search}
    >
      <bdi>{text}</bdi>
    </Link>
  );
  return (
    <li value={number}>
      <div>
        <p>
          <span className="muted">{number}</span> {narrow({ scope }, scopeWords(scope))}{' '}
          {narrow({ scope, item_id }, item_name ?? item_id)} {narrow({ activity }, activity)}{' '}
          <span className="muted">by</span>{' '}
          {user === null ? 'the server' : narrow({ user: user.uuid }, user.email)}
          {key !== null && (
            <span className="muted">
              {' '}
              with the key <code>{key.mask_value}</code>
            </span>
          )}
          {ip !== null && <span className="muted"> from {ip}</span>}
        </p>
        <Differences entry={entry} />
      </div>
      <p className="muted">
        <Instant at={created_at} />
      </p>
    </li>
  );
}

function Differences({ entry: { changes } }: { entry: ActivityRow }) {
  if (changes.length === 0) return undefined;
  const list = (
    <dl className="differences">
      {changes.map(({ field, action, before, after }) => (
        <div key={field}>
          <dt>{field}</dt>
          <dd>
            {action !== 'created' && <del dir="auto">{shownValue(before)}</del>}{' '}
            {action !== 'deleted' && <ins dir="auto">{shownValue(after)}</ins>}
          </dd>
        </div>
      ))}
    </dl>
  );
  if (changes.length <= 4) return list;
  return (
    <details className="seldom">
      <summary>{changes.length} fields</summary>
      {list}
    </details>
  );
}

function Further({
  page: { next, previous },
  go,
}: {
  page: Continued<ActivityRow>;
  go: (cursor: string) => void;
}) {
  const ways = [
    { label: 'Newer', link: previous },
    { label: 'Older', link: next },
  ];
  return (
    <div className="row_actions">
      {ways.map(
        ({ label, link }) =>
          link !== null && (
            <Button key={label} variant="default" onClick={() => go(cursorOf(link))}>
              {label}
            </Button>
          ),
      )}
    </div>
  );
}
