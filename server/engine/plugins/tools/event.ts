import { isFields } from '../../../platform/fields.ts';
import type { PluginEvent } from '../running/read_events.ts';

type Fields = Record<string, unknown>;

/** An event in the form of the library. */
export type ToolEvent = Fields & { type: string; messageId: string };

/** Fields of an SDK call outside its properties, which are stored among them. */
const beside = ['context', 'userId', 'anonymousId', 'groupId'];
/** Properties that only describe the call. */
const spoken = [
  '$set',
  '$set_once',
  '$anon_distinct_id',
  '$group_type',
  '$group_key',
  '$group_set',
];

/**
 * Returns the event in the form of the library's destinations. `userId` is only set for identified
 * people: tools bill and merge by it. Every event has the person's traits at its time. Names with
 * `$` are removed from properties and traits, except with `sends_dollar`.
 */
export function toolEvent(event: PluginEvent, sends_dollar: boolean): ToolEvent {
  const { properties } = event;
  const kept = (fields: Fields) =>
    Object.fromEntries(
      Object.entries(fields).filter(([name]) => sends_dollar || !name.startsWith('$')),
    );
  const person = isFields(event.person.properties) ? event.person.properties : {};
  const context = contextOf(event, kept(person));
  const own = Object.fromEntries(
    Object.entries(properties).filter(
      ([name]) => !spoken.includes(name) && !(beside.includes(name) && isBeside(name, properties)),
    ),
  );
  const timestamp = new Date(event.timestamp).toISOString();
  return {
    ...callOf(event, kept(own), kept),
    ...idsOf(event),
    messageId: event.uuid,
    timestamp,
    originalTimestamp: timestamp,
    receivedAt: new Date(event.inserted_at).toISOString(),
    context,
  };
}

function isBeside(name: string, properties: Fields): boolean {
  return name === 'context' ? isFields(properties[name]) : typeof properties[name] === 'string';
}

/** Returns the kind of the call, and the fields that only this kind has. */
function callOf(
  { event, properties }: PluginEvent,
  own: Fields,
  kept: (fields: Fields) => Fields,
): { type: string } & Fields {
  const fieldsAt = (name: string) => (isFields(properties[name]) ? kept(properties[name]) : {});
  const groupId = textAt(properties, '$group_key') ?? textAt(properties, 'groupId');
  const group = groupId === undefined ? {} : { groupId };
  if (event === '$identify' || event === '$set')
    return {
      type: 'identify',
      traits: { ...fieldsAt('$set_once'), ...fieldsAt('$set') },
      ...group,
    };
  if (event === '$groupidentify') return { type: 'group', groupId, traits: fieldsAt('$group_set') };
  if (event === '$create_alias') return { type: 'alias', previousId: textAt(properties, 'alias') };
  if (event === '$pageview') {
    const page = pageOf(properties);
    return { type: 'page', ...namedOf(properties), properties: { ...page, ...own }, ...group };
  }
  if (event === '$screen')
    return { type: 'screen', ...namedOf(properties), properties: own, ...group };
  return { type: 'track', event, properties: own, ...group };
}

function namedOf(properties: Fields): Fields {
  return defined({
    name: textAt(properties, 'name') ?? textAt(properties, '$screen_name'),
    category: textAt(properties, 'category'),
  });
}

/**
 * A distinct id belongs to a user if the SDK said so; otherwise its form decides: SDKs invent ids
 * as UUIDs.
 */
function idsOf({ event, distinct_id, properties }: PluginEvent): Fields {
  const userId = textAt(properties, 'userId');
  const anonymousId = textAt(properties, 'anonymousId') ?? textAt(properties, '$anon_distinct_id');
  if (userId !== undefined) return defined({ userId, anonymousId });
  const isAnonymous =
    anonymousId === distinct_id ||
    properties['$is_identified'] === false ||
    properties['$device_id'] === distinct_id ||
    (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(distinct_id) &&
      properties['$is_identified'] !== true &&
      event !== '$identify');
  return isAnonymous ? { anonymousId: distinct_id } : defined({ userId: distinct_id, anonymousId });
}

function pageOf(properties: Fields): Fields {
  const url = textAt(properties, '$current_url');
  const address = url === undefined ? null : URL.parse(url);
  return defined({
    url,
    path: textAt(properties, '$pathname') ?? address?.pathname,
    search: address?.search === '' ? undefined : address?.search,
    title: textAt(properties, '$title') ?? textAt(properties, 'title'),
    referrer: textAt(properties, '$referrer'),
  });
}

/** Returns the SDK's context under the names of the library; the SDK's own context stays. */
function contextOf({ properties, ip }: PluginEvent, person: Fields): Fields {
  const at = (name: string) => properties[name];
  const own = isFields(properties['context']) ? properties['context'] : {};
  const derived: Fields = {
    ip: ip ?? undefined,
    userAgent: at('$raw_user_agent') ?? at('$user_agent'),
    locale: at('$browser_language') ?? at('$locale'),
    timezone: at('$timezone'),
    groupId: at('groupId'),
    library: { name: at('$lib'), version: at('$lib_version') },
    page: pageOf(properties),
    os: { name: at('$os'), version: at('$os_version') },
    device: {
      id: at('$device_id'),
      type: at('$device_type'),
      manufacturer: at('$device_manufacturer'),
      model: at('$device_model'),
    },
    app: {
      name: at('$app_name'),
      version: at('$app_version'),
      build: at('$app_build'),
      namespace: at('$app_namespace'),
    },
    screen: { width: at('$screen_width'), height: at('$screen_height') },
    campaign: {
      name: at('utm_campaign'),
      source: at('utm_source'),
      medium: at('utm_medium'),
      term: at('utm_term'),
      content: at('utm_content'),
    },
    location: {
      city: at('$geoip_city_name'),
      country: at('$geoip_country_name'),
      region: at('$geoip_subdivision_1_name'),
      latitude: at('$geoip_latitude'),
      longitude: at('$geoip_longitude'),
    },
  };
  const traits = isFields(own['traits']) ? { ...person, ...own['traits'] } : person;
  return { ...known(derived), ...own, traits };
}

/** Removes fields without a value. */
function known(fields: Fields): Fields {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]): [string, unknown][] => {
      const part = isFields(value) ? defined(value) : value;
      const isEmpty = isFields(part) && Object.keys(part).length === 0;
      return part === undefined || isEmpty ? [] : [[name, part]];
    }),
  );
}

function defined(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

function textAt(properties: Fields, name: string): string | undefined {
  const value = properties[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}
