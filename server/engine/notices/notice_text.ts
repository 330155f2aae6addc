import { Temporal } from 'temporal-polyfill';
import { withoutLinks } from '../../platform/mail/plain_text.ts';
import type { NoticeBody } from './notice.ts';

/** A notice in words: each kind of target puts them into its own form. */
export type NoticeText = {
  heading: string;
  sentence: string;
  facts: { label: string; value: string }[];
  /** the address of the export in the console */
  url: string;
  /** that of the run; undefined if the notice is about none */
  run_url: string | undefined;
};

/**
 * Returns the words of a notice, with all times in the project's zone. The names of export and
 * project are anyone's words, and so may the sentence be: they hold no links of their own, but the
 * caller keeps them from being read as a markup.
 */
export function noticeText(
  public_url: string,
  { type, timestamp, data: { batch_export, project, detail, run } }: NoticeBody,
): NoticeText {
  const at = (instant: string) => inZone(instant, project?.timezone);
  const url = exportUrl(public_url, batch_export);
  return {
    heading: headingOf(type, withoutLinks(batch_export.name)),
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
    url,
    run_url: run === null ? undefined : `${url}/runs/${run.id}`,
  };
}

/** Returns an instant as the clocks of the zone show it, with their distance from UTC. */
export function inZone(instant: string, zone = 'UTC'): string {
  const shown = Temporal.Instant.from(instant).toZonedDateTimeISO(zone);
  const text = shown.toString({
    smallestUnit: 'minute',
    timeZoneName: 'never',
    offset: zone === 'UTC' ? 'never' : 'auto',
  });
  return `${text.replace('T', ' ')} ${zone}`;
}

/** Leaves the word of the state out of a sentence: the heading has it. */
function withoutState(sentence: string): string {
  const rest = sentence.replace(/^(?:Failing: |Late\. |Partly delivered: |Unusual volume: )/, '');
  return rest.charAt(0).toUpperCase() + rest.slice(1);
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
    case 'batch_export.table_gone':
      return `The table of the export ${name} is gone`;
    case 'batch_export.schema_drift':
      return `The columns of the export ${name} differ from its events`;
    case 'batch_export.table_unreadable':
      return `Files of the table of the export ${name} cannot be read`;
    case 'batch_export.paused_automatically':
      return `The export ${name} was paused`;
  }
}
