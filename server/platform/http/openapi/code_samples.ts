import type { JsonObject } from './json.ts';
import type { Example } from './reference.ts';

/** A request of the document with the values of its example. */
export type SampledRequest = {
  method: string;
  path: string;
  example: Example;
  shows: 'key' | 'session' | 'nothing';
};

/** The authentication header, for each language. */
const credentials = {
  key: {
    curl: ['-H "Authorization: Bearer $KEY"'],
    javascript: ['Authorization: `Bearer ${process.env.KEY}`'],
    python: ['headers={"Authorization": f"Bearer {os.environ[\'KEY\']}"}'],
  },
  session: {
    curl: ['-H "Cookie: $COOKIE"'],
    javascript: ['Cookie: process.env.COOKIE'],
    python: ['headers={"Cookie": os.environ["COOKIE"]}'],
  },
  nothing: { curl: [], javascript: [], python: [] },
} as const;

/** Returns the request for copying: for a shell, for JavaScript, for Python. */
export function codeSamples(address: string, request: SampledRequest): JsonObject[] {
  const url = address + filledPath(request);
  return [
    { lang: 'Shell', label: 'curl', source: curl(url, request) },
    { lang: 'JavaScript', label: 'JavaScript', source: javascript(url, request) },
    { lang: 'Python', label: 'Python', source: python(url, request) },
  ];
}

function filledPath({ path, example }: SampledRequest): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (whole, name: string) =>
    encodeURIComponent(example.path?.[name] ?? whole).replace('%40', '@'),
  );
  const query = new URLSearchParams(example.query ?? {}).toString();
  return query === '' ? filled : `${filled}?${query}`;
}

function curl(url: string, { method, example, shows }: SampledRequest): string {
  const parts = [
    `curl ${method === 'GET' ? '' : `-X ${method} `}${quoted(url)}`,
    ...credentials[shows].curl,
    ...(example.body === undefined
      ? []
      : [
          "-H 'Content-Type: application/json'",
          `-d ${quoted(JSON.stringify(example.body, null, 2))}`,
        ]),
  ];
  return parts.join(' \\\n  ');
}

const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

function javascript(url: string, { method, example, shows }: SampledRequest): string {
  const headers = [
    ...credentials[shows].javascript,
    ...(example.body === undefined ? [] : ["'Content-Type': 'application/json'"]),
  ];
  const options = [
    ...(method === 'GET' ? [] : [`method: '${method}'`]),
    ...(headers.length === 0 ? [] : [`headers: { ${headers.join(', ')} }`]),
    ...(example.body === undefined
      ? []
      : [`body: JSON.stringify(${indented(JSON.stringify(example.body, null, 2))})`]),
  ];
  const given = options.length === 0 ? '' : `, {\n${options.map((one) => `  ${one},\n`).join('')}}`;
  const call = `const response = await fetch(${JSON.stringify(url)}${given});\n`;
  return example.answer === undefined
    ? `${call}console.log(response.status);`
    : `${call}console.log(await response.json());`;
}

function python(url: string, { method, example, shows }: SampledRequest): string {
  const given = [
    JSON.stringify(url),
    ...credentials[shows].python,
    ...(example.body === undefined ? [] : [`json=${indented(pythonText(example.body))}`]),
  ];
  return [
    ...(shows === 'nothing' ? [] : ['import os']),
    'import requests\n',
    `response = requests.${method.toLowerCase()}(`,
    ...given.map((one) => `    ${one},`),
    ')',
    example.answer === undefined ? 'print(response.status_code)' : 'print(response.json())',
  ].join('\n');
}

/** Returns the value in Python's notation; texts stay unchanged. */
function pythonText(value: Example['body']): string {
  const words: Record<string, string> = { true: 'True', false: 'False', null: 'None' };
  return JSON.stringify(value, null, 4).replaceAll(
    /"(?:[^"\\]|\\.)*"|\b(?:true|false|null)\b/g,
    (part) => words[part] ?? part,
  );
}

const indented = (text: string) => text.replaceAll('\n', '\n  ');
