import { useMutation } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { ask } from '../http/ask.ts';
import { openIdempotencyKeys } from '../http/idempotency.ts';
import { BusyButton } from '../page/busy_button.tsx';
import { Sentence } from '../page/text/sentence.tsx';
import type { Answer, Body, Path, Route } from '../http/path.ts';

/** Time for which a brief message stays. */
const told_ms = 20_000;

/**
 * A button that sends one request, without a form. The result or the refusal appears beside it.
 * After a lost answer, it repeats the request without a second effect.
 */
export function ActButton<To extends Route<'POST'>>({
  path,
  body,
  label,
  about,
  done,
  size = 'compact-xs',
  is_primary = false,
  is_told_briefly = false,
}: {
  path: Path<To>;
  body?: Body<'POST', To>;
  label: string;
  /** Text for screen readers that distinguishes several equal buttons. */
  about?: string;
  /** Reads the changed data again, and returns the text of the result. */
  done: (answer: Answer<'POST', To>) => Promise<string> | string;
  size?: 'compact-xs' | 'compact-sm';
  is_primary?: boolean;
  /** True if the page itself shows the result later. */
  is_told_briefly?: boolean;
}) {
  const [keys] = useState(openIdempotencyKeys);
  const { mutate, isPending, error, data, reset } = useMutation<string>({
    mutationFn: async () => {
      const sent = body ?? ({} as Body<'POST', To>);
      const idempotency_key = keys.keyOf(sent);
      const outcome = await ask('POST', path, { body: sent, idempotency_key });
      if (outcome.ok || outcome.problem.status !== 0) keys.settle();
      if (!outcome.ok) throw outcome.problem;
      return done(outcome.body);
    },
  });
  useEffect(() => {
    if (!is_told_briefly || data === undefined) return undefined;
    const timer = setTimeout(reset, told_ms);
    return () => clearTimeout(timer);
  }, [is_told_briefly, data, reset]);
  return (
    <>
      <BusyButton {...{ size, is_primary }} is_busy={isPending} press={() => mutate()}>
        {label}
        {about !== undefined && <span className="unseen"> {about}</span>}
      </BusyButton>
      <span role="status" className={error === null ? 'good small' : 'bad small'}>
        {error === null ? data : <Sentence text={error.message} />}
      </span>
    </>
  );
}
