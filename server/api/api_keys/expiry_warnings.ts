import type { Deps } from '../../deps.ts';
import { appendActivity, server_actor } from '../../platform/activity/chain.ts';
import { compose } from '../../platform/mail/compose.ts';
import type { MailMessage } from '../../platform/mail/mail.ts';
import { oneLine } from '../../platform/mail/plain_text.ts';
import { takeExpiryWarning } from './store.ts';
import type { ExpiringKey } from './store.ts';

/**
 * Warns the owner of every personal API key 14 days and 1 day before it expires: a mail, and an
 * entry in their own activity log, once for each of the two, whatever number of processes does
 * this. Gives how many warnings there were.
 */
export async function warnOfExpiringKeys(deps: Deps, signal?: AbortSignal): Promise<number> {
  let warned = 0;
  while (signal?.aborted !== true && (await warnOfOne(deps))) warned += 1;
  return warned;
}

async function warnOfOne(deps: Deps): Promise<boolean> {
  const mails = await deps.db.transaction(async (tx) => {
    const due = await takeExpiryWarning(tx, deps.clock.now());
    if (due === undefined) return undefined;
    await appendActivity(
      tx,
      deps.secrets,
      { user_uuid: due.user_uuid },
      server_actor,
      warningEntry(due),
    );
    return deps.outbox.write(tx, [{ message: expiryMail(due, deps.config.public_url) }]);
  });
  if (mails === undefined) return false;
  void deps.outbox.send(mails);
  return true;
}

/** Nothing changes; what the warning is about stands where a change would. */
function warningEntry({ id, label, expires_at }: ExpiringKey) {
  const change = {
    field: 'expires_at',
    action: 'created' as const,
    before: null,
    after: expires_at,
  };
  return {
    activity: 'warned',
    scope: 'personal_api_key',
    item_id: id,
    item_name: label,
    changes: [change],
  };
}

function expiryMail(
  { email, label, mask_value, expires_at, last_used_at }: ExpiringKey,
  public_url: string,
): MailMessage {
  const heading = 'An API key of yours expires soon';
  const used =
    last_used_at === null ? 'It was never used.' : `It was last used at ${last_used_at}.`;
  return {
    to: email,
    subject: heading,
    ...compose({
      heading,
      paragraphs: [
        `Your API key "${oneLine(label)}" (${mask_value}) expires at ${expires_at}. ${used}`,
        'Requests with it are refused from then on. If a program needs it, rotate the key: you ' +
          'get a new one, and the old one keeps working for the time that you choose, up to its ' +
          'end.',
      ],
      action: { label: 'See your API keys', url: `${public_url}/account` },
      footer: 'You get this mail because the key belongs to your account.',
    }),
  };
}
