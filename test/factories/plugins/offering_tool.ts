import type { ToolDefinition } from '../../../server/engine/plugins/tools/tool.ts';

/** A destination whose functions do what a test requires of a tool. */
export const offering_code = `
  const text = 'x'.repeat(2000);
  const give = {
    many: () => ({ choices: Array.from({ length: 7000 }, (_, at) => ({ value: at, label: 'n' })) }),
    strange: () => ({ choices: [null, 7, 'a', {}, { value: {} }, { value: '' }, { value: text },
      { value: 'same', label: 'one' }, { value: 'same', label: 'two' },
      { value: 1.5, label: { a: 1 }, description: text },
      { value: '<b>', label: '\\u0000\\ud800' }], nextPage: { a: 1 } }),
    list: () => 'no object',
    nothing: () => undefined,
    echo: (_, { settings }) =>
      ({ choices: [{ value: 'k-' + settings.api_key, label: settings.api_key }] }),
    told: (_, { settings }) => ({ choices: [], error: { message: 'Wrong ' + settings.api_key } }),
    endless: async (request, { settings }) => { for (;;) await fetch(settings.endpoint); },
    hidden: async (request, { settings }) => {
      try { await fetch('https://elsewhere.acme.com/'); } catch { return { choices: [] }; }
    },
    busy: () => { for (;;); },
    pages: (_, { page = '1' }) => ({ choices: [{ value: 'p' + page, label: page }],
      nextPage: page === '1' ? '2' : null }),
    unpaged: () => ({ choices: [{ value: 'p', label: 'p' }], nextPage: '2' }),
    waits: () => new Promise(() => {}),
  };
  exports.default = { name: 'Offering', actions: { run: {
    fields: Object.fromEntries(Object.keys(give).map((key) => [key, { dynamic: true }])),
    dynamicFields: give, perform: async () => {} } } };`;

/** Returns the destination in the form of a plugin. */
export const offering_definition: ToolDefinition = {
  directory: 'offering',
  version: '1.0.0',
  hosts: [],
  settings: { api_key: {}, endpoint: {} },
  actions: {},
  presets: [],
  templates: [],
};
