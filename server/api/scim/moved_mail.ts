import type { MailMessage } from '../../platform/mail/mail.ts';
import { compose } from '../../platform/mail/compose.ts';
import { withoutLinks } from '../../platform/mail/plain_text.ts';

/** Builds the mail to the former address of an account about its new address. */
export function movedMail(to: string, email: string, organization_name: string): MailMessage {
  const heading = 'Your e-mail address was changed';
  const paragraphs = [
    `The directory of ${withoutLinks(organization_name)} has given your account on Sluice ` +
      `the address ${email}. From now on, sign in with that address.`,
  ];
  const footer = 'If this is wrong, tell the administrators of your organization.';
  return { to, subject: heading, ...compose({ heading, paragraphs, footer }) };
}
