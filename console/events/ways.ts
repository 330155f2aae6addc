import { server_address } from '../http/address.ts';

/** A way to get events in: what it is called, when it is right, and what to run. */
export type Way = {
  title: string;
  hint: string;
  command: (project_id: string, key: string) => string;
};

/** The ways to get events into a project, one entry each. */
export const ways: Way[] = [
  {
    title: 'One event, by curl',
    hint: 'In a terminal. The answer says what was stored; 200 means that it is.',
    command: (project_id, key) => `curl '${server_address}/api/projects/${project_id}/events/' \\
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
    command: (project_id, key) => `npm run sluice -- import events.ndjson.gz \\
  --project ${project_id} --key "${key}" \\
  --url '${server_address}'`,
  },
];
