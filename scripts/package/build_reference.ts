import { hash } from 'node:crypto';
import { readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Writes the page of the API reference into the built console: `reference.html`, and the script
 * that renders it, whose name contains its hash. The script's package only serves it as a plugin of
 * Fastify, so this requests it from one.
 */
export async function buildReference(source: string, target: string): Promise<void> {
  const [{ fastify }, { default: scalar }] = await Promise.all([
    import('fastify'),
    import('@scalar/fastify-api-reference'),
  ]);
  const app = fastify();
  app.register(scalar, { routePrefix: '/docs', configuration: { url: '/' } });
  const served = await app.inject('/docs/js/scalar.js');
  await app.close();
  if (served.statusCode !== 200) throw new Error('The package of the reference has no script.');
  const script = served.body.replace(/\n?\/\/# sourceMappingURL=.*\s*$/, '\n');
  const names = await readdir(join(target, 'assets'));
  const icon = names.find((name) => /^icon-[\w-]+\.svg$/.test(name)) ?? '';
  const name = `reference-${hash('sha256', script, 'base64url').slice(0, 8)}.js`;
  const page = (await readFile(join(source, 'reference.html'), 'utf8'))
    .replace('assets/reference.js', `assets/${name}`)
    .replace('assets/icon.svg', `assets/${icon}`);
  await writeFile(join(target, 'assets', name), script);
  await writeFile(join(target, 'reference.html'), page);
}
