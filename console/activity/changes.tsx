import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { LoggedRow } from '../../server/api/activity/schema.ts';
import { CommandLine } from '../page/around/command_line.tsx';
import { Empty } from '../page/empty.tsx';
import { Shown } from '../page/shown.tsx';
import { Instant } from '../time/instant.tsx';
import { activityOf, chainOf } from './activity.ts';
import type { Filter } from './activity.ts';
import { fieldWords, missingBetween, shownValue } from './chain.ts';
import { FilterForm } from './filter_form.tsx';
import { Further } from './further.tsx';
import { organization_scopes, own_scopes, scopeWords } from './scope_words.ts';

/**
 * A list of changes: who changed what, and the values before and after. Without an organization, it
 * shows the changes of the person's own account.
 */
export function Changes({
  organization_id,
  filter,
  go,
}: {
  organization_id: string | undefined;
  filter: Filter;
  go: (filter: Filter) => void;
}) {
  const query = useQuery(activityOf(organization_id, filter));
  return (
    <>
      <FilterForm
        key={JSON.stringify(filter)}
        filter={filter}
        words={organization_id === undefined ? own_scopes : organization_scopes}
        chosen={go}
      />
      <Shown query={query}>
        {(page) => (
          <>
            <ChainState entries={page.results} filter={filter} organization_id={organization_id} />
            {page.results.length === 0 &&
              (Object.keys(filter).length === 0 ? (
                <Empty title="Nothing was changed yet">
                  Each change gets an entry here: who made it, when, and every field before and
                  after.
                </Empty>
              ) : (
                <Empty title="No entries match">
                  Choose a longer time or another kind of change above.
                </Empty>
              ))}
            <ol className="records" reversed>
              {page.results.map((entry) => (
                <Entry key={entry.id} entry={entry} organization_id={organization_id} />
              ))}
            </ol>
            <Further page={page} go={(cursor) => go({ ...filter, cursor })} />
          </>
        )}
      </Shown>
    </>
  );
}

/** Shows the chain of the log: the visible entries, and the server's check. */
function ChainState({
  entries,
  filter,
  organization_id,
}: {
  entries: LoggedRow[];
  filter: Filter;
  organization_id: string | undefined;
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
        is the server’s: <CommandLine words="doctor" /> checks every entry.
      </p>
    </div>
  );
}

/** Shows the server's last check of all entries. */
function LastCheck({ organization_id }: { organization_id: string | undefined }) {
  const { data } = useQuery(chainOf(organization_id));
  if (data === undefined) return null;
  const { check } = data;
  if (check === null)
    return (
      <p className="muted">
        The server checks all entries daily, and has not finished the first check.
      </p>
    );
  const { number, faults_found, detail, checked_at } = check;
  return (
    <p className={faults_found === 0 ? 'good' : 'bad'}>
      {faults_found === 0
        ? `All entries up to ${number} are unchanged. The server checked them `
        : `${faults_found} of the entries up to ${number} have changed (${detail}). The server ` +
          'checked them '}
      <Instant at={checked_at} />.
    </p>
  );
}

function Entry({
  entry,
  organization_id,
}: {
  entry: LoggedRow;
  organization_id: string | undefined;
}) {
  const { number, activity, scope, item_id, item_name, user, key, ip, created_at } = entry;
  const action = activity.replaceAll('_', ' ');
  const narrow = (search: Filter, text: string): ReactNode =>
    organization_id === undefined ? (
      <Link to="/account/activity" search={search}>
        <bdi>{text}</bdi>
      </Link>
    ) : (
      <Link
        to="/organizations/$organization_id/activity"
        params={{ organization_id }}
        search={search}
      >
        <bdi>{text}</bdi>
      </Link>
    );
  const actorOf = ({ user, key, key_name }: LoggedRow): ReactNode => {
    if (user !== null) return narrow({ user: user.uuid }, user.email);
    if (key === null) return 'the server';
    const what = key.mask_value.startsWith('sll_') ? 'the setup link of' : 'the service key';
    return (
      <>
        {what} {narrow({ key: key.id }, key_name ?? key.mask_value)}
      </>
    );
  };
  return (
    <li value={number}>
      <div>
        <p>
          <span className="muted">{number}</span> {narrow({ scope }, scopeWords(scope))}{' '}
          {narrow({ scope, item_id }, item_name ?? item_id)} {narrow({ activity }, action)}{' '}
          <span className="muted">by</span> {actorOf(entry)}
          {user !== null && key !== null && (
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

function Differences({ entry: { changes } }: { entry: LoggedRow }) {
  if (changes.length === 0) return undefined;
  const list = (
    <dl className="differences">
      {changes.map(({ field, action, before, after }) => (
        <div key={field}>
          <dt title={field}>{fieldWords(field)}</dt>
          <dd>
            {action !== 'created' && <del dir="auto">{shownValue(before, field)}</del>}{' '}
            {action !== 'deleted' && <ins dir="auto">{shownValue(after, field)}</ins>}
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
