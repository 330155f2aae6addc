import { Temporal } from 'temporal-polyfill';
import { withoutLinks } from '../../platform/mail/plain_text.ts';
import { eventOf, subjectOf } from './notice.ts';
import type { NoticeBody, NoticeEvent } from './notice.ts';

/** A notice in words, which each kind of target formats in its own way. */
export type NoticeText = {
  heading: string;
  sentence: string;
  facts: { label: string; value: string }[];
  kind: 'export' | 'tool';
  /** the address of the export or tool in the console */
  url: string;
  /** the URL of the run; undefined if the notice is about no run */
  run_url: string | undefined;
};

/**
 * Returns the words of a notice, with all times in the project's zone. The names of export and
 * project, and sometimes the sentence, are untrusted text. They contain no links, but the caller
 * must escape its markup.
 */
export function noticeText(public_url: string, notice: NoticeBody): NoticeText {
  const {
    timestamp,
    data: { project, detail, run },
  } = notice;
  const { kind, name, path } = subjectOf(notice);
  const at = (instant: string) => inZone(instant, project?.timezone);
  const url = `${public_url}${path}`;
  const shown = withoutLinks(name);
  const event = eventOf(notice);
  return {
    heading: kind === 'export' ? headingOf(event, shown) : toolHeadingOf(event, shown),
    sentence: withTimesIn(withoutState(detail), project?.timezone),
    facts: [
      ...(project === undefined ? [] : [{ label: 'Project', value: withoutLinks(project.name) }]),
      { label: 'Time', value: at(timestamp) },
      ...(run === null
        ? []
        : [
            {
              label: 'Interval',
              value: `${at(run.data_interval_start)} to ${at(run.data_interval_end)}`,
            },
          ]),
    ],
    kind,
    url,
    run_url: run === null ? undefined : `${url}/runs/${run.id}`,
  };
}

/** Returns an instant in local time of the zone, with the UTC offset. */
export function inZone(instant: string, zone = 'UTC'): string {
  const shown = Temporal.Instant.from(instant).toZonedDateTimeISO(zone);
  const text = shown.toString({
    smallestUnit: 'minute',
    timeZoneName: 'never',
    offset: zone === 'UTC' ? 'never' : 'auto',
  });
  return `${text.replace('T', ' ')} ${zone}`;
}

/** Removes the word of the state from a sentence: the heading contains it. */
function withoutState(sentence: string): string {
  const rest = sentence.replace(/^(?:Failing: |Late\. |Partly delivered: |Unusual volume: )/, '');
  return rest.charAt(0).toUpperCase() + rest.slice(1);
}

/** Returns a sentence with its instants in the zone, like all times of the mail. */
function withTimesIn(sentence: string, zone = 'UTC'): string {
  return sentence.replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z/g, (text) => {
    // A destination's text may only look like an instant.
    const at = Date.parse(text);
    return Number.isNaN(at) ? text : inZone(new Date(at).toISOString(), zone);
  });
}

function headingOf(event: NoticeEvent, name: string): string {
  switch (event) {
    case 'failing':
      return `The export ${name} is failing`;
    case 'recovered':
      return `The export ${name} has recovered`;
    case 'late':
      return `The export ${name} is late`;
    case 'unusual_volume':
      return `The export ${name} has delivered an unusual number of rows`;
    case 'rejecting':
      return `The destination refuses rows of the export ${name}`;
    case 'table_gone':
      return `The table of the export ${name} is gone`;
    case 'schema_drift':
      return `The columns of the export ${name} differ from its events`;
    case 'table_unreadable':
      return `Files of the table of the export ${name} cannot be read`;
    case 'differing':
      return `The destination of the export ${name} differs from what was delivered`;
    case 'disconnected':
      return `The export ${name} has to be connected again`;
    case 'paused_automatically':
      return `The export ${name} was paused`;
  }
}

function toolHeadingOf(event: NoticeEvent, name: string): string {
  if (event === 'recovered') return `The tool ${name} has recovered`;
  if (event === 'disconnected') return `The tool ${name} has to be connected again`;
  return event === 'rejecting'
    ? `The tool ${name} does not take some events`
    : `The tool ${name} is failing`;
}
