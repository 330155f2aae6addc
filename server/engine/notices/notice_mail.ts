import { compose } from '../../platform/mail/compose.ts';
import { oneLine } from '../../platform/mail/plain_text.ts';
import type { MailMessage } from '../../platform/mail/mail.ts';
import type { NoticeBody } from './notice.ts';

/**
 * Why somebody gets a notice: an address that a target names, or an administrator of a project
 * without targets.
 */
export type Addressee = 'target' | 'administrator';

const footers: Record<Addressee, string> = {
  target: 'You get this mail because a notice target of the project names your address.',
  administrator:
    'You get this mail because you administrate the organization, and its project has no ' +
    'notice targets. Create one to choose who is told of what.',
};

/**
 * The mail of a notice to one address, without `to`. The export's name and the sentences of its
 * destination are anyone's words and stay inside their places.
 */
export function noticeMail(
  public_url: string,
  { type, data }: NoticeBody,
  addressee: Addressee,
): Omit<MailMessage, 'to'> {
  const { batch_export, detail, run } = data;
  const heading = headingOf(type, oneLine(batch_export.name));
  const paragraphs = [
    detail,
    ...(run === null
      ? []
      : [`Run: ${run.id}\nInterval: ${run.data_interval_start} to ${run.data_interval_end}`]),
  ];
  const action = {
    label: 'See the export',
    url: `${public_url}/api/projects/${batch_export.team_id}/batch_exports/${batch_export.id}/`,
  };
  return {
    subject: heading,
    ...compose({ heading, paragraphs, action, footer: footers[addressee] }),
  };
}

/** The mail with which a target is tried out. */
export function trialMail(detail: string): Omit<MailMessage, 'to'> {
  const heading = 'A notice to try this address out';
  return {
    subject: heading,
    ...compose({ heading, paragraphs: [detail], footer: footers.target }),
  };
}

function headingOf(type: NoticeBody['type'], name: string): string {
  switch (type) {
    case 'batch_export.failing':
      return `The export ${name} is failing`;
    case 'batch_export.recovered':
      return `The export ${name} has recovered`;
    case 'batch_export.late':
      return `The export ${name} is late`;
    case 'batch_export.unusual_volume':
      return `The export ${name} has delivered an unusual number of rows`;
    case 'batch_export.paused_automatically':
      return `The export ${name} was paused`;
  }
}
