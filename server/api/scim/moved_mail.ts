import type { MailMessage } from '../../platform/mail/mail.ts';
import { compose } from '../../platform/mail/compose.ts';
import { withoutLinks } from '../../platform/mail/plain_text.ts';

/** Tells the owner of an account, at the address of before, which one it has now. */
export function movedMail(to: string, email: string, organization_name: string): MailMessage {
  const heading = 'Your e-mail address was changed';
  const paragraphs = [
    `The directory of ${withoutLinks(organization_name)} has given your account on Sluice the ` +
      `address ${email}. You sign in with that one from now on.`,
  ];
  const footer = 'If this is wrong, tell the administrators of your organization.';
  return { to, subject: heading, ...compose({ heading, paragraphs, footer }) };
}
