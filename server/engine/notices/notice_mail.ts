import { compose } from '../../platform/mail/compose.ts';
import type { MailContent } from '../../platform/mail/compose.ts';
import { oneLine, withoutLinks } from '../../platform/mail/plain_text.ts';
import type { MailMessage } from '../../platform/mail/mail.ts';
import { eventOf, subjectOf } from './notice.ts';
import type { NoticeBody, NoticeEvent } from './notice.ts';
import { inZone, noticeText } from './notice_text.ts';

/**
 * Why an address gets a notice: a target names it, or it belongs to an administrator of a project
 * without targets.
 */
export type Addressee = 'target' | 'administrator';

const footers: Record<Addressee, string> = {
  target: 'You get this mail because a notice target of the project names your address.',
  administrator:
    'You get this mail because you administer the organization, and its project has no notice ' +
    'targets. Create one to choose who gets which notices.',
};

/** Length of a sentence in a mail of several notices, which gives each one line. */
const sentence_length_max = 300;

const words: Record<NoticeEvent, string> = {
  failing: 'failing',
  late: 'late',
  unusual_volume: 'unusual volume',
  rejecting: 'refused rows',
  table_gone: 'table is gone',
  schema_drift: 'other columns',
  table_unreadable: 'table cannot be read',
  differing: 'changed by others',
  disconnected: 'to be connected again',
  paused_automatically: 'paused',
  recovered: 'recovered',
};

/**
 * Returns the mail with one project's notices (at least one), in order, to one address, without
 * `to`. The names of export and project, and the destination's sentences, are untrusted text and
 * stay inside their places.
 */
export function noticeMail(
  public_url: string,
  bodies: NoticeBody[],
  addressee: Addressee,
): Omit<MailMessage, 'to'> {
  const [first, ...others] = bodies as [NoticeBody, ...NoticeBody[]];
  const content =
    others.length === 0 ? contentOfOne(public_url, first) : contentOfMany(public_url, bodies);
  return { subject: content.heading, ...compose({ ...content, footer: footers[addressee] }) };
}

function contentOfOne(public_url: string, body: NoticeBody): MailContent {
  const { heading, sentence, facts, url, run_url } = noticeText(public_url, body);
  const lines = [
    ...facts.map(({ label, value }) => `${label}: ${value}`),
    ...(run_url === undefined ? [] : [`Run: ${run_url}`]),
  ];
  return {
    heading,
    paragraphs: [sentence, lines.join('\n')],
    action: { label: `See the ${subjectOf(body).kind}`, url },
  };
}

/** The subject counts the notices by kind; each export has a paragraph with its link. */
function contentOfMany(public_url: string, bodies: NoticeBody[]): MailContent {
  const counts = Object.entries(words).flatMap(([event, word]) => {
    const count = bodies.filter((body) => eventOf(body) === event).length;
    return count === 0 ? [] : [`${count} ${word}`];
  });
  const { project } = bodies[0]!.data;
  const of = project === undefined ? '' : ` of ${withoutLinks(project.name)}`;
  return {
    heading: `${bodies.length} notices of exports${of}: ${counts.join(', ')}`,
    paragraphs: bodies.map((body) => {
      const { heading, sentence, url } = noticeText(public_url, body);
      const line = oneLine(sentence);
      const short =
        line.length <= sentence_length_max ? line : `${line.slice(0, sentence_length_max)}…`;
      const at = inZone(body.timestamp, project?.timezone);
      return `${heading} (${at})\n${short}\n${url}`;
    }),
    action: listOf(public_url, bodies),
  };
}

/** Links to the exports, unless all notices are about tools. */
function listOf(public_url: string, bodies: NoticeBody[]): MailContent['action'] {
  const subjects = bodies.map(subjectOf);
  const isOfTools = subjects.every(({ kind }) => kind === 'tool');
  const of = `${public_url}/projects/${subjects[0]!.team_id}`;
  return isOfTools
    ? { label: 'See the tools', url: `${of}/plugins` }
    : { label: 'See the exports', url: `${of}/exports` };
}

/** Returns the mail that tests a target. */
export function trialMail(detail: string): Omit<MailMessage, 'to'> {
  const heading = 'A notice to try this address out';
  return {
    subject: heading,
    ...compose({ heading, paragraphs: [detail], footer: footers.target }),
  };
}
