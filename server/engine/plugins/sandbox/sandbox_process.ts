import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import type { Duplex } from 'node:stream';
import { dieWithParent } from '../../../platform/embedded/programs.ts';
import type { Logger } from '../../../platform/log.ts';
import { shapeOf } from '../../../platform/shape.ts';
import { encodeFrame, openFrameReader } from './frames.ts';
import { frame_bytes_max } from './limits.ts';
import type { SandboxProgram } from './program.ts';
import { ReportMessage } from './protocol.ts';
import type { OrderMessage } from './protocol.ts';

/** A process that runs plugins. After `kill`, or its end, `send` does nothing. */
export type SandboxProcess = {
  readonly pid: number | undefined;
  readonly is_alive: boolean;
  /** Throws a RangeError for a message that is too long. */
  send(order: OrderMessage): void;
  /** Watches the process, which must then answer; the returned function stops the watch. */
  watch(): () => void;
  kill(): void;
  /** Resolves when the process has ended, for any reason; never rejects. */
  ended: Promise<void>;
};

/** Bytes of orders that wait in the pipe, because the process does not read. */
const unread_bytes_max = 2 * frame_bytes_max;
/** Reports that are read per period; further ones wait in the pipe. */
const reports_max = { count: 2_000, bytes: 8 * 1024 * 1024, milliseconds: 100 };
const beat_milliseconds = 400;
// Between calls, only work that a call left behind is expected.
const idle_beat_milliseconds = 10_000;
const idle_beats_max = 3;
// More for the first answer, because the process has to start.
const start_beats_max = 40;
const output_length_max = 2_000;

const report = shapeOf(ReportMessage);

/**
 * Starts a process without environment, which may only read the program's folders; it ends with
 * this one. It is killed if it sends an invalid report, does not answer for long, does not read its
 * orders, or grows too large.
 */
export function startSandboxProcess(
  program: SandboxProgram,
  log: Logger,
  onReport: (message: ReportMessage) => void,
): SandboxProcess {
  const child = start(program);
  const channel = child.stdio[3] as Duplex;
  let is_alive = true;
  const ended = new Promise<void>((resolve) => {
    const end = () => {
      is_alive = false;
      resolve();
    };
    child.once('close', end);
    child.once('error', end);
  });
  const kill = (): void => {
    is_alive = false;
    child.kill('SIGKILL');
  };
  const killFor = (reason: string): void => {
    if (is_alive) log.warn({ pid: child.pid, reason }, 'the plugin sandbox is ended');
    kill();
  };
  const send = (order: OrderMessage): void => {
    const frame = encodeFrame(order, frame_bytes_max);
    if (!is_alive) return;
    channel.write(frame);
    if (channel.writableLength > unread_bytes_max) killFor('it does not read');
  };
  const ping = () => send({ type: 'ping' });
  const watchdog = openWatchdog(program, ping, () => killFor('it does not answer'));
  readReports(channel, {
    isAlive: () => is_alive,
    killFor,
    onReport: (message) => {
      if (message.type !== 'pong') return onReport(message);
      watchdog.answered();
      if (message.size_bytes > program.size_bytes_max) killFor('it has grown too large');
    },
  });
  // `ended` reports the end of the process, which also causes a broken pipe.
  for (const stream of [channel, child.stdin!]) stream.on('error', () => {});
  keepLastWords(child, log);
  void ended.then(() => watchdog.stop());
  child.stdin!.end(program.child);
  // The ping is answered before any plugin runs, so the start takes no time of the first one.
  send({ type: 'start', guest: program.guest });
  ping();
  return {
    pid: child.pid,
    get is_alive() {
      return is_alive;
    },
    send,
    watch: watchdog.watch,
    kill,
    ended,
  };
}

/** Passes valid reports on; anything else ends the process. */
function readReports(
  channel: Duplex,
  {
    isAlive,
    killFor,
    onReport,
  }: {
    isAlive(): boolean;
    killFor(reason: string): void;
    onReport(message: ReportMessage): void;
  },
): void {
  const read = openFrameReader(frame_bytes_max, (message) => {
    if (!isAlive()) return;
    if (!report.is(message)) return killFor('it sent an unexpected report');
    onReport(message);
  });
  // A process that floods the server has to wait, so that others can work.
  let [since, count, bytes] = [0, 0, 0];
  channel.on('data', (chunk: Buffer) => {
    const now = performance.now();
    if (now - since > reports_max.milliseconds) [since, count, bytes] = [now, 0, 0];
    bytes += chunk.length;
    try {
      if (isAlive()) count += read(chunk);
    } catch (error) {
      killFor((error as Error).message);
    }
    if (count <= reports_max.count && bytes <= reports_max.bytes) return;
    channel.pause();
    setTimeout(() => channel.resume(), since + reports_max.milliseconds - now);
  });
}

function start({ folders, flags, environment }: SandboxProgram): ChildProcess {
  const permission = ['--permission', ...folders.map((path) => `--allow-fs-read=${path}`)];
  const [command, ...rest] = [
    ...dieWithParent('KILL'),
    process.execPath,
    ...flags,
    '--no-warnings',
    ...permission,
    '-',
  ];
  return spawn(command, rest, {
    env: environment ?? {},
    cwd: folders[0]!,
    stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
  });
}

/**
 * Counts beats instead of time, so that a pause of the server does not look like silence of the
 * process. Beats are fast while the process is watched.
 */
function openWatchdog(
  { silence_ms_max }: Pick<SandboxProgram, 'silence_ms_max'>,
  ping: () => void,
  bark: () => void,
) {
  const silence_beats_max = silence_ms_max / beat_milliseconds;
  let watched = 0;
  let timer: NodeJS.Timeout | undefined;
  let beats_of_silence = 0;
  let has_answered = false;
  const beat = (): void => {
    if (beats_of_silence === 0) ping();
    beats_of_silence += 1;
    const patience = has_answered ? silence_beats_max : start_beats_max;
    if (beats_of_silence > (watched === 0 ? idle_beats_max : patience)) bark();
  };
  const begin = (milliseconds: number): void => {
    clearInterval(timer);
    beats_of_silence = 0;
    timer = setInterval(beat, milliseconds).unref();
  };
  begin(idle_beat_milliseconds);
  return {
    answered: () => {
      beats_of_silence = 0;
      has_answered = true;
    },
    stop: () => clearInterval(timer),
    watch: () => {
      watched += 1;
      if (watched === 1) begin(beat_milliseconds);
      let is_watched = true;
      return () => {
        if (!is_watched) return;
        is_watched = false;
        watched -= 1;
        if (watched === 0) begin(idle_beat_milliseconds);
      };
    },
  };
}

/** Keeps V8's last output, the only explanation of its end. */
function keepLastWords(child: ChildProcess, log: Logger): void {
  let words = '';
  for (const stream of [child.stdout!, child.stderr!]) {
    stream.on('data', (chunk: Buffer) => {
      words = (words + chunk.toString('utf8')).slice(0, output_length_max);
    });
  }
  child.once('close', () => {
    if (words !== '')
      log.warn({ pid: child.pid, output: words }, 'the plugin sandbox ended with a message');
  });
}
