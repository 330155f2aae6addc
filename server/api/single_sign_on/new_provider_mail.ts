import { compose } from '../../platform/mail/compose.ts';
import type { MailMessage } from '../../platform/mail/mail.ts';
import { oneLine } from '../../platform/mail/plain_text.ts';
import type { Home } from './store.ts';
import type { Vouched } from './vouched.ts';

/** Builds the mail about the first sign-in to an account through a provider. */
export function newProviderMail(
  to: string,
  method: Vouched['method'],
  home: Home | undefined,
): MailMessage {
  // Anybody can choose the name, so it must not add paragraphs or links to our mail.
  const name = oneLine(home?.organization.name ?? '');
  const by =
    method === 'saml' ? `the identity provider of ${home?.domain.domain} (${name})` : method;
  const heading = 'A new way to sign in to your account was used';
  return {
    to,
    subject: heading,
    ...compose({
      heading,
      paragraphs: [
        `Somebody signed in to your account on Sluice through ${by} for the first time.`,
        method === 'saml'
          ? 'This sign-in reaches only organizations that accept this provider. For your ' +
            'other organizations and your account you need your own password, second ' +
            'factor or passkey.'
          : 'If you have a second factor, your account still asks for it.',
        'If this was not you, tell the operator of the server and an owner of your organization.',
      ],
      footer: 'You get this mail because you have an account with this address.',
    }),
  };
}
