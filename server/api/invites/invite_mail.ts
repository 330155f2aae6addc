import { level_names } from '../../platform/http/caller/access.ts';
import type { MailMessage } from '../../platform/mail/mail.ts';
import { compose } from '../../platform/mail/compose.ts';
import { withoutLinks } from '../../platform/mail/plain_text.ts';
import { open_for_ms } from './schema.ts';
import type { Sender, StoredInvite } from './store.ts';

/** Builds the mail to the invited person. Replies go to the sender. */
export function inviteMail(
  sender: Sender,
  { record: invite, sent_at }: StoredInvite,
  link: string,
): MailMessage {
  const { email } = sender;
  // Anybody can choose names, so they must not add paragraphs or links to our mail.
  const [organization_name, name, first_name] = [
    withoutLinks(sender.organization_name),
    withoutLinks(sender.name),
    withoutLinks(invite.first_name),
  ];
  const who = name === '' ? email : `${name} (${email})`;
  const greeting = first_name === '' ? [] : [`Hello ${first_name},`];
  const hasMessage = invite.message !== null && invite.message.trim() !== '';
  return {
    to: invite.target_email,
    reply_to: { name, address: email },
    subject: `${name || email} invites you to ${organization_name}`,
    ...compose({
      heading: `Join ${organization_name} on Sluice`,
      paragraphs: [
        ...greeting,
        `${who} invites you to join ${organization_name} on Sluice. Your level is ` +
          `${level_names[invite.level]}.`,
        ...(hasMessage ? ['Message from the sender:'] : []),
      ],
      ...(hasMessage ? { quote: invite.message! } : {}),
      action: { label: 'Accept the invite', url: link },
      footer:
        `The invite is for ${invite.target_email} and can be accepted until ` +
        `${written(Date.parse(sent_at) + open_for_ms)} UTC. If you do not know the ` +
        'sender, ignore this mail: nothing happens.',
    }),
  };
}

// Created on demand: creating it takes 10 ms, and creating one for each of 1,000 mails would take
// half a second more.
let format: Intl.DateTimeFormat | undefined;

function written(instant_ms: number): string {
  format ??= new Intl.DateTimeFormat('en-GB', {
    dateStyle: 'long',
    timeStyle: 'short',
    timeZone: 'UTC',
  });
  return format.format(instant_ms);
}
