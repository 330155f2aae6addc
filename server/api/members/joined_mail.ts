import { level_names } from '../../platform/http/caller/access.ts';
import type { MailMessage } from '../../platform/mail/mail.ts';
import { compose } from '../../platform/mail/compose.ts';
import { withoutLinks } from '../../platform/mail/plain_text.ts';
import type { Level } from './schema.ts';

/** Somebody who joined an organization; `person_name` is empty when they have not said it. */
type Joined = { organization_name: string; person_name: string; email: string; level: Level };

/**
 * The mail that tells a member of somebody who joined, all but its recipient. Answers go to the
 * person who joined.
 */
export function joinedMail({ email, level, ...names }: Joined): Omit<MailMessage, 'to'> {
  // Names are anyone's words: they must not write paragraphs of ours.
  const [organization_name, person_name] = [
    withoutLinks(names.organization_name),
    withoutLinks(names.person_name),
  ];
  const who = person_name === '' ? email : `${person_name} (${email})`;
  const heading = `${person_name || email} joined ${organization_name}`;
  return {
    reply_to: { name: person_name, address: email },
    subject: heading,
    ...compose({
      heading,
      paragraphs: [
        `${who} is now a member of ${organization_name} on Sluice. Their level is ` +
          `${level_names[level]}.`,
      ],
      footer:
        `You get this mail because you are a member of ${organization_name}. An administrator ` +
        'can switch such mails off for the whole organization.',
    }),
  };
}
