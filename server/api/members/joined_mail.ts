import { level_names } from '../../platform/http/caller/access.ts';
import type { MailMessage } from '../../platform/mail/mail.ts';
import { compose } from '../../platform/mail/compose.ts';
import { withoutLinks } from '../../platform/mail/plain_text.ts';
import type { Level } from './schema.ts';

/** A person who joined an organization; `person_name` is empty if they have not entered one. */
type Joined = { organization_name: string; person_name: string; email: string; level: Level };

/**
 * Builds the mail that tells a member about a person who joined, without its recipient. Replies go
 * to the person who joined.
 */
export function joinedMail({ email, level, ...names }: Joined): Omit<MailMessage, 'to'> {
  // Anybody can choose names, so they must not add paragraphs or links to our mail.
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
