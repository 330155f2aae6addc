import type { Logger } from '../../../platform/log.ts';
import { sandboxProgram } from './program.ts';
import type { SandboxProgram } from './program.ts';
import type { ReportMessage } from './protocol.ts';
import { startSandboxProcess } from './sandbox_process.ts';
import type { SandboxProcess } from './sandbox_process.ts';

/** A process's report about one instance. */
export type InstanceReport = Exclude<ReportMessage, { type: 'pong' }>;

/** Gets the reports on an instance; nothing follows `onEnd`. */
export type Listener = { onReport(report: InstanceReport): void; onEnd(): void };

/** The place of an instance in a process. */
export type PluginSlot = { instance: number; process: SandboxProcess; detach(): void };

/**
 * Shares one sandbox process among all attached instances: it starts for the first and ends after
 * the last. After a crash, the next instance starts another one.
 */
export type ProcessHolder = {
  readonly pid: number | undefined;
  attach(listener: Listener): Promise<PluginSlot>;
  /** Ends the process; attached instances are told of the end. */
  close(): Promise<void>;
};

type SharedProcess = { process: SandboxProcess; listeners: Map<number, Listener> };

/** Builds the program of a process. */
export type ProgramMaker = () => Promise<SandboxProgram>;

/** Opens a holder; no process is started yet. */
export function openProcessHolder(
  log: Logger,
  program: ProgramMaker = sandboxProgram,
): ProcessHolder {
  let shared: SharedProcess | undefined;
  let last_instance = 0;
  let is_closed = false;

  const open = (made: SandboxProgram): SharedProcess => {
    const listeners = new Map<number, Listener>();
    const process = startSandboxProcess(made, log, (message) => {
      if (message.type === 'pong') return;
      listeners.get(message.instance)?.onReport(message);
      if (message.type === 'fault' && message.is_stuck) process.kill();
    });
    const dismiss = () => {
      for (const listener of listeners.values()) listener.onEnd();
      listeners.clear();
    };
    void process.ended.then(dismiss);
    return { process, listeners };
  };

  return {
    get pid() {
      return shared?.process.is_alive === true ? shared.process.pid : undefined;
    },
    attach: async (listener) => {
      const made = await program();
      if (is_closed) throw new Error('The plugin sandbox is closed.');
      if (shared?.process.is_alive !== true) shared = open(made);
      const { process, listeners } = shared;
      const instance = (last_instance += 1);
      listeners.set(instance, listener);
      return {
        instance,
        process,
        detach: () => {
          if (!listeners.delete(instance)) return;
          if (listeners.size === 0) process.kill();
          else process.send({ type: 'dispose', instance });
        },
      };
    },
    close: async () => {
      is_closed = true;
      shared?.process.kill();
      await shared?.process.ended;
    },
  };
}
