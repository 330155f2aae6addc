import type { FastifyRequest } from 'fastify';
import { forgetAttempts, takeAttempt, takeBackAttempt } from '../../pacing/throttle.ts';
import type { AttemptPolicy } from '../../pacing/throttle.ts';
import { PasswordsBusyError } from '../../passwords/password.ts';
import { ApiError, notedAs, throttled } from '../errors.ts';
import { addressOf } from '../limits/address.ts';

const tries_of_account: AttemptPolicy = { free: 5, pause_seconds_min: 2, pause_seconds_max: 900 };
const tries_of_address: AttemptPolicy = { free: 20, pause_seconds_min: 2, pause_seconds_max: 900 };
const mails_of_account: AttemptPolicy = { free: 3, pause_seconds_min: 60, pause_seconds_max: 3600 };
const mails_of_address: AttemptPolicy = {
  free: 20,
  pause_seconds_min: 60,
  pause_seconds_max: 3600,
};

/**
 * Kinds of mails that are counted separately. Anybody can request password reset links, for an
 * address with or without an account, so they have their own count.
 */
type MailKind = 'reset' | 'mail';

/**
 * Counts a try of a password or code, then runs `work`, which calls `held` as soon as the proof was
 * correct. Such a try is refunded to account and address, whatever follows, and so is one that the
 * server was too busy to check. Every other one stays a failure, and none ends a series. `account`
 * is the e-mail address in its compared form, whether or not an account has it. Throws 429 with the
 * seconds to wait after too many failures for this account or from this address.
 */
export async function countTry<Result>(
  request: FastifyRequest,
  account: string,
  work: (held: () => void) => Promise<Result>,
): Promise<Result> {
  const { context } = request.server;
  const [by_account, by_address] = [
    accountSubject(request, 'try', account),
    `try from ${addressOf(request.ip)}`,
  ];
  // The address comes first: a blocked address must not be able to block an account.
  await takeTry(request, by_address, tries_of_address, 'tries_of_address');
  try {
    await takeTry(request, by_account, tries_of_account, 'tries_of_account');
  } catch (error) {
    // Nothing is tried, so it does not count.
    await takeBackAttempt(context, by_address);
    throw error;
  }
  let isFailure = true;
  try {
    return await work(() => (isFailure = false));
  } catch (error) {
    if (error instanceof PasswordsBusyError) isFailure = false;
    throw error;
  } finally {
    if (!isFailure) await giveBack(request, [by_account, by_address]);
  }
}

/**
 * Counts a mail that the request sends. `account` is as in `countTry`. Throws 429 if the account
 * had too many mails of this kind, or the requesting address too many of any kind.
 */
export async function countMail(
  request: FastifyRequest,
  kind: MailKind,
  account: string,
): Promise<void> {
  await take(request, `mail from ${addressOf(request.ip)}`, mails_of_address);
  await take(request, accountSubject(request, kind, account), mails_of_account);
}

/** Ends an account's series of failed tries, because its owner has signed in completely. */
export async function forgiveTries(request: FastifyRequest, account: string): Promise<void> {
  await forgetAttempts(request.server.context, accountSubject(request, 'try', account));
}

function accountSubject(
  { server }: FastifyRequest,
  kind: 'try' | MailKind,
  account: string,
): string {
  return `${kind} on ${server.context.secrets.hash(`account ${account}`).toString('base64url')}`;
}

/** Does the same as `take`, and records blocked tries in the security log. */
async function takeTry(
  request: FastifyRequest,
  subject: string,
  policy: AttemptPolicy,
  reason: string,
): Promise<void> {
  try {
    await take(request, subject, policy);
  } catch (error) {
    throw error instanceof ApiError ? notedAs(error, 'locked_out', reason) : error;
  }
}

/** Never throws: the work may be committed, so a fault goes to the server's log. */
async function giveBack(request: FastifyRequest, subjects: string[]): Promise<void> {
  const { context } = request.server;
  try {
    for (const subject of subjects) await takeBackAttempt(context, subject);
  } catch (error) {
    context.log.warn(
      { err: error, request_id: request.id },
      'a successful attempt could not be removed from the failure count',
    );
  }
}

async function take(
  request: FastifyRequest,
  subject: string,
  policy: AttemptPolicy,
): Promise<void> {
  const wait_seconds = await takeAttempt(request.server.context, subject, policy);
  if (wait_seconds !== undefined) throw throttled(wait_seconds);
}
