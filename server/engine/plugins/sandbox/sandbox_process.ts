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

/** A process that runs plugins. After `kill`, or its end, `send` is without effect. */
export type SandboxProcess = {
  readonly pid: number | undefined;
  readonly is_alive: boolean;
  /** Throws a RangeError for a message that is too long. */
  send(order: OrderMessage): void;
  /**
   * While anything is watched the process has to answer; each call is undone by what it returns.
   */
  watch(): () => void;
  kill(): void;
  /** Resolves when the process has ended, whatever the reason; never rejects. */
  ended: Promise<void>;
};

const size_bytes_max = 2_000_000_000;
const beat_milliseconds = 400;
// More for the first answer, because the process has to start.
const start_beats_max = 40;
const output_length_max = 2_000;

const report = shapeOf(ReportMessage);

/**
 * Starts a process without environment and with permission to read the program's folders alone; it
 * ends with this one. It is killed when it says something that is not a report, when it does not
 * answer for long while it is watched, and when it grows beyond 2 GB.
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
    if (is_alive) channel.write(frame);
  };
  const ping = () => send({ type: 'ping' });
  const silence_beats_max = program.silence_ms_max / beat_milliseconds;
  const watchdog = openWatchdog(silence_beats_max, ping, () => killFor('it does not answer'));
  readReports(channel, {
    isAlive: () => is_alive,
    killFor,
    onReport: (message) => {
      if (message.type !== 'pong') return onReport(message);
      watchdog.answered();
      if (message.size_bytes > size_bytes_max) killFor('it has grown too large');
    },
  });
  // A broken pipe is the end of the process, which `ended` tells.
  for (const stream of [channel, child.stdin!]) stream.on('error', () => {});
  keepLastWords(child, log);
  void ended.then(watchdog.stop);
  child.stdin!.end(program.child);
  // The ping is answered before any plugin runs: time for the start is none for the first
  // plugin.
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

/** Gives on what is a report; whatever else comes ends the process. */
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
    if (!report.is(message)) return killFor('it said something that is not a report');
    onReport(message);
  });
  channel.on('data', (chunk: Buffer) => {
    try {
      if (isAlive()) read(chunk);
    } catch (error) {
      killFor((error as Error).message);
    }
  });
}

function start({ folders, flags }: SandboxProgram): ChildProcess {
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
    env: {},
    cwd: folders[0]!,
    stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
  });
}

/**
 * Counts beats and not time, so that a server that was itself held up does not take it for the
 * silence of the process.
 */
function openWatchdog(silence_beats_max: number, ping: () => void, bark: () => void) {
  let watched = 0;
  let timer: NodeJS.Timeout | undefined;
  let beats_of_silence = 0;
  let beats_max = start_beats_max;
  const stop = (): void => {
    clearInterval(timer);
    timer = undefined;
    beats_of_silence = 0;
  };
  const beat = (): void => {
    if (beats_of_silence === 0) ping();
    beats_of_silence += 1;
    if (beats_of_silence > beats_max) bark();
  };
  return {
    answered: () => {
      beats_of_silence = 0;
      beats_max = silence_beats_max;
    },
    stop,
    watch: () => {
      watched += 1;
      timer ??= setInterval(beat, beat_milliseconds);
      let is_watched = true;
      return () => {
        if (!is_watched) return;
        is_watched = false;
        watched -= 1;
        if (watched === 0) stop();
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
