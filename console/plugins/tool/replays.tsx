import { Progress } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useContext, useState } from 'react';
import type { NewReplay, ReplayRow } from '../../../server/api/plugin_configs/deliveries/schema.ts';
import { StateMark } from '../../batch_exports/state_mark.tsx';
import { TextField } from '../../form/fields.tsx';
import { Form } from '../../form/form.tsx';
import { MomentInput } from '../../form/moment_input.tsx';
import { numberOf } from '../../form/values.ts';
import type { Values } from '../../form/values.ts';
import { pathTo } from '../../http/path.ts';
import { counted, inTime } from '../../page/text/quantities.ts';
import { Seldom, useDone } from '../../page/section.tsx';
import { Shown } from '../../page/shown.tsx';
import { Instant, ZoneContext } from '../../time/instant.tsx';
import { typedAt } from '../../time/zone.ts';
import { idsOf, of, replay_states, replaysOf } from './deliveries.ts';
import type { Given } from './deliveries.ts';

/** The replays with their progress, and the form for a new one. */
export function Replays({
  may_change,
  ...given
}: Given & { is_enabled: boolean; may_change: boolean }) {
  const query = useQuery(replaysOf(given));
  return (
    <>
      <h3>Events of the past</h3>
      <Shown query={query}>
        {({ results }) =>
          results.map((replay) => <Standing key={replay.id} {...{ replay, given, may_change }} />)
        }
      </Shown>
      {may_change && (
        <Seldom summary="Send events of the past, from the beginning or from a time">
          <NewReplayForm given={given} />
        </Seldom>
      )}
    </>
  );
}

function Standing({
  replay,
  given,
  may_change,
}: {
  replay: ReplayRow;
  given: Given;
  may_change: boolean;
}) {
  const done = useDone();
  const { id, state, source, start_at, end_at, events, total, detail, retry_at } = replay;
  const share = total === 0 ? 1 : replay.done / total;
  const what = source === 'events' ? 'Events' : 'Events that were set aside';
  return (
    <div className="panel">
      <p>
        <StateMark state={replay_states[state]} /> {what}
        {events !== null && <bdi> {events.join(', ')}</bdi>}
        {start_at !== null && (
          <>
            {' '}
            from <Instant at={start_at} is_exact />
          </>
        )}
        {source === 'events' && (
          <>
            {' '}
            until <Instant at={end_at} is_exact />
          </>
        )}
        : {replay.done.toLocaleString('en')} of {counted(total, 'event')}.
      </p>
      {detail !== null && (
        <p className="warn">
          {detail}
          {retry_at !== null && (
            <>
              {' '}
              Next try at <Instant at={retry_at} is_exact />.
            </>
          )}
        </p>
      )}
      {replay.finished_at === null && (
        <>
          <Progress value={100 * share} aria-label={`${what}: progress`} />
          {may_change && id !== null && (
            <Form
              path={pathTo(`${of}replays/:replay_id/cancel/`, { ...idsOf(given), replay_id: id })}
              body={() => ({})}
              done={() => done('It was cancelled. Sent events stay sent.', replaysOf(given))}
              button="Cancel it"
              tone="plain"
            />
          )}
        </>
      )}
    </div>
  );
}

/** A planned replay, with the number of its events. */
type Plan = { asked: NewReplay; total: number; rate: number };

function NewReplayForm({ given }: { given: Given }) {
  const zone = useContext(ZoneContext);
  const [start, setStart] = useState('');
  const [end, setEnd] = useState('');
  const [plan, setPlan] = useState<Plan>();
  const askedOf = (values: Values): NewReplay => ({
    source: 'events',
    ...momentsOf({ start_at: start, end_at: end }, zone),
    ...restOf(values),
  });
  // A number that was counted is of the fields as they were.
  return (
    <div onInput={() => setPlan(undefined)}>
      <Form
        path={pathTo(`${of}replays/`, idsOf(given))}
        part="count"
        body={(values) => ({ ...askedOf(values), dry_run: true })}
        done={({ total, rate, start_at, end_at, events }) =>
          setPlan({ asked: { source: 'events', start_at, end_at, events, rate }, total, rate })
        }
        button="Count the events"
        tone="plain"
      >
        <MomentInput
          name="start_at"
          label="Stored from"
          description="If empty, from the beginning."
          value={start}
          set={setStart}
        />
        <MomentInput
          name="end_at"
          label="Stored until"
          description="If empty, until you switched it on, because it gets later events live."
          value={end}
          set={setEnd}
        />
        <NamesAndRate />
      </Form>
      {plan !== undefined && <StartForm {...{ plan, given }} started={() => setPlan(undefined)} />}
    </div>
  );
}

function NamesAndRate() {
  return (
    <>
      <TextField
        name="events"
        label="Names of events, separated by commas"
        hint="Empty: all events."
      />
      <TextField
        name="rate"
        label="Events a second"
        hint="Maximum rate. Live events take precedence."
        value="50"
        inputMode="numeric"
      />
    </>
  );
}

function StartForm({
  plan: { asked, total, rate },
  given,
  started,
}: {
  plan: Plan;
  given: Given;
  started: () => void;
}) {
  const done = useDone();
  return (
    <>
      <p role="status" className="after_form">
        {counted(total, 'event')}, which takes at least {inTime(total / rate)}. The tool gets events
        a second time that it had before. Some tools refuse old events.
      </p>
      {total > 0 && (
        <Form
          path={pathTo(`${of}replays/`, idsOf(given))}
          part="start"
          body={() => asked}
          done={() => {
            started();
            return done('Sluice sends them beside the live events.', replaysOf(given));
          }}
          button={`Send ${counted(total, 'event')}`}
        />
      )}
    </>
  );
}

function momentsOf(typed: { start_at: string; end_at: string }, zone: string) {
  return Object.fromEntries(
    Object.entries(typed).flatMap(([name, text]) => {
      if (text === '') return [];
      const at = typedAt(text, zone);
      // The API reports a text that is no time.
      return [[name, at === undefined ? text : new Date(at).toISOString()]];
    }),
  );
}

function restOf(values: Values): Pick<NewReplay, 'events' | 'rate'> {
  const textOf = (name: string) => {
    const value = values[name];
    return typeof value === 'string' ? value.trim() : '';
  };
  const names = textOf('events')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  return {
    ...(names.length === 0 ? {} : { events: names }),
    ...(textOf('rate') === '' ? {} : { rate: numberOf(textOf('rate')) }),
  };
}
