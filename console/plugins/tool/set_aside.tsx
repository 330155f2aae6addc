import { TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { SetAsideRow } from '../../../server/api/plugin_configs/deliveries/schema.ts';
import { Form } from '../../form/form.tsx';
import { pathTo } from '../../http/path.ts';
import { Exchanges } from '../../page/exchange.tsx';
import { counted } from '../../page/text/quantities.ts';
import { Rows } from '../../page/tables/rows.tsx';
import type { Columns } from '../../page/tables/rows.tsx';
import { Seldom, useDone } from '../../page/section.tsx';
import { Shown } from '../../page/shown.tsx';
import { Instant } from '../../time/instant.tsx';
import { deliveryOf, idsOf, of, replaysOf, setAsideOf, setAsideRecord } from './deliveries.ts';
import type { AsideFilter, Given } from './deliveries.ts';

/** The events that the tool did not accept, with a filter and actions. */
export function SetAside({
  is_enabled,
  may_change,
  ...given
}: Given & { is_enabled: boolean; may_change: boolean }) {
  const [filter, setFilter] = useState<AsideFilter>({});
  const query = useQuery(setAsideOf(given, filter));
  const choose = (name: keyof AsideFilter, text: string) => {
    const { [name]: _, ...others } = filter;
    setFilter(text === '' ? others : { ...others, [name]: text });
  };
  return (
    <>
      <h3>Events that were set aside</h3>
      <div className="filters">
        {(['event', 'mapping', 'reason'] as const).map((name) => (
          <TextInput
            key={name}
            size="sm"
            label={labels[name]}
            autoComplete="off"
            value={filter[name] ?? ''}
            onChange={({ currentTarget }) => choose(name, currentTarget.value)}
          />
        ))}
      </div>
      <Shown query={query}>
        {({ count, results }) => (
          <>
            {may_change && count > 0 && (
              <div className="toolbar">
                {is_enabled && <SendAgain {...{ given, filter, count }} />}
                <Discard {...{ given, filter, count }} />
              </div>
            )}
            {count === 0 ? (
              <p className="muted">No event fits the filter.</p>
            ) : (
              <Rows rows={results} keyOf={({ id }) => id} columns={columnsOf(given)} />
            )}
            {count > results.length && (
              <p className="muted">
                The newest {results.length} of {count.toLocaleString('en')} are shown.
              </p>
            )}
          </>
        )}
      </Shown>
    </>
  );
}

const labels = { event: 'Event', mapping: 'Mapping', reason: 'Reason contains' };

const bodyOf = ({ event, ...filter }: AsideFilter) => ({
  ...filter,
  ...(event === undefined ? {} : { events: [event] }),
});

type Chosen = { given: Given; filter: AsideFilter; count: number };

function SendAgain({ given, filter, count }: Chosen) {
  const done = useDone();
  return (
    <Form
      path={pathTo(`${of}replays/`, idsOf(given))}
      part="resend"
      body={() => ({ source: 'set_aside' as const, ...bodyOf(filter) })}
      done={() => done('Sluice sends them again.', replaysOf(given), setAsideOf(given, filter))}
      button={`Send ${counted(count, 'event')} again`}
      tone="plain"
    />
  );
}

function Discard({ given, filter, count }: Chosen) {
  const done = useDone();
  const what = counted(count, 'event');
  return (
    <Form
      path={pathTo(`${of}set_aside/discard/`, idsOf(given))}
      part="discard"
      body={() => bodyOf(filter)}
      asks={() => ({
        title: `Discard ${what}?`,
        text: 'The tool never gets them. The events themselves stay in the project.',
        button: `Discard ${what}`,
        keep: 'Keep them',
      })}
      done={({ discarded }) =>
        done(
          `Sluice discarded ${counted(discarded, 'event')}.`,
          deliveryOf(given),
          setAsideOf(given, filter),
        )
      }
      button={`Discard ${what}`}
      tone="danger"
    />
  );
}

const columnsOf = (given: Given): Columns<SetAsideRow> => ({
  Event: ({ event, distinct_id }) => (
    <>
      <bdi>{event}</bdi> of <bdi>{distinct_id}</bdi>
    </>
  ),
  Mapping: ({ mapping }) => mapping,
  Reason: {
    long: ({ id, reason }) => (
      <>
        {reason}
        <Seldom summary="Request and answer" is_late>
          <Record {...{ given, id }} />
        </Seldom>
      </>
    ),
  },
  'Set aside': ({ set_aside_at, attempts }) => (
    <>
      <Instant at={set_aside_at} />
      {attempts > 1 && <span className="muted"> ({attempts} times)</span>}
    </>
  ),
});

function Record({ given, id }: { given: Given; id: number }) {
  const query = useQuery(setAsideRecord(given, id));
  return <Shown query={query}>{({ exchanges }) => <Exchanges exchanges={exchanges} />}</Shown>;
}
