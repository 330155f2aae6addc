import type { ToolAttempt } from './tool_attempts.ts';

/** Attempts at objects that all code of a process shares, which tools of other projects use too. */
export const sharing_attempts: ToolAttempt[] = [
  [
    'the prototype of objects',
    `'use strict'; Object.prototype.polluted = 1; return 'reached';`,
    /^failed/,
  ],
  [
    'the prototype by a name',
    `const one = JSON.parse('{"__proto__": {"polluted": 1}}'); const merge = (to, from) => {
        for (const key in from) typeof from[key] === 'object' ? merge(to[key] ??= {},
        from[key]) : (to[key] = from[key]); }; merge({}, one); return String({}.polluted);`,
    /^gave undefined$/,
  ],
  [
    'the prototype by the constructor',
    `try { Object.assign({}.constructor.prototype, { polluted: 1 });
        } catch {} return String({}.polluted);`,
    /^gave undefined$/,
  ],
  [
    'lists',
    `'use strict'; Array.prototype.map = () => []; return 'reached';`,
    /^failed|^gave reached$/,
  ],
  ['promises', `'use strict'; Promise.prototype.then = () => {}; return 'reached';`, /^failed/],
];

/** Addresses that only look like an allowed host, `good.example` or a name below `wide.example`. */
export const lookalike_hosts = [
  'good.example.',
  'evil-good.example',
  'good.example.evil.test',
  'xwide.example',
  'wide.example',
  '127.0.0.1#good.example',
  '127.0.0.1?good.example',
  '127.0.0.1/good.example',
  'good.example@127.0.0.1',
  'good.example:80@127.0.0.1',
  'user:secret@good.example',
  '127.0.0.1\\@good.example',
  'good.example%00.evil.test',
  'gооd.example',
  '[::ffff:127.0.0.2]',
  '127.0.0.2',
  '2130706434',
];

const frame = `const frame = (text) => { const head = Buffer.alloc(4);
        head.writeUInt32BE(Buffer.byteLength(text)); return Buffer.concat([head,
        Buffer.from(text)]); };
  const say = (bytes) => { for (let at = 0; at < bytes.length;) {
    try { at += require('fs').writeSync(3, bytes, at); }
    catch (error) { if (error.code !== 'EAGAIN') throw error; } } };`;
const spoken = (message: string) => `${frame} say(frame(${JSON.stringify(message)}));`;
const with_prototype =
  '{"type":"log","instance":1,"level":"info","text":"","__proto__":{"polluted":1}}';
const of_prototype =
  '{"type":"request","instance":1,"request":9000001,"name":"__proto__","text":"[]"}';
const ended = /^ended: (The sandbox process ended|The call took longer|The plugin was)/;

/** Attempts at the server itself, over the pipe, and at the machine's time and memory. */
export const exhausting_attempts: ToolAttempt[] = [
  [
    'a frame without end',
    `${frame} say(Buffer.from([0x7f, 255, 255, 255])); await new Promise(() => {});`,
    ended,
  ],
  ['a frame that is no JSON', `${frame} say(frame('{')); await new Promise(() => {});`, ended],
  ['a report of its own kind', `${spoken('{"type":"own"}')} await new Promise(() => {});`, ended],
  ['a report with a prototype', `${spoken(with_prototype)} await new Promise(() => {});`, ended],
  ['the service of a prototype', `${spoken(of_prototype)} return 'went on';`, /^gave went on$/],
  [
    'a result of nobody',
    `${spoken('{"type":"returned","instance":99,"call":99,"text":"{}"}')} return 'went on';`,
    /^gave went on$/,
  ],
  [
    'a flood of lines',
    `${frame} const line = frame('{"type":"log","instance":1,"level":"info","text":"x"}');
        const lines = Buffer.concat(Array(500).fill(line)); for (let n = 0; n < 100;
        n += 1) say(lines); return 'went on';`,
    /^gave went on$|^ended/,
  ],
  [
    'a flood of requests',
    `${frame} 
        const line =
          frame('{"type":"request","instance":1,"request":9000002,"name":"own","text":"[]"}');
        const lines = Buffer.concat(Array(500).fill(line));
        for (let n = 0; n < 40; n += 1) say(lines); return 'went on';`,
    /^gave went on$|^ended/,
  ],
  [
    'a flood of words',
    `for (let n = 0; n < 20000; n += 1) { console.log('x'.repeat(1000));
        process.stdout.write('x'); } return 'went on';`,
    /^gave went on$/,
  ],
  [
    'more connections than allowed',
    `const net = require('net'); return await new Promise((resolve, reject) => { for (let n = 0;
        n < 40; n += 1) net.connect(9, 'good.example').on('error', (error) =>
        /16 connections/.test(error.message) && reject(error)); });`,
    /ECONNREFUSED|16 connections|^ended/,
  ],
  ['a long answer', `return 'x'.repeat(20_000_000);`, /^x|^gave x/],
  ['a loop without end', `for (;;);`, ended],
  [
    'a loop after its end',
    `setTimeout(() => { for (;;); }, 1); return 'went on';`,
    /^gave went on$|^ended/,
  ],
  ['a wait without end', `await new Promise(() => {});`, ended],
  ['memory of the engine', `const kept = []; for (;;) kept.push(Array(1000).fill({}));`, ended],
  [
    'memory outside of it',
    `const kept = []; for (;;) { kept.push(Buffer.alloc(20_000_000, 1));
        await new Promise((resolve) => setTimeout(resolve, 20)); }`,
    ended,
  ],
  ['its own end', `process.exit(0);`, ended],
  ['its own crash', `process.abort();`, ended],
];
