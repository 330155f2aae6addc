import { server_address } from '../http/address.ts';
import { pathTo } from '../http/path.ts';

/** A way to get events in: what it is called, when it is right, and what to run. */
export type Way = {
  title: string;
  hint: string;
  command: (keys: Keys) => string;
};

/** The keys in a command: a key that sends events, and the project's public write key. */
type Keys = { project_id: string; key: string; write_key: string };

/** The ways to get events into a project, one entry each. */
export const ways: Way[] = [
  {
    title: 'An SDK that you have',
    hint:
      'Clients of PostHog, Segment, RudderStack, Jitsu, Snowplow and OpenTelemetry send here ' +
      'when their host and their key are changed; this is posthog-js, docs/sdks.md has the line ' +
      'of each. The key is public: it only sends events.',
    command: ({ write_key }) => `posthog.init('${write_key}', { api_host: '${server_address}' });`,
  },
  {
    title: 'One event, by curl',
    hint: 'In a terminal. The answer says what was stored; 200 means that it is.',
    command: ({
      project_id,
      key,
    }) => `curl '${server_address}${pathTo('/api/projects/:project_id/events/', { project_id })}' \\
  -H "Authorization: Bearer ${key}" \\
  -H 'Content-Type: application/json' \\
  -d '{"events": [{
    "event": "signed up",
    "distinct_id": "ada",
    "properties": {"$set": {"plan": "pro"}}
  }]}'`,
  },
  {
    title: 'A file of events',
    hint:
      'JSON lines, plain or gzip, in the folder of the server. The fields that name event, ' +
      'person and time can be chosen; bad lines are named, and a broken import goes on where ' +
      'it stopped.',
    command: ({ project_id, key }) => `npm run sluice -- import events.ndjson.gz \\
  --project ${project_id} --key "${key}" \\
  --url '${server_address}'`,
  },
];
