import { fails, gives } from './reaching_attempts.ts';
import type { Attempt } from './reaching_attempts.ts';

/**
 * Attempts to stay, or to use up all resources: a name, the body of an `onEvent(event, meta)`, and
 * the required outcome. A body that begins with // is put at the top of the module instead.
 */
export const staying_attempts: Attempt[] = [
  ['a loop', 'for (;;);', fails('timeout')],
  ['a loop at load', '// for (;;);', fails('timeout')],
  ['a loop in setupPlugin', '// exports.setupPlugin = () => { for (;;); };', fails('timeout')],
  [
    'a loop in a catch',
    'for (;;) try { for (;;); } catch {} finally { for (;;); }',
    fails('timeout'),
  ],
  [
    'a loop of microtasks',
    'const again = () => Promise.resolve().then(again); return again();',
    fails('timeout', 'memory'),
  ],
  ['a loop of awaits', 'for (;;) await null;', fails('timeout')],
  [
    'a loop that is left behind',
    'Promise.resolve().then(() => Promise.resolve()).then(() => { for (;;); }); await new ' +
      'Promise((resolve) => setTimeout(resolve, 50));',
    fails('timeout'),
  ],
  ['a loop in toJSON', 'return { toJSON() { for (;;); } };', fails('timeout')],
  [
    'a loop in a getter of an error',
    'throw Object.defineProperty(new Error(), "message", { get() { for (;;); } });',
    fails('timeout'),
  ],
  [
    'a loop in a Proxy',
    'return { ...new Proxy({}, { ownKeys() { for (;;); } }) };',
    fails('timeout'),
  ],
  [
    'a loop in a generator',
    'return [...(function* () { for (;;) yield* []; })()];',
    fails('timeout'),
  ],
  ['a loop in a sort', '[2, 1].sort(() => { for (;;); });', fails('timeout')],
  [
    'timers without end',
    'await new Promise(() => { const again = () => setTimeout(again); again(); });',
    fails('timeout'),
  ],
  ['many timers', 'for (;;) setTimeout(() => {}, 1e9);', fails('runtime')],
  ['waiting without end', 'await new Promise(() => {});', fails('timeout')],
  [
    'work in small pieces',
    'for (;;) { const end = Date.now() + 100; while (Date.now() < end); await new ' +
      'Promise((resolve) => setTimeout(resolve, 1)); }',
    fails('timeout'),
  ],
  ['a slow regular expression', 'return /^(a+)+$/.test("a".repeat(40) + "b");', fails('timeout')],
  ['another slow regular expression', 'return /(x+x+)+y/.exec("x".repeat(40));', fails('timeout')],
  [
    'a long step of an array',
    'return Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1);',
    fails('timeout'),
  ],
  ['recursion', 'const f = () => f() + 1; return f();', fails('runtime')],
  [
    'recursion with a service at its end',
    'const f = () => { try { return f(); } catch { return console.log("deep"); } }; f(); ' +
      'return "back";',
    gives('back'),
  ],
  [
    'memory of objects',
    'const all = []; for (;;) all.push(new Array(1000).fill(Math.random()));',
    fails('memory', 'timeout'),
  ],
  [
    'memory of strings',
    'const all = []; for (;;) { const text = ("x" + all.length).repeat(1e6); ' +
      'text.charCodeAt(5); all.push(text); }',
    fails('memory', 'timeout', 'runtime'),
  ],
  [
    'memory of bytes',
    'const all = []; for (;;) all.push(new Uint8Array(1e6).fill(1));',
    fails('runtime', 'memory'),
  ],
  [
    'memory of an array',
    'return Array.from({ length: 2 ** 32 - 1 }).length;',
    fails('memory', 'timeout', 'runtime'),
  ],
  [
    'a map without end',
    'const map = new Map(); for (let n = 0; ; n += 1) map.set(n, {});',
    fails('memory', 'timeout', 'runtime', 'again'),
  ],
  [
    'a size that ends V8',
    'return "x".repeat(5e8).split("").length;',
    fails('memory', 'timeout', 'runtime', 'again'),
  ],
  ['a string without end', 'let text = "x"; for (;;) text += text;', fails('runtime')],
  [
    'JSON that is nested deeply',
    'let nested = []; for (let n = 0; n < 1e6; n += 1) nested = [nested]; return nested;',
    fails('runtime', 'timeout', 'memory'),
  ],
  [
    'a result that is too long',
    'return "x".repeat(11 * 1024 * 1024);',
    fails('runtime', 'timeout'),
  ],
  [
    'a request that is too long',
    'await meta.storage.set("a", "x".repeat(11 * 1024 * 1024));',
    fails('runtime', 'timeout'),
  ],
  [
    'a value that is too long to be stored',
    'await meta.storage.set("a", "x".repeat(1_100_000));',
    fails('runtime'),
  ],
  [
    'requests that are long together',
    'await Promise.all([1, 2, 3, 4].map((n) => meta.storage.set(String(n), "x".repeat(5e6))));',
    fails('runtime', 'timeout'),
  ],
  [
    'many requests at a time',
    'for (;;) meta.storage.set("a", 1).catch((error) => { throw error; }), await null;',
    fails('runtime', 'timeout'),
  ],
  [
    'many requests one after another',
    'for (;;) await meta.storage.get("a");',
    fails('runtime', 'timeout'),
  ],
  ['many events', 'for (;;) await sluice.capture("a");', fails('runtime', 'timeout')],
  [
    'a promise that rejects with nobody there',
    'Promise.reject(new Error("alone")); await new Promise((resolve) => setTimeout(resolve, ' +
      '10)); return "went on";',
    gives('went on'),
  ],
  [
    'many hashes',
    'const crypto = require("crypto"); for (;;) ' +
      'crypto.createHash("sha512").update("x".repeat(1e6)).digest();',
    fails('timeout'),
  ],
  [
    'an archive that grows',
    'const zlib = require("zlib"); let data = zlib.gzipSync(new Uint8Array(8e6)); return ' +
      'zlib.gunzipSync(zlib.gzipSync("x".repeat(1e7))).length < 1e8;',
    fails('runtime', 'memory', 'timeout'),
  ],
  // These are computed outside of the isolate, in the memory of all plugins.
  ['a query of five million names', 'new URLSearchParams("a&".repeat(4.9e6));', fails('runtime')],
  [
    'a query that grows',
    'const query = new URLSearchParams("a".repeat(2e5)); query.append("b", "c".repeat(2e5)); ' +
      'return query.toString();',
    fails('runtime'),
  ],
  [
    'shared memory',
    'return typeof SharedArrayBuffer + typeof Atomics + typeof WebAssembly;',
    gives('undefinedundefinedundefined'),
  ],
];

/** More of a kind that is listed above: a long step of V8 holds a thread. */
export const further_attempts: Attempt[] = [
  ['a long step of numbers', 'return (2n ** 30000000n).toString().length;', fails('timeout')],
];
