import { cleanText } from '../../platform/mail/plain_text.ts';
import { eventOf, subjectOf } from './notice.ts';
import type { NoticeBody, NoticeEvent, NoticeService } from './notice.ts';
import { noticeText } from './notice_text.ts';
import type { NoticeText } from './notice_text.ts';

/** PagerDuty's events API for accounts in the United States. */
export const pagerduty_url = 'https://events.pagerduty.com/v2/enqueue';

/** Longest texts: Slack's header has 150 characters, PagerDuty's summary 1,024. */
const heading_length_max = 150;
const sentence_length_max = 800;

/** The words for a service, and the incident for PagerDuty. */
type Message = Omit<NoticeText, 'url'> & {
  url: string | undefined;
  incident: { key: string; severity: Severity; is_over: boolean; at: string };
};

type Severity = 'critical' | 'error' | 'warning' | 'info';

const severities: Record<Exclude<NoticeEvent, 'recovered'>, Severity> = {
  failing: 'error',
  paused_automatically: 'critical',
  late: 'warning',
  rejecting: 'warning',
  table_gone: 'error',
  schema_drift: 'info',
  table_unreadable: 'warning',
  differing: 'error',
  disconnected: 'error',
  unusual_volume: 'warning',
};

/**
 * Returns the JSON that the service gets for a notice, with `key` as PagerDuty's integration key.
 * `recovered` resolves the incident of the state that ended. Untrusted text is plain text in each
 * format, so it can neither link nor mention anybody.
 */
export function serviceBody(
  service: NoticeService,
  public_url: string,
  notice: NoticeBody,
  key: string | undefined,
): string {
  const { recovered_from } = notice.data;
  const event = eventOf(notice);
  const state = event === 'recovered' ? (recovered_from as keyof typeof severities) : event;
  // The server pauses after failures, so the next completed run ends both states.
  const name = state === 'paused_automatically' ? 'failing' : state;
  const incident = {
    key: `sluice/${subjectOf(notice).id}/${name}`,
    severity: severities[state],
    is_over: event === 'recovered',
    at: notice.timestamp,
  };
  return JSON.stringify(
    forms[service]({ ...noticeText(public_url, notice), incident }, public_url, key),
  );
}

/**
 * Returns the messages of a test in their order. For PagerDuty they open and resolve an incident.
 */
export function trialBodies(
  service: NoticeService,
  public_url: string,
  trial: { id: string; detail: string; at: string },
  key: string | undefined,
): string[] {
  const text = {
    heading: 'A notice to try this target out',
    sentence: trial.detail,
    facts: [],
    kind: 'export' as const,
    url: undefined,
    run_url: undefined,
  };
  const endings = service === 'pagerduty' ? [false, true] : [false];
  return endings.map((is_over) => {
    const incident = {
      key: `sluice/test/${trial.id}`,
      severity: 'info',
      is_over,
      at: trial.at,
    } as const;
    return JSON.stringify(forms[service]({ ...text, incident }, public_url, key));
  });
}

const forms = { slack: slackForm, microsoft_teams: teamsForm, pagerduty: pagerdutyForm };

/** A message of Slack's incoming webhooks. */
function slackForm(message: Message) {
  const { heading, sentence } = message;
  const plain = (text: string) => ({ type: 'plain_text', text, emoji: false });
  const facts = message.facts.map(({ label, value }) => plain(`${label}: ${value}`));
  const links = linksOf(message).map(({ title, url }) => `<${inSlack(url)}|${title}>`);
  return {
    text: inSlack(`${heading}: ${short(sentence, sentence_length_max)}`),
    blocks: [
      { type: 'header', text: plain(short(heading, heading_length_max)) },
      { type: 'section', text: plain(short(sentence, sentence_length_max)) },
      ...(facts.length === 0 ? [] : [{ type: 'section', fields: facts }]),
      ...(links.length === 0
        ? []
        : [{ type: 'section', text: { type: 'mrkdwn', text: links.join('   ') } }]),
    ],
  };
}

/** Escapes the three characters that Slack reads as markup. */
function inSlack(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/**
 * A message with an adaptive card for workflows of Microsoft Teams. Its texts are runs, because
 * Teams parses Markdown everywhere else.
 */
function teamsForm(message: Message) {
  const { heading, sentence, facts } = message;
  const line = (text: string, style: Record<string, unknown> = {}) => ({
    type: 'RichTextBlock',
    inlines: [{ type: 'TextRun', text, ...style }],
  });
  return {
    type: 'message',
    attachments: [
      {
        contentType: 'application/vnd.microsoft.card.adaptive',
        contentUrl: null,
        content: {
          $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
          type: 'AdaptiveCard',
          version: '1.4',
          body: [
            line(short(heading, heading_length_max), { weight: 'Bolder', size: 'Medium' }),
            line(short(sentence, sentence_length_max)),
            ...facts.map(({ label, value }) => line(`${label}: ${value}`, { isSubtle: true })),
          ],
          actions: linksOf(message).map((link) => ({ type: 'Action.OpenUrl', ...link })),
        },
      },
    ],
  };
}

/** An event of PagerDuty's Events API, version 2. */
function pagerdutyForm(message: Message, public_url: string, key: string | undefined) {
  const { heading, sentence, facts, incident } = message;
  const head = { routing_key: key, dedup_key: incident.key };
  if (incident.is_over) return { ...head, event_action: 'resolve' };
  return {
    ...head,
    event_action: 'trigger',
    client: 'Sluice',
    client_url: message.url ?? public_url,
    payload: {
      summary: `${short(heading, heading_length_max)}: ${short(sentence, sentence_length_max)}`,
      source: new URL(public_url).host,
      severity: incident.severity,
      timestamp: incident.at,
      custom_details: Object.fromEntries(facts.map(({ label, value }) => [label, value])),
    },
    links: linksOf(message).map(({ title, url }) => ({ href: url, text: title })),
  };
}

function linksOf({ kind, url, run_url }: Message): { title: string; url: string }[] {
  return [
    ...(url === undefined ? [] : [{ title: `See the ${kind}`, url }]),
    ...(run_url === undefined ? [] : [{ title: 'See the run', url: run_url }]),
  ];
}

/** Cuts a text to this many characters without splitting one. */
function short(text: string, length_max: number): string {
  const clean = cleanText(text);
  return clean.length <= length_max ? clean : `${clean.slice(0, length_max - 1).toWellFormed()}…`;
}
