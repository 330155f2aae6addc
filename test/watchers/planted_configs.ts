import assert from 'node:assert/strict';
import type {
  CheckStep,
  DestinationDefinition,
  Sink,
  SliceOutcome,
} from '../../server/engine/model/destination/destination.ts';
import type { Difference } from '../../server/engine/model/destination/difference.ts';
import { openLog } from '../../server/platform/log.ts';
import type { Logger } from '../../server/platform/log.ts';

/** Shorter ones occur by chance. */
const secret_length_min = 10;

type Part = { key: string; text: string };
type Heard = { kind: string; text: string };

/**
 * Knows the secrets of every config of a destination, and all that it output or stored meanwhile:
 * `search` fails if a secret is in that.
 */
export class PlantedConfigs {
  /** Writes lines like the server, of every level, to the place that `search` reads. */
  readonly log: Logger = openLog('trace', 'json', {
    write: (line) => this.hear('a line of the log', line),
  });
  private readonly parts = new Map<string, string>();
  private readonly keys = new Set<string>();
  private readonly heard: Heard[] = [];

  /**
   * Remembers the secret parts of a config; fails if a secret is too short to be distinguished from
   * chance.
   */
  plant(
    { secrets }: Pick<DestinationDefinition, 'secrets'>,
    config: Record<string, unknown>,
  ): void {
    for (const { key, text } of secrets.flatMap((name) => partsOf(name, config[name]))) {
      this.keys.add(key);
      assert.ok(
        text.length >= secret_length_min,
        `the secret of the key ${key} is too short to be recognised: give it ` +
          `${secret_length_min} characters`,
      );
      for (const form of formsOf(text, config)) this.parts.set(form, key);
    }
  }

  /** Remembers a text, or the text of an object as JSON. */
  hear(kind: string, said: unknown): void {
    this.heard.push({ kind, text: typeof said === 'string' ? said : JSON.stringify(said) });
  }

  /**
   * Remembers the texts of an error and of all its causes; the stack contains its name and message.
   */
  private hearError(error: unknown): void {
    for (let at = error, depth = 0; at instanceof Error && depth < 16; at = at.cause, depth += 1) {
      this.hear(
        'an error',
        `${String(at.stack)}\n${at.message}\n${String((at as { code?: unknown }).code)}`,
      );
      if (at instanceof AggregateError) for (const inner of at.errors) this.hearError(inner);
    }
  }

  /** Returns the result of `work`; remembers its rejection. */
  async hearing<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      this.hearError(error);
      throw error;
    }
  }

  /** Returns the same sink, and remembers all that it throws and stores. */
  listen(sink: Sink): Sink {
    const kept = (outcomes: SliceOutcome[]) => {
      this.hear('the outcome of a slice', outcomes);
      return outcomes;
    };
    return {
      isCommitted: () => this.hearing(() => sink.isCommitted()),
      recover: (outcomes) => this.hearing(async () => kept(await sink.recover(outcomes))),
      write: (slice, bytes) =>
        this.hearing(async () => {
          const written = await sink.write(slice, bytes);
          this.hear('the outcome of a slice', written);
          return written;
        }),
      commit: (outcomes, manifest) => this.hearing(() => sink.commit(outcomes, manifest)),
      abort: (outcomes) => this.hearing(() => sink.abort(outcomes)),
      close: () => this.hearing(() => sink.close()),
    };
  }

  /** Returns the same steps or differences, and remembers them. */
  told<Said extends CheckStep[] | Difference[]>(kind: string, said: Said): Said {
    this.hear(kind, said);
    return said;
  }

  /**
   * Fails if a secret is in any remembered text, if a key of `keys` was never planted, or if none
   * of one of the `kinds` was remembered.
   */
  search({ keys, kinds }: { keys: readonly string[]; kinds: string[] }): void {
    assert.deepEqual(
      keys.filter((key) => !this.keys.has(key)),
      [],
      'these keys have no secret in any config of the tests',
    );
    assert.deepEqual(
      kinds.filter((kind) => !this.heard.some((heard) => heard.kind === kind)),
      [],
      'nothing of the kind was heard',
    );
    for (const { kind, text } of this.heard)
      for (const [form, key] of this.parts)
        if (text.includes(form))
          assert.fail(`${kind} holds the secret of the key ${key}: ${shown(text, form)}`);
  }
}

/** The text around the secret, which is not repeated. */
function shown(text: string, form: string): string {
  const at = text.indexOf(form);
  const end = at + form.length;
  return `${text.slice(Math.max(0, at - 120), at)}[here]${text.slice(end, end + 40)}`;
}

/**
 * Returns the secrets under a key. They are texts at any depth, each line of a private key, the key
 * in the JSON of an account, and the value after the name in a connection string or a signature.
 */
function partsOf(key: string, value: unknown): Part[] {
  if (typeof value === 'object' && value !== null)
    return Object.values(value).flatMap((inner) => partsOf(key, inner));
  if (typeof value !== 'string') return [];
  if (value.startsWith('{')) {
    const { private_key, private_key_id } = JSON.parse(value) as Record<string, unknown>;
    return [...partsOf(key, private_key), ...partsOf(key, private_key_id)];
  }
  const lines = value.includes('-----BEGIN')
    ? value
        .split('\n')
        .filter((line) => line.length > secret_length_min && !line.startsWith('-----'))
    : [];
  const named = [...value.matchAll(/(?:AccountKey=|\bsig=)([^;&]+)/g)].map((match) => match[1]!);
  const parts = lines.length > 0 ? lines : named.length > 0 ? named : [value];
  return parts.map((text) => ({ key, text }));
}

/**
 * Returns the forms in which a secret travels: unchanged, escaped for JSON or an address, in base64
 * alone or after the user's name.
 */
function formsOf(text: string, { user }: Record<string, unknown>): string[] {
  const encoded = (bytes: string) => Buffer.from(bytes).toString('base64').replace(/=+$/, '');
  return [
    text,
    JSON.stringify(text).slice(1, -1),
    encodeURIComponent(text),
    decodeURIComponent(text.replace(/%(?![0-9a-fA-F]{2})/g, '%25')),
    encoded(text),
    encoded(`${String(user)}:${text}`),
  ];
}
