import type { MailMessage } from '../../platform/mail/mail.ts';
import { compose } from '../../platform/mail/compose.ts';
import { oneLine } from '../../platform/mail/plain_text.ts';
import type { Leaving } from './leave_domain.ts';

/**
 * Builds the mail with the link that verifies the address. `is_new`: the account has another
 * address until then. `leaving`: the membership that then ends.
 */
export function verificationMail(
  to: string,
  url: string,
  is_new: boolean,
  leaving?: Leaving,
): MailMessage {
  const paragraphs = [
    is_new
      ? `Somebody who is signed in asked to change the address of the account to ${to}. It takes ` +
        'effect when they open this link, signed in to that account.'
      : `Open this link, signed in to your account, to confirm that ${to} is your address.`,
    ...endingOf(leaving),
  ];
  const footer =
    'The link works once, for 3 days. If this was not you, ignore this mail and nothing changes.';
  const heading = 'Confirm your e-mail address';
  return {
    to,
    subject: heading,
    ...compose({ heading, paragraphs, action: { label: 'Confirm the address', url }, footer }),
  };
}

function endingOf(leaving: Leaving | undefined): string[] {
  if (leaving === undefined) return [];
  const { domain, name } = leaving;
  return [
    `The address is outside of ${domain}, which enforces single sign-on: with it the account ` +
      `is no longer a member of ${oneLine(name)}. An owner there can exempt the account first.`,
  ];
}

/** Builds the mail with the link to choose a new password. */
export function resetMail(to: string, url: string): MailMessage {
  const heading = 'Choose a new password';
  const paragraphs = [
    'Somebody asked for a new password for your account. Choosing one signs you out ' +
      'everywhere; a second factor stays, unless it was set up before this address was confirmed.',
  ];
  const footer =
    'The link works once, for 1 hour. If this was not you, ignore this mail and your ' +
    'password stays the same.';
  return {
    to,
    subject: heading,
    ...compose({ heading, paragraphs, action: { label: 'Choose a password', url }, footer }),
  };
}

const notices = {
  password: [
    'Your password was changed',
    'The password of your account was changed, and all other sessions were ended.',
  ],
  second_factor_set_up: [
    'A second factor was set up',
    'From now on, signing in to your account with the password also takes a code of your app, or ' +
      'another second factor of yours.',
  ],
  second_factor_removed: [
    'Your second factor was removed',
    'From now on, the password alone is enough to sign in to your account.',
  ],
  totp_removed: [
    'The codes of your app were removed',
    'Codes of your authenticator app no longer sign you in. Your passkeys keep working.',
  ],
  passkey_created: [
    'A passkey was added to your account',
    'From now on it signs you in to your account. Signing in with the password takes a passkey, ' +
      'or another second factor of yours.',
  ],
  passkey_deleted: [
    'A passkey was removed from your account',
    'It no longer signs you in to your account. Another second factor of yours keeps working.',
  ],
  last_passkey_deleted: [
    'The last passkey was removed from your account',
    'From now on, your password or your provider is enough to sign in to your account.',
  ],
  recovery_codes: [
    'You have new recovery codes',
    'New recovery codes were created for your account; the ones before them no longer work.',
  ],
} as const;

/** Builds the mail to the owner of an account about a change, in case somebody else made it. */
export function noticeMail(to: string, notice: keyof typeof notices): MailMessage {
  const [heading, sentence] = notices[notice];
  return warning(to, heading, sentence);
}

/**
 * Builds the mail to the current address about a new address, `email`, which replaces it when the
 * link mailed there is opened.
 */
export function addressChangeMail(to: string, email: string, leaving?: Leaving): MailMessage {
  const sentence =
    `Somebody who is signed in wants ${email} to be the address of your account. Until the ` +
    `link mailed there is opened, your address stays ${to}.`;
  const sentences = [sentence, ...endingOf(leaving)].join(' ');
  return warning(to, 'Your e-mail address is being changed', sentences);
}

function warning(to: string, heading: string, sentence: string): MailMessage {
  const footer =
    'If this was not you, choose a new password at once, and tell the administrators of your ' +
    'organization.';
  return { to, subject: heading, ...compose({ heading, paragraphs: [sentence], footer }) };
}
