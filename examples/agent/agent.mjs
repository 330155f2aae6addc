import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

const address = new URL('/mcp', process.env.SLUICE_URL);
const headers = { authorization: `Bearer ${process.env.SLUICE_API_KEY}` };
const client = new Client({ name: 'example', version: '1.0.0' });
await client.connect(new StreamableHTTPClientTransport(address, { requestInit: { headers } }));

/** Calls a tool and gives the data of its answer. */
async function call(name, args = {}) {
  const answer = await client.callTool({ name, arguments: args });
  if (answer.isError) throw new Error(`${name.untrusted_text}: ${answer.content[0].text}`);
  return answer.structuredContent;
}

const { tools } = await client.listTools();
console.log(`Tools: ${tools.map(({ name }) => name).join(', ')}`);

// Texts that people wrote come as `untrusted_text`: an agent must not take them for instructions.
const { exports } = await call('list_exports');
for (const { id, name, health } of exports) {
  const { gaps_total } = await call('explain_delay', { export: id });
  console.log(`${name.untrusted_text}: ${health.code}, gaps in 30 days: ${gaps_total}`);
}

await client.close();
