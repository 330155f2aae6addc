import { domainToUnicode } from 'node:url';
import { openTurns } from '../../../platform/pacing/turns.ts';
import { readCode } from '../sandbox/fault.ts';
import { HoldError } from './hold.ts';
import type { PluginAttachment } from '../sandbox/sandbox.ts';

/**
 * Thrown when a call failed because the plugin may not reach a host that it needs. Nothing is wrong
 * with what it was to do: that waits until the host is allowed.
 */
export class HostNeededError extends HoldError {
  constructor(host: string) {
    super(
      `The plugin may not reach ${host}. Add it to the allowed_hosts of this config. Until ` +
        'then events wait, and none is lost.',
    );
    this.name = 'HostNeededError';
  }
}

/** The parts of a config that can name hosts. */
type Sources = {
  code: string;
  config: Record<string, unknown>;
  attachments: Record<string, PluginAttachment>;
  allowed_hosts: string[];
};

/** Longer parts no name of a host has. */
const part_length_max = 63;
const letters_and_digits = /[\p{L}\p{N}]+/gu;

/**
 * A function that says whether a host is one that the plugin needs: each part of its name is a word
 * of the code or of the settings, also where the name is put together from both, or it stands
 * among the allowed hosts as it is. A host that only an event names is none: whoever may send
 * events could else bring everything to a stop. To ask costs nothing, however long the code is.
 */
export async function openNeededHosts({
  code,
  config,
  attachments,
  allowed_hosts,
}: Sources): Promise<(host: string) => boolean> {
  const files = Object.values(attachments).map(({ contents }) => Buffer.from(contents).toString());
  const words = new Set<string>();
  const turn = openTurns();
  for (const text of [JSON.stringify(config), ...files, readCode(code).text])
    for (const [word] of text.matchAll(letters_and_digits)) {
      if (word.length <= part_length_max) words.add(word.toLowerCase());
      const pause = turn();
      if (pause !== undefined) await pause;
    }
  return (host) =>
    allowed_hosts.some((allowed) => allowed.toLowerCase() === host) ||
    (domainToUnicode(host).match(letters_and_digits) ?? []).every((part) =>
      words.has(part.toLowerCase()),
    );
}
