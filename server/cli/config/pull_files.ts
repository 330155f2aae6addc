import { writeFileSync } from 'node:fs';
import { withEscapes, yamlText } from '../../api/configuration/yaml_text.ts';
import { UserError } from '../user_error.ts';

/**
 * Writes a configuration into a file (`-`: returns its lines). YAML, or JSON by the file's name.
 * Refuses to overwrite an existing file, whose content would be lost.
 */
export async function pullFiles(
  configuration: Record<string, unknown>,
  file: string,
  address: string,
): Promise<{ lines: string[] }> {
  const isJson = file.endsWith('.json');
  const text = isJson
    ? `${JSON.stringify(withEscapes(configuration), null, 2)}\n`
    : `# yaml-language-server: $schema=${address}/api/configuration/schema/\n` +
      yamlText(configuration);
  if (file === '-') return { lines: [text.trimEnd()] };
  try {
    writeFileSync(file, text, { flag: 'wx' });
  } catch (error) {
    const isThere = (error as NodeJS.ErrnoException).code === 'EEXIST';
    throw new UserError(
      isThere
        ? `${file} exists already: name a new file, or - for standard output.`
        : `${file} cannot be written: ${(error as Error).message}`,
    );
  }
  return { lines: [`${file} is written.`] };
}
