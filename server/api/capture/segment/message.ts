import { isJsonObject } from '../../../engine/ingest/parse/exact_json.ts';
import type { JsonObject } from '../../../engine/ingest/parse/exact_json.ts';
import type { Draft } from '../protocol.ts';

/**
 * Fields of a call that become properties of its event, under the same names. They replace
 * properties with the same names, which are reserved; Segment's warehouses do the same.
 */
const kept = ['context', 'category', 'groupId', 'userId', 'anonymousId'] as const;

/**
 * Returns the event of one call; `type` comes from the path, if the path has it. The reference is
 * the table in docs/sdk_reference.md.
 */
export function messageDraft(value: unknown, path_type: string | undefined): Draft {
  const message: JsonObject = isJsonObject(value) ? value : {};
  const type = path_type ?? message['type'];
  const who = namedOf(message['userId']);
  const anonymousId = namedOf(message['anonymousId']);
  const previousId = namedOf(message['previousId']);
  const about = {
    distinct_id: who ?? anonymousId ?? (type === 'alias' ? previousId : undefined),
    message_id: message['messageId'],
    at: message['timestamp'] ?? message['originalTimestamp'],
  };
  const given = message['properties'] ?? {};
  const properties = isJsonObject(given) ? { ...given, ...keptOf(message) } : given;
  switch (type) {
    case 'identify':
      return {
        ...about,
        name: '$identify',
        properties: { ...keptOf(message), ...anonymous(who, anonymousId) },
        set: message['traits'] ?? traitsOf(message),
      };
    case 'alias':
      return {
        ...about,
        name: '$create_alias',
        properties: { ...keptOf(message), alias: previousId ?? anonymousId },
      };
    case 'group':
      return {
        ...about,
        name: '$groupidentify',
        properties: {
          ...keptOf(message),
          $group_type: 'group',
          $group_key: message['groupId'],
          $group_set: message['traits'] ?? {},
        },
      };
    case 'page':
    case 'screen':
      return { ...about, ...viewOf(type, message, properties) };
    default:
      return { ...about, name: message['event'], properties };
  }
}

/** Some libraries send null or an empty text for unknown values. */
function namedOf(value: unknown): unknown {
  return value === null || value === '' ? undefined : value;
}

/** Returns the anonymous id of a person who identifies now. */
function anonymous(user: unknown, anonymousId: unknown): JsonObject {
  return user === undefined || anonymousId === undefined ? {} : { $anon_distinct_id: anonymousId };
}

/** RudderStack has the traits in the context. */
function traitsOf({ context }: JsonObject): unknown {
  return isJsonObject(context) ? context['traits'] : undefined;
}

function viewOf(type: 'page' | 'screen', message: JsonObject, properties: unknown) {
  const name = type === 'page' ? '$pageview' : '$screen';
  if (!isJsonObject(properties)) return { name, properties };
  const url = properties['url'] ?? pageUrlOf(message);
  const named = namedOf(message['name']);
  return {
    name,
    properties: {
      ...(type === 'page' && url !== undefined ? { $current_url: url } : {}),
      ...(type === 'screen' && named !== undefined ? { $screen_name: named } : {}),
      ...properties,
      ...(named === undefined ? {} : { name: named }),
    },
  };
}

function pageUrlOf({ context }: JsonObject): unknown {
  const page = isJsonObject(context) ? context['page'] : undefined;
  return isJsonObject(page) ? page['url'] : undefined;
}

function keptOf(message: JsonObject): JsonObject {
  return Object.fromEntries(
    kept.flatMap((name) => {
      const value = namedOf(message[name]);
      return value === undefined ? [] : [[name, value]];
    }),
  );
}
