import { withoutLinks } from '../../../platform/mail/plain_text.ts';

/** Builds the mail about a link that an owner created; anybody can choose the name. */
export function linkCreated(
  domain: string,
  { name, expires_at }: { name: string; expires_at: string },
  by: string,
) {
  return {
    heading: `A setup link was created for ${domain}`,
    paragraphs: [
      `${by} created a link for “${withoutLinks(name)}”. With it they can prove the domain and ` +
        'enter its identity provider, without an account. Their entries have no effect until an ' +
        'owner confirms them.',
      `The link expires at ${expires_at}. It ends sooner if ${by} is no longer an owner.`,
      'If you do not expect this, revoke the link on the page of the domain.',
    ],
  };
}
