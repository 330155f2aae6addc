import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Writes a package of tools in the layout of the library, with one code for the destinations of
 * these directories.
 */
export function writeToolPackage(
  tools_dir: string,
  { version, directories, code }: { version: string; directories: string[]; code: string },
): void {
  const write = (path: string, text: string): void => {
    const file = join(tools_dir, 'node_modules', path);
    mkdirSync(join(file, '..'), { recursive: true });
    writeFileSync(file, text);
  };
  const manifest = (name: string) => JSON.stringify({ name, version, main: 'index.js' });
  write('@segment/action-destinations/package.json', manifest('@segment/action-destinations'));
  for (const directory of directories)
    write(`@segment/action-destinations/dist/destinations/${directory}/index.js`, code);
  write('@segment/actions-core/package.json', manifest('@segment/actions-core'));
  write('@segment/actions-core/index.js', core);
  write('cross-fetch/package.json', manifest('cross-fetch'));
  write('cross-fetch/index.js', 'module.exports = { Request, Response, Headers };');
}

const core = `
  exports.Destination = class {
    constructor(definition) { this.definition = definition; this.responses = []; }
    async onEvent(event, { subscription, ...settings }) {
      const { perform } = this.definition.actions[subscription.partnerAction];
      await perform(event, settings);
      return [{ output: 'Action Executed' }];
    }
    async executeDynamicField(action, field, data) {
      return this.definition.actions[action].dynamicFields[field](undefined, { ...data });
    }
  };`;
