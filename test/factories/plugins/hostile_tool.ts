import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The name of the destination that runs code which an event brings. */
export const hostile_directory = 'hostile';

/**
 * A package of tools in the layout of the library, whose one destination runs the text of an event
 * as code: the worst that a destination could do.
 */
export function writeHostilePackage(tools_dir: string): void {
  const write = (path: string, text: string): void => {
    const file = join(tools_dir, 'node_modules', path);
    mkdirSync(join(file, '..'), { recursive: true });
    writeFileSync(file, text);
  };
  const manifest = (name: string) => JSON.stringify({ name, version: '1.0.0', main: 'index.js' });
  write('@segment/action-destinations/package.json', manifest('@segment/action-destinations'));
  write('@segment/action-destinations/dist/destinations/hostile/index.js', destination);
  write('@segment/actions-core/package.json', manifest('@segment/actions-core'));
  write('@segment/actions-core/index.js', core);
  write('cross-fetch/package.json', manifest('cross-fetch'));
  write('cross-fetch/index.js', 'module.exports = { Request, Response, Headers };');
}

// The words of an attempt are the reason of its outcome.
const destination = `
  const Work = Object.getPrototypeOf(async function () {}).constructor;
  exports.default = {
    name: 'Hostile',
    actions: { run: { fields: {}, perform: async (code, settings) => {
      let words;
      try {
        const work = new Work('require', 'module', 'settings', code);
        const given = await work(require, module, settings);
        words = 'gave ' + (typeof given === 'string' ? given : JSON.stringify(given));
      } catch (error) {
        words = 'failed: ' +
          (error && (error.code || error.cause && error.cause.code) || '') + ' ' +
          (error && error.message) + ' ' + (error && error.cause && error.cause.message || '');
      }
      throw Object.assign(new Error(words), { name: 'Words' });
    } } },
  };`;

const core = `
  exports.Destination = class {
    constructor(definition) { this.definition = definition; this.responses = []; }
    async onEvent(event, { subscription, ...settings }) {
      const { perform } = this.definition.actions[subscription.partnerAction];
      await perform(event.properties.code, settings);
      return [{ output: 'Action Executed' }];
    }
  };`;
