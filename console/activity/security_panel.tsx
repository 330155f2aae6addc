import { NativeSelect } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { SyntheticEvent } from 'react';
import type { SecurityEventRow } from '../../server/api/security_events/schema.ts';
import { readValues } from '../form/values.ts';
import { OnlyFor } from '../signed_in/only_for.tsx';
import { Empty } from '../page/empty.tsx';
import { Shown } from '../page/shown.tsx';
import { EventList } from '../security_events/event_list.tsx';
import { event_words } from '../security_events/event_words.ts';
import { securityEventsOf } from '../security_events/security_events.ts';
import type { EventFilter } from '../security_events/security_events.ts';
import { FilterEnd } from './filter_end.tsx';
import { Further } from './further.tsx';

type Given = {
  organization_id: string;
  filter: EventFilter;
  go: (filter: EventFilter) => void;
};

/** The security events of the organization, for owners. */
export function SecurityPanel(given: Given) {
  return (
    <OnlyFor organization_id={given.organization_id} level={15} what="can read security events">
      <EventFilterForm key={JSON.stringify(given.filter)} {...given} />
      <Events {...given} />
    </OnlyFor>
  );
}

function Events({ organization_id, filter, go }: Given) {
  const query = useQuery(securityEventsOf(organization_id, filter));
  const about = ({ user }: SecurityEventRow) =>
    user !== null && (
      <Link
        to="/organizations/$organization_id/activity"
        params={{ organization_id }}
        search={{ tab: 'security', user: user.uuid }}
      >
        <bdi>{user.email}</bdi>
      </Link>
    );
  return (
    <Shown query={query}>
      {(page) => (
        <>
          {page.results.length === 0 && (
            <Empty title="No entries match">
              This log has sign-ins, refusals and changes of sign-in rules. Choose a longer time or
              another kind above.
            </Empty>
          )}
          <EventList events={page.results} about={about} />
          <Further page={page} go={(cursor) => go({ ...filter, cursor })} />
        </>
      )}
    </Shown>
  );
}

function EventFilterForm({ filter, go }: Given) {
  const submit = (event: SyntheticEvent<HTMLFormElement>) => {
    event.preventDefault();
    const values = readValues(event.currentTarget) as Record<string, string>;
    const { after = '', before = '', event: word = '' } = values;
    const instant = (day: string) => (day === '' ? '' : `${day}T00:00:00Z`);
    const { user = '' } = filter;
    const wanted = { user, event: word, after: instant(after), before: instant(before) };
    go(Object.fromEntries(Object.entries(wanted).filter(([, value]) => value !== '')));
  };
  return (
    <form className="filters" onSubmit={submit}>
      <NativeSelect
        name="event"
        label="What happened"
        data={[
          { value: '', label: 'Anything' },
          ...Object.entries(event_words).map(([value, label]) => ({ value, label })),
        ]}
        defaultValue={filter.event ?? ''}
      />
      <FilterEnd filter={filter} showAll={() => go({})} />
      {filter.user !== undefined && (
        <p className="muted">
          Only one person: <code>{filter.user}</code>
        </p>
      )}
    </form>
  );
}
