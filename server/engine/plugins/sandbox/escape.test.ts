import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { never, openTestSandbox } from '../../../../test/factories/plugin_sandbox.ts';
import type { TestSandbox } from '../../../../test/factories/plugin_sandbox.ts';
import type { LoadedPlugin } from './sandbox.ts';
import { PluginCallError } from './fault.ts';

// What an escape would find in this process.
const marker = 'marker-of-the-server';
(globalThis as Record<string, unknown>)['escape_marker'] = marker;

let world: TestSandbox;
let canary: LoadedPlugin;
before(async () => {
  world = await openTestSandbox({
    slice_milliseconds: 250,
    call_milliseconds: 850,
    cpu_milliseconds: 500,
    memory_megabytes: 32,
  });
  canary = (await world.loadCode('exports.onEvent = (n) => n + 1;')).plugin;
});
after(() => world.close());

/**
 * What an attempt must come to: a value, or the codes of a fault of which one is met. `again` is a
 * fault after which the call may be made again, such as a process that took itself down.
 */
type Outcome =
  | { gives: unknown }
  | { fails: ('runtime' | 'timeout' | 'memory' | 'again' | 'compile')[] };

const gives = (value: unknown): Outcome => ({ gives: value });
const fails = (...codes: ('runtime' | 'timeout' | 'memory' | 'again' | 'compile')[]): Outcome => ({
  fails: codes,
});

// Each is the body of an `onEvent(event, meta)`; a body that begins with // stands at the top of
// the module instead.
const attempts: [string, string, Outcome][] = [
  // To reach what is outside.
  [
    'process',
    'return typeof process + typeof globalThis.process + typeof global;',
    gives('undefinedundefinedundefined'),
  ],
  [
    'a global require',
    'return typeof globalThis.require + typeof globalThis.module;',
    gives('undefinedundefined'),
  ],
  [
    'require of fs',
    'return require("node:" + "fs").readFileSync("/etc/passwd", "utf8");',
    fails('runtime'),
  ],
  ['require of a path', 'return require("/etc" + "/passwd");', fails('runtime')],
  ['require of isolated-vm', 'return require("isolated-" + "vm");', fails('runtime')],
  [
    'require of names of Object.prototype',
    'return [require("__proto__" + ""), require("constructor" + "")];',
    fails('runtime'),
  ],
  ['import', 'return import("node:" + "child_process");', fails('runtime')],
  [
    'import in eval',
    'return (0, eval)("import(\'node:fs\')").then(() => "imported");',
    fails('runtime'),
  ],
  [
    'import in a Function',
    'return new Function("return import(\'node:fs\')")().then(() => "imported");',
    fails('runtime'),
  ],
  [
    'Function of this',
    'return this?.constructor?.constructor("return typeof process")() ?? "none";',
    gives('undefined'),
  ],
  [
    'Function of console.log',
    'return console.log.constructor("return typeof process + typeof require")();',
    gives('undefinedundefined'),
  ],
  [
    'Function of fetch',
    'return await fetch.constructor("return typeof process")();',
    gives('undefined'),
  ],
  [
    'Function of a service',
    'return meta.storage.get.constructor("return typeof process")().then((type) => type);',
    gives('undefined'),
  ],
  [
    'Function of a promise',
    'return meta.storage.get("a").constructor.constructor("return typeof process")();',
    gives('undefined'),
  ],
  [
    'Function of an error',
    'try { require("x") } catch (error) { return error.constructor.constructor("return typeof ' +
      'process")(); }',
    gives('undefined'),
  ],
  [
    'Function of an error of a computation',
    'try { new URL("x") } catch (error) { return error.constructor.constructor("return typeof ' +
      'process")() + error.stack.includes("node:"); }',
    gives('undefinedfalse'),
  ],
  [
    'Function of an async generator',
    'return (async function* () {}).constructor("yield typeof process")().next().then(({ ' +
      'value }) => value);',
    gives('undefined'),
  ],
  [
    'Function of a bound function',
    'return (() => {}).bind().constructor("return typeof process")();',
    gives('undefined'),
  ],
  [
    'Reflect.construct',
    'return Reflect.construct(Function, ["return typeof process"], class {})();',
    gives('undefined'),
  ],
  [
    'names of the global object',
    'return Object.getOwnPropertyNames(globalThis).filter((name) => ' +
      '/process|require|ivm|isolate|native|guest|send|compute|platform|WebAssembly|Shared|Atomics|Deno|Bun/i.test(name));',
    gives([]),
  ],
  [
    'handles of the engine',
    `const seen = new Set(); const found = [];
    const walk = (value, depth) => {
      if ((typeof value !== 'object' && typeof value !== 'function') || value === null || seen.has(value) || depth > 6) return;
      seen.add(value);
      for (const key of Reflect.ownKeys(value)) {
        const held = Object.getOwnPropertyDescriptor(value, key)?.value;
        if (/^(applySync|derefInto|copySync|createContext|evalClosure|applySyncPromise)$/.test(String(key)) || /^(Reference|ExternalCopy|Isolate|Callback|Context)$/.test(held?.constructor?.name)) found.push(String(key));
        walk(held, depth + 1);
      }
      walk(Object.getPrototypeOf(value), depth + 1);
    };
    walk(globalThis, 0); walk(meta, 0); return found;`,
    gives([]),
  ],
  [
    'Error.prepareStackTrace',
    `let seen = []; Error.prepareStackTrace = (error, frames) => { for (const frame of frames) seen.push(frame.getFunction?.(), frame.getThis?.()); return 'x'; };
    const trap = { toString() { void new Error().stack; return 'a'; } };
    try { new URL(trap); } catch {} try { fetch(trap).catch(() => {}); } catch {} void new Error().stack;
    return seen.filter((value) => value !== undefined && value !== globalThis && typeof value === 'function' && !/prepareStackTrace|new Error/.test(String(value))).length;`,
    gives(0),
  ],
  [
    'callers',
    'const seen = []; let f = arguments.callee; try { for (; f && seen.length < 20; f = ' +
      'f.caller) seen.push(String(f)); } catch {} return seen.slice(1);',
    gives([]),
  ],
  [
    'Function.prototype.call and apply',
    `const seen = []; const { call, apply } = Function.prototype;
    Function.prototype.call = function (...all) { seen.push(this.name); return Reflect.apply(this, all[0], all.slice(1)); };
    Function.prototype.apply = function (self, all) { seen.push(this.name); return Reflect.apply(this, self, all); };
    console.log('x'); new URL('https://a.example'); Buffer.from('a'); Function.prototype.call = call; Function.prototype.apply = apply;
    return seen.filter((name) => /send|compute/.test(name)).length;`,
    gives(0),
  ],
  [
    'Array.prototype and iterators',
    `const seen = []; const { map } = Array.prototype; const iterator = Array.prototype[Symbol.iterator];
    Array.prototype.map = function (...all) { seen.push(this, ...all); return map.apply(this, all); };
    Array.prototype[Symbol.iterator] = function () { seen.push(this); return iterator.call(this); };
    console.log('x'); new Headers([['a', 'b']]); Array.prototype.map = map; Array.prototype[Symbol.iterator] = iterator;
    return seen.filter((value) => typeof value === 'function' && /native code/.test(String(value))).length;`,
    gives(0),
  ],
  [
    'setters on Object.prototype',
    `let leaked = 0; for (const key of ['send', 'compute', 'resolve', 'reject', 'then', '0', 'instance'])
      Object.defineProperty(Object.prototype, key, { configurable: true, set(value) { leaked += /native code/.test(String(value)) && key !== 'resolve' && key !== 'reject' ? 1 : 0; }, get() { return undefined; } });
    console.log('x'); try { new URL('https://a.example'); } catch {} for (const key of ['send', 'compute', 'resolve', 'reject', 'then', '0', 'instance']) delete Object.prototype[key];
    return leaked;`,
    gives(0),
  ],
  [
    'JSON of our own',
    'JSON.stringify = () => \'{"__proto__":{"polluted":1}}\'; JSON.parse = () => ({ forged: 1 ' +
      '}); return { a: event };',
    gives({ a: 1 }),
  ],
  [
    'a polluting result',
    'return ' +
      'JSON.parse(\'{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}\');',
    gives(JSON.parse('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}')),
  ],
  [
    'a polluting key of storage',
    'await meta.storage.set("__proto__", { polluted: 1 }); await ' +
      'meta.storage.set("constructor", 1); return ({}).polluted ?? "none";',
    gives('none'),
  ],
  [
    'a polluting event',
    'await sluice.capture("a", JSON.parse(\'{"__proto__":{"polluted":1}}\')); return "captured";',
    gives('captured'),
  ],
  [
    'a service that there is not',
    'try { return await meta.jobs.constructor("x")?.runNow?.() ?? "none"; } catch { return ' +
      '"none"; }',
    gives('none'),
  ],
  [
    'Symbol.species and hasInstance',
    `class Own extends Promise { static get [Symbol.species]() { return Function; } }
    Object.defineProperty(Error, Symbol.hasInstance, { value: () => true }); throw { name: { toString() { return 'x'; } }, message: 'forged', stack: 5 };`,
    fails('again'),
  ],
  [
    'a thrown Proxy',
    'throw new Proxy({}, { get() { throw new Error("trap"); }, getPrototypeOf() { throw new ' +
      'Error("trap"); } });',
    fails('runtime'),
  ],
  ['a thrown null', 'throw null;', fails('runtime')],
  [
    'an error with a forged stack',
    'throw Object.assign(new Error("x"), { stack: "at plugin.js:1:1 at ' +
      'plugin.js:999999999:999999999 at /etc/passwd" });',
    fails('runtime'),
  ],
  [
    'a thenable that answers twice',
    'return { then(resolve, reject) { resolve(1); resolve(2); reject(new Error("3")); } };',
    gives(1),
  ],
  [
    'a revoked Proxy as result',
    'const { proxy, revoke } = Proxy.revocable({}, {}); revoke(); return { proxy };',
    fails('runtime'),
  ],
  ['a ring as result', 'const ring = {}; ring.ring = ring; return ring;', fails('runtime')],
  ['a BigInt as result', 'return 1n;', fails('runtime')],
  ['a function as result', 'return () => process;', gives(null)],
  [
    'a getter that lies',
    'let n = 0; return { get a() { return (n += 1) > 1 ? "other" : "once"; } };',
    gives({ a: 'once' }),
  ],
  [
    'the loader of the module',
    'return module.constructor.constructor("return typeof process")() + ' +
      'require.constructor("return typeof process")();',
    gives('undefinedundefined'),
  ],
  [
    'code that closes our function',
    '// }); if (typeof process !== "undefined") throw 1; (function (module, exports, require) {',
    gives(null),
  ],
  [
    'fetch to loopback',
    'return fetch("http://127.0.0.1:1234/").catch((error) => /not globally ' +
      'reachable/.test(error.message));',
    gives(true),
  ],
  [
    'fetch to the metadata address',
    'return fetch("http://169.254.169.254/latest/").catch((error) => /not globally ' +
      'reachable/.test(error.message));',
    gives(true),
  ],
  [
    'fetch of a file',
    'return fetch("file:///etc/passwd").catch((error) => /Only http and ' +
      'https/.test(error.message));',
    gives(true),
  ],
  [
    'fetch with a forged object',
    'return fetch({ toString: () => "http://[::1]/" }, { method: { toString: () => "GET" } ' +
      '}).catch((error) => /not globally reachable/.test(error.message));',
    gives(true),
  ],
  // To stay, or to take everything.
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
  ['a long step of numbers', 'return (2n ** 30000000n).toString().length;', fails('timeout')],
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
    fails('runtime', 'timeout'),
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
    fails('runtime'),
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

async function tryIt(body: string): Promise<{ gives: unknown } | { code: string }> {
  const code = body.startsWith('// ')
    ? `${body.slice(3)}\nexports.onEvent ??= () => null;`
    : `exports.onEvent = async function (event, meta) { ${body} };`;
  try {
    const { plugin } = await world.loadCode(code);
    const work = plugin.call('onEvent', 1, never).finally(() => void plugin.close());
    work.catch(() => {});
    return { gives: await Promise.race([work, pause(2_000, 'not stopped', { ref: false })]) };
  } catch (error) {
    if (!(error instanceof PluginCallError))
      return { code: (error as { code?: string }).code ?? String(error) };
    return { code: error.is_retry ? 'again' : error.code };
  }
}

for (const [name, body, expected] of attempts) {
  test(`${name}: does not get out, and ends`, async () => {
    const outcome = await tryIt(body);
    if ('gives' in expected) assert.deepEqual(outcome, { gives: expected.gives });
    else
      assert.ok(
        'code' in outcome && (expected.fails as string[]).includes(outcome.code),
        `it came to ${JSON.stringify(outcome)?.slice(0, 200)}`,
      );
    assert.doesNotMatch(JSON.stringify(outcome), new RegExp(marker));
    assert.equal(({} as Record<string, unknown>)['polluted'], undefined);
    // A process that was ended takes the canary with it once, and says that the call may be made
    // again.
    const alive = await canary
      .call('onEvent', 1, never)
      .catch((error: PluginCallError) =>
        error.is_retry ? canary.call('onEvent', 1, never) : Promise.reject(error),
      );
    assert.equal(alive, 2);
  });
}

test('a flood of lines is cut, and says so', async () => {
  const { plugin, record } = await world.loadCode(
    'exports.onEvent = () => { for (let n = 0; n < 1500; n += 1) console.log("x".repeat(5000)); };',
  );
  await plugin.call('onEvent', 1, never);
  assert.deepEqual(
    [record.lines.length, record.lines[0]!.message.length, record.lines.at(-1)!.message],
    [1_001, 4_096, 'Further lines of this call are dropped.'],
  );
  await plugin.close();
});

test('two plugins share nothing', async () => {
  const writer = await world.loadCode(
    'exports.onEvent = () => { globalThis.shared = 1; Array.prototype.shared = 1; ' +
      'Object.prototype.shared = 1; sluice.shared = 1; };',
  );
  const reader = await world.loadCode(
    'exports.onEvent = () => [typeof globalThis.shared, typeof [].shared, typeof ({}).shared, ' +
      'typeof sluice.shared];',
  );
  await writer.plugin.call('onEvent', 1, never).catch(() => {});
  assert.deepEqual(await reader.plugin.call('onEvent', 1, never), [
    'undefined',
    'undefined',
    'undefined',
    'undefined',
  ]);
  await Promise.all([writer.plugin.close(), reader.plugin.close()]);
});

test('a package that is only inspected runs in another process than what is loaded', async () => {
  const pid = world.sandbox.pid;
  await assert.rejects(
    world.sandbox.inspect('Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1);', never),
    { code: 'timeout' },
  );
  assert.equal(await canary.call('onEvent', 1, never), 2);
  assert.equal(world.sandbox.pid, pid);
});

test('the sentence of a fault is one that every store takes', async () => {
  const { plugin } = await world.loadCode(
    'exports.onEvent = () => { throw new Error("a\\0b\\ud800"); };',
  );
  await assert.rejects(plugin.call('onEvent', 1, never), { message: 'a\uFFFDb\uFFFD' });
  await plugin.close();
});
