import { useContext } from 'react';
import type { BatchExportRun } from '../../../server/api/batch_exports/runs/schema.ts';
import { inTime } from '../../page/text/quantities.ts';
import { ZoneContext } from '../../time/instant.tsx';
import { useNow } from '../../time/now.ts';
import { seconds } from '../../time/words.ts';
import type { Span } from '../slots/boundaries.ts';
import { attemptsOf, axisOf } from './attempts.ts';
import type { AttemptOutcome, TimedAttempt } from './attempts.ts';
import { attemptInWords } from './steps.ts';

const outcomes: Record<AttemptOutcome, string> = {
  delivered: 'Delivered',
  failed: 'Failed',
  cancelled: 'Cancelled',
  working: 'In progress',
};
const width = 1_000;
/** Least width of a visible attempt. */
const seen_min = 6;

/** Shows each attempt at a run on one time axis, with the waiting between, latest first. */
export function AttemptBars({ run }: { run: BatchExportRun }) {
  const zone = useContext(ZoneContext);
  const attempts = attemptsOf(run, useNow());
  if (attempts.length === 0) return null;
  const axis = axisOf(attempts, run);
  const clock = (at: number) => seconds(new Date(at).toISOString(), zone).slice(11);
  const present = new Set(attempts.map(({ outcome }) => outcome));
  return (
    <div className="attempts">
      <ul className="legend" aria-label="Colours of the attempts">
        {(Object.keys(outcomes) as AttemptOutcome[])
          .filter((outcome) => present.has(outcome))
          .map((outcome) => (
            <li key={outcome}>
              <span className={`attempt_sign attempt_${outcome}`} aria-hidden="true" />{' '}
              {outcomes[outcome]}
            </li>
          ))}
        <li>
          <span className="attempt_sign attempt_waiting" aria-hidden="true" /> Waiting
        </li>
      </ul>
      <ol reversed>
        {attempts.toReversed().map((attempt, index) => (
          <li key={attempt.attempt} value={attempt.attempt}>
            <AttemptBar
              attempt={attempt}
              axis={axis}
              waits_until={index === 0 ? (run.next_try_at ?? undefined) : undefined}
            />
            <span className="small">
              Attempt {attempt.attempt} at {clock(attempt.from)}:{' '}
              {outcomes[attempt.outcome].toLowerCase()},{' '}
              {attemptInWords(run.steps.find((one) => one.attempt === attempt.attempt)!)}.
            </span>
          </li>
        ))}
      </ol>
      <p className="attempt_axis muted small">
        <span>{clock(axis.from)}</span>
        <span>{inTime((axis.to - axis.from) / 1000)}</span>
        <span>{clock(axis.to)}</span>
      </p>
    </div>
  );
}

/** Hidden from screen readers, because the words beside it say the same. */
function AttemptBar({
  attempt: { waited_from, from, to, outcome },
  axis,
  waits_until,
}: {
  attempt: TimedAttempt;
  axis: Span;
  waits_until: string | undefined;
}) {
  const placeOf = (at: number) => ((at - axis.from) / (axis.to - axis.from)) * width;
  const work = Math.max(seen_min, placeOf(to) - placeOf(from));
  const begin = Math.min(placeOf(from), width - work);
  const waited = placeOf(waited_from);
  return (
    <svg
      className="attempt_bar"
      viewBox={`0 0 ${width} 10`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      <rect className="waiting" x={waited} y="4" width={Math.max(0, begin - waited)} height="2" />
      {waits_until !== undefined && (
        <rect
          className="waiting"
          x={begin + work}
          y="4"
          width={Math.max(0, placeOf(Date.parse(waits_until)) - begin - work)}
          height="2"
        />
      )}
      <rect className={`attempt_${outcome}`} x={begin} width={work} height="10" />
    </svg>
  );
}
