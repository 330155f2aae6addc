import { attemptInWords, work_steps } from './steps.ts';
import type { Attempt } from './steps.ts';

/** Shows the duration of each attempt, as a bar of its steps and in words, the latest first. */
export function AttemptBars({ attempts }: { attempts: Attempt[] }) {
  if (attempts.length === 0) return null;
  return (
    <ol className="attempts" reversed>
      {attempts.toReversed().map((attempt) => (
        <li key={attempt.attempt} value={attempt.attempt}>
          <AttemptBar attempt={attempt} />
          <span className="small">
            Attempt {attempt.attempt}: {attemptInWords(attempt)}.
          </span>
        </li>
      ))}
    </ol>
  );
}

/** The words beside it say the same, so it is for eyes alone. Waiting would leave no room. */
function AttemptBar({ attempt }: { attempt: Attempt }) {
  const lengths = work_steps.map((step) => attempt[`${step}_ms`] ?? 0);
  const whole = lengths.reduce((sum, length) => sum + length, 0);
  const edges = lengths.map((_, index) =>
    lengths.slice(0, index).reduce((sum, length) => sum + length, 0),
  );
  return (
    <svg
      className="attempt_bar"
      viewBox={`0 0 ${Math.max(1, whole)} 1`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      {work_steps.map((step, index) => (
        <rect key={step} className={step} x={edges[index]} width={lengths[index]} height="1" />
      ))}
    </svg>
  );
}
