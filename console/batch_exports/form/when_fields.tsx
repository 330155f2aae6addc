import { useContext } from 'react';
import { useFault } from '../../form/context.ts';
import { MomentInput } from '../../form/moment_input.tsx';
import { ZoneInput } from '../../form/zone_input.tsx';
import { ZoneContext } from '../../time/instant.tsx';
import { useNow } from '../../time/now.ts';
import { dated } from '../../time/words.ts';
import { typedAt } from '../../time/zone.ts';
import { intervals, nextEnds, scheduleWords, weekdays } from '../schedule_words.ts';
import { offsetOf } from './draft.ts';
import type { Draft } from './draft.ts';
import { ChoiceOf, TextOf } from './plain_fields.tsx';

type Given = { draft: Draft; change: (changes: Partial<Draft>) => void };

/** The fields of the schedule, with the resulting next runs. */
export function WhenFields({ draft, change }: Given) {
  const zone = useContext(ZoneContext);
  const now = useNow();
  const is_past = (typedAt(draft.start_at, zone) ?? Infinity) < now;
  return (
    <>
      <ChoiceOf
        name="interval"
        label="Interval"
        value={draft.interval}
        data={Object.entries(intervals).map(([value, label]) => ({ value, label }))}
        set={(interval) => change({ interval: interval as Draft['interval'] })}
      />
      <OffsetFields draft={draft} change={change} />
      <NextRuns draft={draft} />
      <p className="field_hint">Start and end are in the zone {zone}.</p>
      <At
        name="start_at"
        label="Start"
        hint={
          is_past
            ? 'This time is in the past: runs start now. To deliver older rows, save the ' +
              'export, then press Backfill on its page.'
            : 'If empty, runs start now. For older rows, start a backfill.'
        }
        value={draft.start_at}
        set={(start_at) => change({ start_at })}
      />
      <At
        name="end_at"
        label="End"
        hint="If empty, runs never stop."
        value={draft.end_at}
        set={(end_at) => change({ end_at })}
      />
      <TextOf
        name="freshness_seconds"
        label="Late after (seconds)"
        hint={
          'The export counts as late when its newest delivered interval is older than this. ' +
          'If empty: two intervals and ten minutes.'
        }
        value={draft.freshness_seconds}
        set={(freshness_seconds) => change({ freshness_seconds })}
      />
    </>
  );
}

/** Day and time of calendar intervals, and the time zone, which folders by local day also use. */
function OffsetFields({ draft, change }: Given) {
  const zone = useContext(ZoneContext);
  const { interval } = draft;
  const fault = useFault('timezone');
  const time_faults = [useFault('offset_hour'), useFault('offset_minute')];
  return (
    <>
      {interval === 'week' && (
        <ChoiceOf
          name="offset_day"
          label="Day"
          value={draft.offset_day}
          data={weekdays.map((label, day) => ({ value: String(day), label }))}
          set={(offset_day) => change({ offset_day })}
        />
      )}
      {(interval === 'day' || interval === 'week') && (
        <TextOf
          name="offset_time"
          label="Time"
          value={draft.offset_time}
          // The API tells of hours and minutes, each as a number.
          error={
            time_faults.some((one) => typeof one === 'string')
              ? 'Type a time, such as 06:00.'
              : undefined
          }
          set={(offset_time) => change({ offset_time })}
        />
      )}
      <ZoneInput
        name="timezone"
        label="Time zone"
        description="Days and weeks start in it, and {local_day} in a prefix is its date."
        placeholder={`${zone} (the project's)`}
        value={draft.timezone}
        error={fault}
        onChange={({ currentTarget }) => change({ timezone: currentTarget.value })}
      />
    </>
  );
}

/** The schedule in words with its next three runs, updated while typing. */
function NextRuns({ draft }: Pick<Given, 'draft'>) {
  const zone = useContext(ZoneContext);
  const now = useNow();
  const { offset_day, offset_hour, offset_minute } = offsetOf(draft);
  if (typeof offset_hour === 'string') return null;
  const timezone = draft.timezone.trim() || zone;
  const row = { interval: draft.interval, timezone, offset_day, offset_hour, offset_minute };
  const start = Math.max(now, typedAt(draft.start_at, zone) ?? 0);
  const runs = nextEnds(row, start, typedAt(draft.end_at, zone) ?? Infinity, 3);
  if (runs.length === 0) return null;
  const times = runs.map((at) => dated(new Date(at).toISOString(), timezone));
  return (
    <p className="field_hint" aria-live="polite">
      {scheduleWords(row, zone)}. Next runs: {times.join(', ')} ({timezone}).
    </p>
  );
}

function At({
  hint,
  name,
  ...given
}: {
  name: string;
  label: string;
  hint: string;
  value: string;
  set: (value: string) => void;
}) {
  const error = useFault(name);
  return <MomentInput {...given} name={name} description={hint} error={error} />;
}
