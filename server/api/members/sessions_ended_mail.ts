import type { MailMessage } from '../../platform/mail/mail.ts';
import { compose } from '../../platform/mail/compose.ts';
import { oneLine } from '../../platform/mail/plain_text.ts';

/** Builds the mail that tells a member how many of their sessions an owner ended. */
export function sessionsEndedMail(
  told: { to: string; by: string; organization_name: string; ended: number },
  public_url: string,
): MailMessage {
  const { to, by, ended } = told;
  // Anybody can choose a name, so it must not add paragraphs or links to our mail.
  const organization_name = oneLine(told.organization_name);
  const heading = 'An owner signed you out';
  return {
    to,
    subject: heading,
    ...compose({
      heading,
      paragraphs: [
        `${by}, an owner of ${organization_name}, ended ` +
          `${ended === 1 ? 'a session' : `${ended} sessions`} of your account. You are signed ` +
          `out of ${ended === 1 ? 'that browser' : 'those browsers'} on this whole server.`,
        'Your API keys keep working. To continue, sign in again.',
      ],
      action: { label: 'Sign in', url: `${public_url}/login` },
      footer: `You get this mail because you are a member of ${organization_name}.`,
    }),
  };
}
