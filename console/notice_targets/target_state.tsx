import type { NoticeTargetRow } from '../../server/api/notice_targets/schema.ts';
import { Instant } from '../time/instant.tsx';

const outcomes = {
  delivered: { word: 'Delivered', tone: 'good' },
  failed: { word: 'Not reached', tone: 'warn' },
  given_up: { word: 'Given up', tone: 'bad' },
} as const;

/** Shows whether a target gets notices now, and the result of the latest attempt. */
export function TargetState({ target }: { target: NoticeTargetRow }) {
  const { enabled, disabled_reason, last_attempt } = target;
  if (!enabled)
    return (
      <span className={disabled_reason === null ? 'warn' : 'bad'}>
        Switched off{disabled_reason !== null && `: ${disabled_reason.detail}`}
      </span>
    );
  if (last_attempt === null) return <span className="muted">No notice yet</span>;
  const { word, tone } = outcomes[last_attempt.outcome];
  return (
    <>
      <span className={tone}>{word}</span> <Instant at={last_attempt.at} />
      {last_attempt.detail !== null && <span className="muted">: {last_attempt.detail}</span>}
    </>
  );
}
