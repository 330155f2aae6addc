import { readFileSync } from 'node:fs';

type Environment = Record<string, string | undefined>;

/** Most characters of a setting; a list of former keys is far shorter. */
const length_max = 64 * 1024;

/**
 * Returns the value of a setting and the variable that gave it (`from`), or the reason why it has
 * none (`fault`, which never repeats the content of a file). `SLUICE_SECRET_KEY` comes from the
 * variable of this name, or from the file that `SLUICE_SECRET_KEY_FILE` names. Docker, Kubernetes
 * and systemd (`LoadCredential=`) mount such files, so secrets stay out of the environment. An
 * empty variable counts as unset.
 */
export function valueOf(
  environment: Environment,
  variable: string,
): { value?: string; from: string; fault?: { variable: string; detail: string } } {
  const value = textOf(environment[variable]);
  const name = fileVariable(variable);
  const path = textOf(environment[name]);
  if (path === undefined) return { from: variable, ...(value === undefined ? {} : { value }) };
  const wrong = (detail: string) => ({ from: name, fault: { variable: name, detail } });
  if (value !== undefined) return wrong(`is set beside ${variable}. Set one of the two.`);
  try {
    const text = textOf(readFileSync(path, 'utf8'));
    if (text === undefined) return wrong(`names ${path}, which is empty.`);
    if (text.length > length_max) return wrong(`names ${path}, which is larger than 64 KiB.`);
    return { from: name, value: text };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    return wrong(`names ${path}, which ${file_faults[code] ?? `cannot be read (${code})`}.`);
  }
}

/** The variable with the path of the file that has a setting. */
export function fileVariable(variable: string): string {
  return `${variable}_FILE`;
}

function textOf(text: string | undefined): string | undefined {
  const trimmed = text?.trim() ?? '';
  return trimmed === '' ? undefined : trimmed;
}

const file_faults: Record<string, string> = {
  ENOENT: 'does not exist',
  EACCES: 'this user may not read',
  EISDIR: 'is a folder',
};
