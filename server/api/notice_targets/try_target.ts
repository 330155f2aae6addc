import type { FastifyRequest } from 'fastify';
import type { Static } from 'typebox';
import { v7 as uuidv7 } from 'uuid';
import type { Deps } from '../../deps.ts';
import { sendMail } from '../../engine/notices/attempt.ts';
import type { AttemptResult } from '../../engine/notices/attempt.ts';
import { trialMail } from '../../engine/notices/notice_mail.ts';
import { findTarget } from '../../engine/notices/outbox.ts';
import { postToTarget } from '../../engine/notices/send.ts';
import { trialBodies } from '../../engine/notices/services.ts';
import { takeAttempt } from '../../platform/pacing/throttle.ts';
import { isoInstant } from '../../platform/clock.ts';
import { notFound, throttled } from '../../platform/http/errors.ts';
import { isValidateOnly } from '../../platform/http/lists/query.ts';
import type { NoticeTargetRow, NoticeTargetTest } from './schema.ts';
import { noteTest } from './store.ts';

/** Tests can send mails to any address, so their rate is limited. */
const throttle = { free: 10, pause_seconds_min: 60, pause_seconds_max: 3600 };
const detail = 'This is a test of a notice target. No export has changed.';

/**
 * Sends one test to the target, signed and limited like a notice, stores the result with the target
 * and returns it. Throws 429 if the tests of the project are slowed.
 */
export async function tryTarget(
  deps: Deps,
  { id, team_id }: NoticeTargetRow,
  request: FastifyRequest,
): Promise<Static<typeof NoticeTargetTest>> {
  if (isValidateOnly(request)) return { is_delivered: null, detail: null };
  const wait_seconds = await takeAttempt(deps, `notice_target_test:${team_id}`, throttle);
  if (wait_seconds !== undefined) throw throttled(wait_seconds);
  const result = await send(deps, id);
  const told =
    result.outcome === 'delivered'
      ? { is_delivered: true, detail: null }
      : { is_delivered: false, detail: result.detail };
  await noteTest(deps.db, id, { at: isoInstant(deps.clock.now()), ...told });
  return told;
}

async function send(deps: Deps, id: string): Promise<AttemptResult> {
  const target = await findTarget(deps.db, id);
  if (target === undefined) throw notFound();
  if (target.type === 'email')
    return sendMail(deps.mail, { to: target.address, ...trialMail(detail) });
  const trial_id = uuidv7();
  const at = isoInstant(deps.clock.now());
  const text = JSON.stringify({
    type: 'notice_target.test',
    timestamp: at,
    data: { notice_target: id, detail },
  });
  const { type } = target;
  const textsFor = (secret: string | undefined) =>
    type === 'webhook'
      ? [text]
      : trialBodies(type, deps.config.public_url, { id: trial_id, detail, at }, secret);
  const { signal } = new AbortController();
  return postToTarget(deps, target, { id: trial_id, textsFor }, signal);
}
