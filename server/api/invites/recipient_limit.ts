import sql from 'sql-template-tag';
import type { Deps } from '../../deps.ts';
import { takeAttempts } from '../../platform/pacing/throttle.ts';
import type { AttemptPolicy } from '../../platform/pacing/throttle.ts';
import { throttled } from '../../platform/http/errors.ts';
import type { Transaction } from '../../platform/postgres/database.ts';

const day_seconds = 24 * 3_600;
const invites_of_recipient: AttemptPolicy = {
  free: 10,
  pause_seconds_min: day_seconds,
  pause_seconds_max: day_seconds,
};

/** An address that will get an invite; `attr` is its field, or null. */
export type Recipient = { email: string; attr: string | null };

/**
 * Counts a mail with an invite for each address; all addresses must differ. Throws 429 with the
 * addresses that had 10 within a day, over all organizations. Then, and after a rollback, nothing
 * is counted. Without a relay, no mail is sent and nothing is counted.
 */
export async function countRecipients(
  tx: Transaction,
  { mail, clock, secrets }: Pick<Deps, 'mail' | 'clock' | 'secrets'>,
  recipients: Recipient[],
): Promise<void> {
  if (!mail.is_configured) return;
  const addresses = await tx.rows<{ address: string }>(sql`
    SELECT comparable_address(asked.email) AS address
    FROM unnest(${recipients.map(({ email }) => email)}::text[])
      WITH ORDINALITY AS asked (email, number) ORDER BY asked.number`);
  const subjects = addresses.map(
    ({ address }) => `invite to ${secrets.hash(`account ${address}`).toString('base64url')}`,
  );
  const waits = await takeAttempts({ db: tx, clock }, subjects, invites_of_recipient);
  if (waits.size === 0) return;
  const refused = recipients.flatMap(({ attr }, index) => {
    const seconds = waits.get(subjects[index]!);
    return seconds === undefined ? [] : [{ attr, detail: detailOf(seconds) }];
  });
  throw throttled(Math.max(...waits.values()), refused);
}

function detailOf(seconds: number): string {
  return (
    `This address got ${invites_of_recipient.free} invites within a day, from all organizations ` +
    `together: try again in ${seconds} ${seconds === 1 ? 'second' : 'seconds'}.`
  );
}
