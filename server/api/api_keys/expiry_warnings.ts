import type { Deps } from '../../deps.ts';
import { changesOf } from '../../platform/activity/changes.ts';
import { tellOfEach } from '../../platform/activity/tell_of_each.ts';
import { compose } from '../../platform/mail/compose.ts';
import type { MailMessage } from '../../platform/mail/mail.ts';
import { oneLine } from '../../platform/mail/plain_text.ts';
import { takeExpiryWarning } from './store.ts';
import type { ExpiringKey } from './store.ts';

/**
 * Warns the owner of every personal API key 14 days and 1 day before it expires, by a mail and an
 * entry in their activity log. With any number of processes, each warning is sent once. Returns the
 * number of warnings.
 */
export function warnOfExpiringKeys(deps: Deps, signal?: AbortSignal): Promise<number> {
  return tellOfEach(deps, signal, async (place) => {
    const due = await takeExpiryWarning(place.tx, deps.clock.now());
    if (due === undefined) return undefined;
    const { id: item_id, label: item_name, user_uuid, expires_at } = due;
    await deps.outbox.post(place, [{ message: expiryMail(due, deps.config.public_url) }]);
    const changes = changesOf(undefined, { expires_at });
    return {
      chain: { user_uuid },
      entry: { activity: 'warned', scope: 'personal_api_key', item_id, item_name, changes },
    };
  });
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
        'After that, requests with it are refused. If a program needs it, rotate the key: ' +
          'you get a new one, and the old one keeps working for a time that you choose, but ' +
          'not beyond its end.',
      ],
      action: { label: 'See your API keys', url: `${public_url}/account` },
      footer: 'You get this mail because the key belongs to your account.',
    }),
  };
}
