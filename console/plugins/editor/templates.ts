import type { Collection } from '../plugins.ts';

const destination = `// Sluice calls this function with each new event of the project.
export async function onEvent(event, { config }) {
  const response = await fetch(config.address, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(config.token && { authorization: \`Bearer \${config.token}\` }),
    },
    body: JSON.stringify({
      id: event.uuid,
      name: event.event,
      user: event.distinct_id,
      time: event.timestamp,
      properties: event.properties,
    }),
  });
  console.log(\`\${event.event}: answered with \${response.status}\`);
  // Sluice repeats the call later.
  if (response.status === 429 || response.status >= 500)
    throw new RetryError(\`The address answered with \${response.status}.\`);
  // Sluice skips the event, and the log says why.
  if (!response.ok) throw new Error(\`The address refused the event: \${response.status}.\`);
}
`;

const import_app = `// Sluice calls this function once in each hour.
export async function runEveryHour({ config, storage }) {
  const since = await storage.get('since', '2026-01-01T00:00:00Z');
  const response = await fetch(\`\${config.address}?since=\${encodeURIComponent(since)}\`);
  if (!response.ok) throw new RetryError(\`The address answered with \${response.status}.\`);
  const { rows = [], next = since } = await response.json();
  // All at once, so that Sluice stores them together. A repeated row is stored once.
  await Promise.all(
    rows.map((row) =>
      sluice.capture('imported', { distinct_id: row.user, timestamp: row.time, ...row }),
    ),
  );
  await storage.set('since', next);
  console.log(\`Rows since \${since}\`);
}
`;

const frontend_app = `// Runs on each web page that loads the script of the project.
export function inject({ config }: { config: { text: string } }) {
  const bar = document.createElement('div');
  bar.textContent = config.text;
  document.body.append(bar);
}
`;

const address = {
  key: 'address',
  name: 'Address',
  type: 'string',
  default: 'https://api.example.com/events',
  required: true,
};

const kinds: Record<Collection, { file: string; code: string; config: object[] }> = {
  pipeline_destinations: {
    file: 'index.ts',
    code: destination,
    config: [address, { key: 'token', name: 'Token', type: 'string', secret: true }],
  },
  pipeline_import_apps: { file: 'index.ts', code: import_app, config: [address] },
  pipeline_frontend_apps: {
    file: 'site.ts',
    code: frontend_app,
    config: [{ key: 'text', name: 'Text', type: 'string', default: 'Hello', site: true }],
  },
};

/** Returns the files of a working plugin, for a person to change. */
export function templateOf(collection: Collection, name: string): Record<string, string> {
  const { file, code, config } = kinds[collection];
  return {
    [file]: code,
    'plugin.json': `${JSON.stringify({ name, version: '1.0.0', config }, undefined, 2)}\n`,
  };
}

/** An event for trials in a project without events. */
export const sample_event = {
  event: 'signed up',
  distinct_id: 'ada',
  properties: { plan: 'pro', $set: { email: 'ada@example.com' } },
};
