import { server_address } from '../http/address.ts';
import { pathTo } from '../http/path.ts';

/** A way to send events: its name, when to use it, and its command. */
export type Way = {
  title: string;
  hint: string;
  /** The page of the docs with details. */
  docs?: { path: string; text: string };
  command: (keys: Keys) => string;
};

/** A key that sends events, the project's public write key, and the form of commands. */
type Keys = {
  project_id: string;
  key: string;
  write_key: string;
  commandLine: (words: string) => string;
};

/** The ways to send events to a project, one entry each. */
export const ways: Way[] = [
  {
    title: 'An SDK',
    hint:
      'Clients of PostHog, Segment, RudderStack, Jitsu, Snowplow and OpenTelemetry send here ' +
      'if you change their host and their key. This line is for posthog-js. The ' +
      'key is public: it only sends events.',
    docs: { path: '/docs/sdks', text: 'Other SDKs' },
    command: ({ write_key }) => `posthog.init('${write_key}', { api_host: '${server_address}' });`,
  },
  {
    title: 'One event with curl',
    hint: 'Run it in a terminal. The answer has "taken":1 when the event is stored.',
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
      'JSON lines, plain or gzip. Run it in the folder of the server. You can choose the ' +
      'fields for event, person and time. The import names bad lines, and continues where it ' +
      'stopped.',
    command: ({ project_id, key, commandLine }) => `${commandLine('import events.ndjson.gz')} \\
  --project ${project_id} --key "${key}" \\
  --url '${server_address}'`,
  },
];
