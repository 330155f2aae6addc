/** An attempt of a tool's code: its name, the code, and the required result. */
export type ToolAttempt = [name: string, code: string, expected: RegExp];

/** The places that attempts try to reach. */
export type AttemptTargets = {
  secret_file: string;
  port: number;
  udp_port: number;
  path: string;
  /** The port of an allowed server, by the name good.example. */
  outside_port: number;
};

// Refused by Node, or absent from the process.
const refused =
  /^failed: (ERR_|MODULE_NOT_FOUND| process\.\S+ is not a func| Cannot read properties of undef)/;
const denied = /^failed: (ERR_ACCESS_DENIED|ERR_DLOPEN_DISABLED) /;
const guarded = /not globally reachable/;

const machine: [string, string][] = [
  ['a file', `require('fs').readFileSync($FILE)`],
  ['a file by bytes', `require('fs').readFileSync(Buffer.from($FILE))`],
  ['a file by an address', `require('fs').readFileSync(require('url').pathToFileURL($FILE))`],
  ['a file from the package upwards', `require('fs').readFileSync(__dirname + $UP)`],
  ['a file by promises', `await require('fs/promises').readFile($FILE)`],
  ['a file as a stream', `await require('fs').createReadStream($FILE).toArray()`],
  ['a file as a blob', `await require('fs').openAsBlob($FILE)`],
  ['a file as a module', `require($FILE)`],
  ['a file as a module of the standard', `await import('file://' + $FILE)`],
  ['a file as variables', `process.loadEnvFile($FILE)`],
  ['the users', `require('fs').readFileSync('/etc/passwd', 'utf8')`],
  [
    'the environment of the server',
    `require('fs').readFileSync('/proc/' + process.ppid + '/environ')`,
  ],
  ['its own environment', `require('fs').readFileSync('/proc/self/environ')`],
  ['a folder', `require('fs').readdirSync('/')`],
  ['a link', `require('fs').symlinkSync($FILE, __dirname + '/link')`],
  ['a new file', `require('fs').writeFileSync($FILE + '.new', 'x')`],
  ['a file of the package', `require('fs').writeFileSync(module.filename, 'x')`],
  ['a database', `new (require('node:sqlite').DatabaseSync)($FILE + '.db')`],
  ['a database beside one', `require('node:sqlite').DatabaseSync(':memory:')`],
  ['a program', `require('child_process').execSync('id').toString()`],
  [
    'a program by a process',
    `require('child_process').spawnSync('id').error.code.repeat(0) || (() => {
        throw require('child_process').spawnSync('id').error })()`,
  ],
  ['a program in its place', `process.execve('/bin/true', ['true'], {})`],
  ['a thread', `new (require('worker_threads').Worker)('1', { eval: true })`],
  ['a copy of itself', `require('cluster').fork()`],
  [
    'a preloaded module',
    `process.env.NODE_OPTIONS = '--require ' + $FILE;
        require('child_process').fork(module.filename)`,
  ],
  ['code of the machine', `process.dlopen({ exports: {} }, '/lib/x86_64-linux-gnu/libc.so.6')`],
  ['an inner binding', `process.binding('fs').internalModuleReadJSON($FILE)`],
  ['a linked binding', `process._linkedBinding('tcp_wrap')`],
  ['an engine', `require('crypto').setEngine('/tmp/engine.so')`],
  ['the inspector', `require('inspector').open(0)`],
  ['a session of the inspector', `new (require('inspector').Session)().connect()`],
  ['natives of the engine', `require('v8').setFlagsFromString('--allow-natives-syntax')`],
  ['a snapshot of the heap', `require('v8').writeHeapSnapshot('/tmp/heap')`],
  ['a trace', `require('trace_events').createTracing({ categories: ['v8'] }).enable()`],
  [
    'a preview of WASI',
    `new (require('wasi').WASI)({ version: 'preview1', preopens: { '/': '/' } })`,
  ],
  ['a report', `process.report.writeReport($FILE + '.json')`],
  ['the end of the server', `process.kill(process.ppid, 'SIGKILL')`],
  ['the end of the server, natively', `process._kill(process.ppid, 9)`],
  ['the inspector of the server', `process._debugProcess(process.ppid)`],
  ['the priority of the server', `require('os').setPriority(process.ppid, 19)`],
];

/** Attempts at files, the environment, other processes and code of the machine. */
export const machine_attempts: ToolAttempt[] = [
  [
    'a variable of the server',
    'return Object.keys(process.env);',
    /^gave \["NODE_ENV","ACTIONS_MEMORA_ENV","MALLOC_ARENA_MAX"\]$/,
  ],
  ...machine.map(([name, code]): ToolAttempt => [
    name,
    `const given = ${code}; return 'reached ' + String(given);`,
    refused,
  ]),
];

const until = (client: string, good: string) =>
  `const client = ${client}; return await new Promise((resolve, reject) => {
      client.on('${good}', () => resolve('reached')); client.on('error', reject); });`;
const clients: [string, string][] = [
  ['a socket', until(`require('net').connect($PORT, '127.0.0.1')`, 'connect')],
  [
    'a socket of its own',
    until(`new (require('net').Socket)().connect({ port: $PORT, host: '127.0.0.1' })`, 'connect'),
  ],
  ['a socket of the next version', until(`require('net').connect($PORT, '::1')`, 'connect')],
  ['a socket by a name', until(`require('net').connect($PORT, 'localhost')`, 'connect')],
  ['a socket by a number', until(`require('net').connect($PORT, '2130706433')`, 'connect')],
  [
    'a socket with its own names',
    until(
      `require('net').connect({ port: $PORT, host: 'inside.example', lookup: (h, o, done) =>
        done(null, '127.0.0.1', 4) })`,
      'connect',
    ),
  ],
  ['TLS', until(`require('tls').connect($PORT, '127.0.0.1')`, 'secureConnect')],
  [
    'TLS by options',
    until(
      `require('tls').connect({ port: $PORT, host: '127.0.0.1', rejectUnauthorized: false })`,
      'secureConnect',
    ),
  ],
  ['http', until(`require('http').get('http://127.0.0.1:$PORT/')`, 'response')],
  [
    'http of a new agent',
    until(`require('http').get({ port: $PORT, agent: new (require('http').Agent)() })`, 'response'),
  ],
  ['https', until(`require('https').get('https://127.0.0.1:$PORT/')`, 'response')],
  [
    'http2',
    until(
      `require('http2').connect('http://127.0.0.1:$PORT').on('error', () => {}).request({})`,
      'response',
    ),
  ],
  ['imported', until(`(await import('node:net')).connect($PORT, '127.0.0.1')`, 'connect')],
  ['the built-in', until(`process.getBuiltinModule('net').connect($PORT, '127.0.0.1')`, 'connect')],
  ["the platform's fetch", `return String((await fetch('http://127.0.0.1:$PORT/')).status);`],
  [
    'the metadata of a cloud',
    `return String((await fetch('http://169.254.169.254/latest/')).status);`,
  ],
  ["the next version's loopback", `return String((await fetch('http://[::1]:$PORT/')).status);`],
  [
    'an address in an address',
    `return String((await fetch('http://[::ffff:127.0.0.1]:$PORT/')).status);`,
  ],
  ['an address as a number', `return String((await fetch('http://0x7f.1:$PORT/')).status);`],
];
const handles: ToolAttempt[] = [
  [
    'a web socket',
    `const socket = new WebSocket('ws://127.0.0.1:$PORT'); return await new Promise((resolve,
        reject) => { socket.onopen = () => resolve('reached'); socket.onerror = () =>
        reject(new Error('closed')); });`,
    /^failed|not globally reachable/,
  ],
  [
    'a local socket',
    until(`require('net').connect($PATH)`, 'connect'),
    /may not use a local socket/,
  ],
  [
    'http over a local socket',
    until(`require('http').get({ socketPath: $PATH })`, 'response'),
    /may not use a local socket/,
  ],
  ['a server of its own', until(`require('net').createServer().listen(0)`, 'listening'), /^failed/],
  [
    'datagrams',
    `const socket = require('dgram').createSocket('udp4'); return await new Promise((resolve,
        reject) => { socket.on('error', reject); socket.send('x', $UDP_PORT, '127.0.0.1',
        (error) => error ? reject(error) : resolve('reached')); });`,
    /^failed/,
  ],
  [
    'a name server',
    `const resolver = new (require('dns').Resolver)();
        resolver.setServers(['127.0.0.1:$UDP_PORT']); return await new Promise((resolve,
        reject) => resolver.resolve4('secret.example', (error) => resolve('reached')));`,
    /^failed/,
  ],
  [
    'names',
    `return await new Promise((resolve, reject) => require('dns').lookup('localhost', (error,
        address) => error ? reject(error) : resolve('reached ' + address)));`,
    denied,
  ],
  [
    'names by promises',
    `const names = await import('node:dns/promises');
        return 'reached ' + JSON.stringify(await names.lookup('localhost'));`,
    denied,
  ],
  [
    'a handle of TCP',
    `const handle = new (require('tls').TLSSocket)()._handle._parent; const { TCP } = {
        TCP: handle.constructor }; const fresh = new TCP(0); const req = {};
        return 'reached ' + fresh.connect(req, '127.0.0.1', $PORT);`,
    /^failed: {2}fresh\.connect is not a function/,
  ],
  [
    'a handle that listens',
    `const handle = new (require('tls').TLSSocket)()._handle._parent;
        return 'reached ' + handle.bind('0.0.0.0', 0);`,
    /^failed: {2}handle\.bind is not a function/,
  ],
  [
    'the handle of the pipe',
    `const hooks = require('async_hooks'); const found = []; hooks.createHook({ init(id, type,
        trigger, resource) { found.push(resource); } }).enable();
        await fetch('http://good.example:$OUTSIDE_PORT/');
        const pipe = [hooks.executionAsyncResource(), ...found].find((one) =>
        typeof (one.constructor && one.constructor.prototype.connect) === 'function');
        return String(pipe && pipe.constructor.name);`,
    /^gave undefined$/,
  ],
  [
    'the original methods',
    `const { Socket } = require('net'); return await new Promise((resolve, reject) => {
        const inner = new (Object.getPrototypeOf(process.stdout).constructor)();
        inner.on('error', reject); inner.on('connect', () => resolve('reached'));
        Object.getPrototypeOf(Object.getPrototypeOf(process.stdout)).connect.call(inner, $PORT,
        '127.0.0.1'); });`,
    /^failed/,
  ],
  [
    'the way out, called by the cache',
    `for (const name of Object.keys(require.cache)) 
        if (/cross-fetch/.test(name)) require.cache[name].exports = require('http');
        globalThis.fetch = undefined;
        return await new Promise((resolve, reject) =>
          require('http').get('http://127.0.0.1:$PORT/', resolve).on('error', reject));`,
    guarded,
  ],
];

/** Attempts at internal addresses, by every client that Node has. */
export const network_attempts: ToolAttempt[] = [
  ...clients.map(([name, code]): ToolAttempt => [name, code, guarded]),
  ...handles,
];

/** Returns the code with the places that it tries to reach. */
export function aimed(code: string, targets: AttemptTargets): string {
  const up = `../../../../../../../../../../..${targets.secret_file}`;
  const places: Record<string, string | number> = {
    $FILE: JSON.stringify(targets.secret_file),
    $UP: JSON.stringify(up),
    $UDP_PORT: targets.udp_port,
    $OUTSIDE_PORT: targets.outside_port,
    $PORT: targets.port,
    $PATH: JSON.stringify(targets.path),
  };
  return code.replace(/\$[A-Z_]+/g, (name) => String(places[name] ?? name));
}
