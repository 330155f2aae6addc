import { isJsonObject } from '../../../engine/ingest/parse/exact_json.ts';
import type { JsonObject } from '../../../engine/ingest/parse/exact_json.ts';
import type { Intake } from '../../../engine/ingest/rules/intake.ts';
import { openRanges } from '../../../platform/http/guards/ip_ranges.ts';
import type { EventFate, ProjectTraffic } from '../../projects/schema.ts';
import type { Visit } from './visitors.ts';

/**
 * A project's settings about robots and its own people, and the sender of the request. Plain data.
 */
export type Traffic = ProjectTraffic & Visit & { intake: Intake | undefined };

/** The reason and effect for an event that the traffic settings drop or mark. */
export type Judged = {
  kind: 'robot' | 'internal';
  by: string;
  fate: Exclude<EventFate, 'keep'>;
};

/** Judges the events of a request by their properties; undefined if the event is kept unchanged. */
export type TrafficJudge = (properties: unknown) => Judged | undefined;

/** Names of crawlers, monitors, previews and automated browsers. */
const robots = new RegExp(
  [
    // Cubot is a brand of phones.
    String.raw`(?<!cu)bot(\b|_)|crawl|spider|slurp|scrap(er|y)\b|archiver|headless|phantomjs`,
    'lighthouse|pagespeed|gtmetrix|pingdom|uptime|statuscake|site24x7|newrelicpinger|datadog',
    'facebookexternalhit|meta-external|facebookcatalog|whatsapp|embedly|skypeuripreview|vkshare',
    'google-(inspectiontool|read-aloud|safety|extended)|googleother|mediapartners|feedfetcher',
    'apis-google|bingpreview|yandex(images|metrika|direct)|baiduspider|duckduckgo-favicons',
    'chatgpt-user|gptbot|oai-searchbot|claude-(web|user)|anthropic-ai|perplexity',
    'cohere-ai|bytespider',
    'ia_archiver|heritrix|nutch|semrush|screaming frog|sitebulb|dataforseo|prerender|cypress/',
    'playwright|puppeteer|selenium|webdriver|vercel-screenshot|w3c_validator|nagios|zgrab|masscan',
  ].join('|'),
  'i',
);

/**
 * Returns true if the text of `User-Agent` belongs to a known robot. A server library is no robot.
 */
export function isRobot(user_agent: string): boolean {
  return robots.test(user_agent);
}

/** Properties in which SDKs put the browser and the address of an event's person. */
const agent_names = ['$raw_user_agent', '$user_agent', 'user_agent.original', 'ua'];
const address_names = ['$ip', 'client.address', 'ip'];

/**
 * Opens the judge of a request. The event's own browser and address come first. The request's
 * address counts only if a browser sent it, because a server's address says nothing about the
 * persons of its events. Undefined if every event is kept.
 */
export function openTraffic(traffic: Traffic | undefined): TrafficJudge | undefined {
  if (traffic === undefined) return undefined;
  const { robot_events, internal_events, internal_addresses, user_agent, address } = traffic;
  if (robot_events === 'keep' && internal_events === 'keep') return undefined;
  const isInternal = openRanges(internal_addresses);
  const sender = isBrowser(user_agent) ? address : undefined;
  return (given) => {
    const properties = isJsonObject(given) ? given : {};
    const context = contextOf(properties);
    if (robot_events !== 'keep') {
      const agent = ownAgentOf(properties) ?? user_agent;
      if (agent !== undefined && isRobot(agent))
        return { kind: 'robot', by: agent, fate: robot_events };
    }
    if (internal_events === 'keep') return undefined;
    const from = textOf(properties, address_names) ?? textOf(context, ['ip']) ?? sender;
    if (from === undefined || !isInternal(from)) return undefined;
    return { kind: 'internal', by: from, fate: internal_events };
  };
}

/** Server programs have other names. */
function isBrowser(user_agent: string | undefined): user_agent is string {
  return user_agent?.startsWith('Mozilla/') === true;
}

/**
 * Returns the user agent of an event's person: the event's own, or the request's if a browser sent
 * it.
 */
export function personAgentOf(
  properties: JsonObject,
  user_agent: string | undefined,
): string | undefined {
  const { $lib = 'web' } = properties;
  const of_request = $lib === 'web' && isBrowser(user_agent) ? user_agent : undefined;
  return ownAgentOf(properties) ?? of_request;
}

function ownAgentOf(properties: JsonObject): string | undefined {
  return textOf(properties, agent_names) ?? textOf(contextOf(properties), ['userAgent']);
}

function contextOf({ context }: JsonObject): JsonObject {
  return isJsonObject(context) ? context : {};
}

function textOf(values: JsonObject, names: readonly string[]): string | undefined {
  for (const name of names) {
    const value = Object.hasOwn(values, name) ? values[name] : undefined;
    if (typeof value === 'string' && value !== '') return value;
  }
  return undefined;
}
