import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { findFreePort } from '../../server/platform/embedded/free_port.ts';
import { eventually } from '../eventually.ts';
import { certificate, certificate_key } from './certificate.ts';

/** A web proxy that runs with files of `deploy/proxies/`, before a server of this machine. */
export type WebProxy = { port: number; close(): Promise<void> };

/** Changes a file as a person does: name, certificate, and ports that are free here. */
type Adapt = (text: string, ports: { proxy: number; server: number }, folder: string) => string;

type Kind = {
  program: string;
  /** The files by name; the proxy is started with the first one. */
  files: Record<string, Adapt>;
  /** Why it cannot run here, or undefined. */
  missing: string | undefined;
  words(file: string): string[];
};

/** The proxies whose files we have, by name. */
export const web_proxies: Record<'nginx' | 'caddy' | 'traefik', Kind> = {
  nginx: {
    ...found('nginx', 'nginx-light'),
    words: (file) => ['-c', file, '-e', 'stderr'],
    files: {
      'nginx.conf': (text, ports, folder) =>
        [
          `daemon off; pid ${folder}/pid; ${process.getuid?.() === 0 ? 'user root;' : ''}`,
          'events {}',
          'http {',
          'access_log off;',
          ...['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
            (name) => `${name}_temp_path ${folder}/${name};`,
          ),
          swap(text, {
            'server 127.0.0.1:8000;': `server 127.0.0.1:${ports.server};`,
            // The second server answers where the port is free; the first would want port 80.
            'listen 80;': `listen 127.0.0.1:${ports.proxy + 1};`,
            'listen 443 ssl http2;': `listen 127.0.0.1:${ports.proxy} ssl http2;`,
            '/etc/ssl/sluice.crt': `${folder}/localhost.crt`,
            '/etc/ssl/sluice.key': `${folder}/localhost.key`,
          }),
          '}',
        ].join('\n'),
    },
  },
  caddy: {
    ...found('caddy', 'caddy'),
    words: (file) => ['run', '--adapter', 'caddyfile', '--config', file],
    files: {
      Caddyfile: (text, ports, folder) =>
        ['{', 'admin off', 'auto_https disable_redirects', `storage file_system ${folder}/caddy`]
          .join('\n\t')
          .concat('\n}\n') +
        swap(text, {
          'sluice.example.com {': [
            `https://localhost:${ports.proxy} {`,
            'bind 127.0.0.1',
            `tls ${folder}/localhost.crt ${folder}/localhost.key`,
          ].join('\n\t'),
          'reverse_proxy 127.0.0.1:8000': `reverse_proxy 127.0.0.1:${ports.server}`,
        }),
    },
  },
  traefik: {
    ...found('traefik', 'none'),
    words: (file) => [`--configFile=${file}`],
    files: {
      'traefik.yaml': (text, ports, folder) =>
        swap(text, {
          "':80'": `127.0.0.1:${ports.proxy + 1}`,
          "':443'": `127.0.0.1:${ports.proxy}`,
          '/etc/traefik': folder,
        }),
      'traefik_routes.yaml': (text, ports, folder) =>
        swap(text, {
          'sluice.example.com': 'localhost',
          'http://127.0.0.1:8000': `http://127.0.0.1:${ports.server}`,
          'tls:\n        certResolver: letsencrypt': 'tls: {}',
        }) +
        ['tls:', ' certificates:', `  - certFile: ${folder}/localhost.crt`]
          .concat(`    keyFile: ${folder}/localhost.key`)
          .join('\n'),
    },
  },
};

/** Starts a proxy before the server at a port, with a certificate for localhost. */
export async function startWebProxy(kind: Kind, server_port: number): Promise<WebProxy> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-proxy-'));
  const ports = { proxy: await findFreePort(), server: server_port };
  await writeFile(join(folder, 'localhost.crt'), certificate);
  await writeFile(join(folder, 'localhost.key'), certificate_key);
  const source = join(import.meta.dirname, '../../deploy/proxies');
  for (const [name, adapt] of Object.entries(kind.files)) {
    const text = await readFile(join(source, name), 'utf8');
    await writeFile(join(folder, name), adapt(text, ports, folder));
  }
  const file = join(folder, Object.keys(kind.files)[0]!);
  const child = spawn(kind.program, kind.words(file), {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, HOME: folder },
  });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (part: string) => (said += part));
  const ended = once(child, 'exit');
  const close = async () => {
    child.kill('SIGTERM');
    await ended;
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await eventually(`${kind.program} does not listen: ${said}`, async () => {
      if (child.exitCode !== null) throw new Error(`${kind.program} ended: ${said}`);
      return listens(ports.proxy);
    });
  } catch (error) {
    await close();
    throw error;
  }
  return { port: ports.proxy, close };
}

async function listens(port: number): Promise<boolean> {
  const socket = net.connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

function found(name: string, packaged: string): Pick<Kind, 'program' | 'missing'> {
  const program = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin']
    .map((folder) => join(folder, name))
    .find((path) => existsSync(path));
  return {
    program: program ?? name,
    missing:
      program === undefined
        ? `${name} is not installed (Debian's package: ${packaged})`
        : undefined,
  };
}

/** Replaces each text, which must be there. */
function swap(text: string, texts: Record<string, string>): string {
  return Object.entries(texts).reduce((all, [from, to]) => {
    if (!all.includes(from)) throw new Error(`The file has no "${from}".`);
    return all.replaceAll(from, to);
  }, text);
}
