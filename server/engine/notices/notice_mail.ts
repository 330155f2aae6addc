import { Temporal } from 'temporal-polyfill';
import { compose } from '../../platform/mail/compose.ts';
import type { MailContent } from '../../platform/mail/compose.ts';
import { oneLine, withoutLinks } from '../../platform/mail/plain_text.ts';
import type { MailMessage } from '../../platform/mail/mail.ts';
import type { NoticeBody, NoticeEvent } from './notice.ts';

/**
 * Why somebody gets a notice: an address that a target names, or an administrator of a project
 * without targets.
 */
export type Addressee = 'target' | 'administrator';

const footers: Record<Addressee, string> = {
  target: 'You get this mail because a notice target of the project names your address.',
  administrator:
    'You get this mail because you administrate the organization, and its project has no ' +
    'notice targets. Create one to choose who gets which notices.',
};

/** Length of a sentence in a mail of several notices, which has a line for each. */
const sentence_length_max = 300;

const words: Record<NoticeEvent, string> = {
  failing: 'failing',
  late: 'late',
  unusual_volume: 'unusual volume',
  rejecting: 'refused rows',
  paused_automatically: 'paused',
  recovered: 'recovered',
};

/**
 * The mail of one project's notices (at least one), in their order, to one address, without `to`.
 * The names of export and project, and the sentences of the destination, are anyone's words and
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

function contentOfOne(public_url: string, { type, timestamp, data }: NoticeBody): MailContent {
  const { batch_export, project, detail, run } = data;
  const at = (instant: string) => inZone(instant, project?.timezone ?? 'UTC');
  const url = exportUrl(public_url, batch_export);
  const facts = [
    ...(project === undefined ? [] : [`Project: ${withoutLinks(project.name)}`]),
    `Time: ${at(timestamp)}`,
    ...(run === null
      ? []
      : [
          `Interval: ${at(run.data_interval_start)} to ${at(run.data_interval_end)}`,
          `Run: ${url}/runs/${run.id}`,
        ]),
  ];
  return {
    heading: headingOf(type, withoutLinks(batch_export.name)),
    paragraphs: [withTimesIn(detail, project?.timezone), facts.join('\n')],
    action: { label: 'See the export', url },
  };
}

/** Counts the notices by kind in the subject; each export has a paragraph with its address. */
function contentOfMany(public_url: string, bodies: NoticeBody[]): MailContent {
  const counts = Object.entries(words).flatMap(([event, word]) => {
    const count = bodies.filter(({ type }) => type === `batch_export.${event}`).length;
    return count === 0 ? [] : [`${count} ${word}`];
  });
  const { project } = bodies[0]!.data;
  const of = project === undefined ? '' : ` of ${withoutLinks(project.name)}`;
  return {
    heading: `${bodies.length} notices of exports${of}: ${counts.join(', ')}`,
    paragraphs: bodies.map(({ type, timestamp, data: { batch_export, detail } }) => {
      const at = inZone(timestamp, project?.timezone ?? 'UTC');
      const sentence = oneLine(withTimesIn(detail, project?.timezone));
      const short =
        sentence.length <= sentence_length_max
          ? sentence
          : `${sentence.slice(0, sentence_length_max)}…`;
      const heading = headingOf(type, withoutLinks(batch_export.name));
      return `${heading} (${at})\n${short}\n${exportUrl(public_url, batch_export)}`;
    }),
    action: {
      label: 'See the exports',
      url: `${public_url}/projects/${bodies[0]!.data.batch_export.team_id}/exports`,
    },
  };
}

/** As the clocks of the zone show it, with how far they are before UTC. */
function inZone(instant: string, zone: string): string {
  const shown = Temporal.Instant.from(instant).toZonedDateTimeISO(zone);
  const text = shown.toString({
    smallestUnit: 'minute',
    timeZoneName: 'never',
    offset: zone === 'UTC' ? 'never' : 'auto',
  });
  return `${text.replace('T', ' ')} ${zone}`;
}

/** A sentence with its instants in the zone, as all times of the mail. */
function withTimesIn(sentence: string, zone = 'UTC'): string {
  return sentence.replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z/g, (text) => {
    // A destination may have said what only looks like one.
    const at = Date.parse(text);
    return Number.isNaN(at) ? text : inZone(new Date(at).toISOString(), zone);
  });
}

/** Returns the address of the export in the console. */
function exportUrl(
  public_url: string,
  { team_id, id }: NoticeBody['data']['batch_export'],
): string {
  return `${public_url}/projects/${team_id}/exports/${id}`;
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
    case 'batch_export.rejecting':
      return `The destination refuses rows of the export ${name}`;
    case 'batch_export.paused_automatically':
      return `The export ${name} was paused`;
  }
}
