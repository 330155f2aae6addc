import { Button, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import { useRestedText } from '../form/rested_text.ts';
import { Section } from '../page/section.tsx';
import { Shown } from '../page/shown.tsx';
import { Rows } from '../page/tables/rows.tsx';
import type { Columns } from '../page/tables/rows.tsx';
import { Instant } from '../time/instant.tsx';
import { liveEvents } from './events.ts';
import type { LiveSearch, Newest } from './events.ts';
import { liveSentence } from './live_sentence.ts';
import './live_events.css';

const route = getRouteApi('/signed_in/projects/$project_id/events');

const filters = [
  ['event', 'Event'],
  ['distinct_id', 'Distinct id'],
  ['property', 'Property'],
  ['value', 'Value'],
] as const;

/**
 * Shows the newest events as they arrive, filtered by name, person and property, until paused. It
 * reads nothing while the page is hidden, and announces only its state, not each event.
 */
export function LiveEvents({ project_id }: { project_id: string }) {
  const { event, distinct_id, property, value } = route.useSearch();
  const navigate = route.useNavigate();
  // The events at the time of the pause; a late answer is not shown.
  const [held, setHeld] = useState<Newest>();
  const live = liveEvents(project_id, { event, distinct_id, property, value });
  const is_paused = held !== undefined;
  const query = useQuery({ ...live, placeholderData: (before) => before, enabled: !is_paused });
  const change = (changes: LiveSearch) => {
    setHeld(undefined);
    void navigate({ search: (before) => ({ ...before, ...changes }), replace: true });
  };
  const search = { event, distinct_id, property, value };
  const is_filtered = filters.some(([name]) => search[name] !== undefined);
  return (
    <Section title="Live events" is_wide>
      <div className="live_filters" role="search" aria-label="Live events">
        {filters.map(([name, label]) => (
          <Filter
            key={name}
            label={label}
            value={search[name] ?? ''}
            is_disabled={name === 'value' && property === undefined}
            set={(text) => change({ [name]: text })}
          />
        ))}
        <Button onClick={() => setHeld(is_paused ? undefined : query.data)}>
          {is_paused ? 'Continue' : 'Pause'}
        </Button>
      </div>
      <Shown query={{ ...query, data: held ?? query.data }}>
        {({ results }) => (
          <>
            <p role="status" className="muted">
              {liveSentence({ is_paused, is_filtered, is_empty: results.length === 0 })}
            </p>
            {results.length > 0 && (
              <Rows rows={results} keyOf={({ uuid }) => uuid} columns={columnsOf(project_id)} />
            )}
          </>
        )}
      </Shown>
    </Section>
  );
}

function Filter({
  label,
  value,
  is_disabled,
  set,
}: {
  label: string;
  value: string;
  is_disabled: boolean;
  set: (text: string) => void;
}) {
  const [text, type] = useRestedText(value, set);
  return (
    <TextInput
      type="search"
      aria-label={label}
      placeholder={label}
      maxLength={400}
      value={text}
      disabled={is_disabled}
      onChange={({ currentTarget }) => type(currentTarget.value)}
    />
  );
}

const columnsOf = (project_id: string): Columns<Newest['results'][number]> => ({
  Event: ({ uuid, event }) => (
    <Link
      to="/projects/$project_id/find"
      params={{ project_id }}
      search={{ uuid }}
      title="Where it was delivered"
    >
      <bdi>{event}</bdi>
    </Link>
  ),
  'Distinct id': { long: ({ distinct_id }) => <bdi>{distinct_id}</bdi> },
  Happened: { short: ({ timestamp }) => <Instant at={timestamp} is_exact /> },
  Stored: { short: ({ inserted_at }) => <Instant at={inserted_at} /> },
});
