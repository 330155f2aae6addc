/**
 * The required outcome of an attempt: a value, or the possible codes of a fault. `again`: a fault
 * after which the call may be repeated, such as a process that ended itself.
 */
export type Outcome =
  | { gives: unknown }
  | { fails: ('runtime' | 'timeout' | 'memory' | 'again' | 'compile')[] };

/** This value. */
export const gives = (value: unknown): Outcome => ({ gives: value });
/** One of these faults. */
export const fails = (
  ...codes: ('runtime' | 'timeout' | 'memory' | 'again' | 'compile')[]
): Outcome => ({
  fails: codes,
});

/** A name, a piece of code, and its required result. */
export type Attempt = [string, string, Outcome];

/**
 * Attempts to reach things outside: a name, the body of an `onEvent(event, meta)`, and the required
 * outcome. A body that begins with // is put at the top of the module instead.
 */
export const reaching_attempts: Attempt[] = [
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
      if (typeof value !== 'object' && typeof value !== 'function') return;
      if (value === null || seen.has(value) || depth > 6) return;
      seen.add(value);
      for (const key of Reflect.ownKeys(value)) {
        const held = Object.getOwnPropertyDescriptor(value, key)?.value;
        const calls =
          /^(applySync|derefInto|copySync|createContext|evalClosure|applySyncPromise)$/;
        const kinds = /^(Reference|ExternalCopy|Isolate|Callback|Context)$/;
        if (calls.test(String(key)) || kinds.test(held?.constructor?.name)) found.push(String(key));
        walk(held, depth + 1);
      }
      walk(Object.getPrototypeOf(value), depth + 1);
    };
    walk(globalThis, 0); walk(meta, 0); return found;`,
    gives([]),
  ],
  [
    'Error.prepareStackTrace',
    `let seen = []; Error.prepareStackTrace = (error, frames) => {
      for (const frame of frames) seen.push(frame.getFunction?.(), frame.getThis?.()); return 'x';
    };
    const trap = { toString() { void new Error().stack; return 'a'; } };
    try { new URL(trap); } catch {} try { fetch(trap).catch(() => {}); } catch {}
    void new Error().stack;
    return seen.filter((value) =>
      value !== undefined && value !== globalThis && typeof value === 'function' &&
      !/prepareStackTrace|new Error/.test(String(value))).length;`,
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
    Function.prototype.call = function (...all) {
      seen.push(this.name); return Reflect.apply(this, all[0], all.slice(1));
    };
    Function.prototype.apply = function (self, all) {
      seen.push(this.name); return Reflect.apply(this, self, all);
    };
    console.log('x'); new URL('https://a.example'); Buffer.from('a');
    Function.prototype.call = call; Function.prototype.apply = apply;
    return seen.filter((name) => /send|compute/.test(name)).length;`,
    gives(0),
  ],
  [
    'Array.prototype and iterators',
    `const seen = []; const { map } = Array.prototype;
    const iterator = Array.prototype[Symbol.iterator];
    Array.prototype.map = function (...all) {
      seen.push(this, ...all); return map.apply(this, all);
    };
    Array.prototype[Symbol.iterator] = function () { seen.push(this); return iterator.call(this); };
    console.log('x'); new Headers([['a', 'b']]);
    Array.prototype.map = map; Array.prototype[Symbol.iterator] = iterator;
    return seen.filter((value) =>
      typeof value === 'function' && /native code/.test(String(value))).length;`,
    gives(0),
  ],
  [
    'setters on Object.prototype',
    `let leaked = 0;
    for (const key of ['send', 'compute', 'resolve', 'reject', 'then', '0', 'instance'])
      Object.defineProperty(Object.prototype, key, { configurable: true, set(value) {
      leaked += /native code/.test(String(value)) && key !== 'resolve' && key !== 'reject' ? 1 : 0;
      }, get() { return undefined; } });
    console.log('x'); try { new URL('https://a.example'); } catch {}
    for (const key of ['send', 'compute', 'resolve', 'reject', 'then', '0', 'instance'])
      delete Object.prototype[key];
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
    Object.defineProperty(Error, Symbol.hasInstance, { value: () => true });
    throw { name: { toString() { return 'x'; } }, message: 'forged', stack: 5 };`,
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
];
