import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { root } from '../house/source_files.ts';
import { listen } from '../servers/loopback.ts';

const run = promisify(execFile);
const version = '4.1.0';
const pom = `<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>sluice</groupId><artifactId>peers</artifactId><version>1</version><dependencies>
<dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId>
<version>${version}</version></dependency></dependencies></project>`;

/** A broker of Apache Kafka on 127.0.0.1. */
export type Kafka = {
  broker: string;
  /** The file that contains the topic; empty before the first event. */
  kept(topic: string): Buffer;
  close(): Promise<void>;
};

/** Returns a free port; if another process takes it meanwhile, the program reports that. */
export async function freePort(): Promise<number> {
  const server = await listen(createServer());
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** Returns the reason why this machine has no Kafka; undefined if it can have one. */
export async function whyNoKafka(): Promise<string | undefined> {
  for (const program of ['java', 'mvn'])
    if ((await run(program, ['--version']).catch(() => undefined)) === undefined)
      return `${program} is not installed (apt-get install openjdk-17-jre-headless maven).`;
  return undefined;
}

/** Returns the class path; Maven fetches the broker the first time (50 MB). */
async function findKafka(): Promise<string> {
  const home = join(root, 'peers', `kafka-${version}`);
  if (!existsSync(home)) {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-kafka-pom-'));
    writeFileSync(join(folder, 'pom.xml'), pom);
    const options = ['-q', '-B', 'dependency:copy-dependencies', `-DoutputDirectory=${home}`];
    await run('mvn', options, { cwd: folder });
    rmSync(folder, { recursive: true });
  }
  return join(home, '*');
}

/** Starts a broker that is its own controller; its topics have one partition. */
export async function startKafka(): Promise<Kafka> {
  const classes = await findKafka();
  const folder = mkdtempSync(join(tmpdir(), 'sluice-kafka-'));
  const [port, controller] = [await freePort(), await freePort()];
  const settings = join(folder, 'server.properties');
  const logs = join(folder, 'logs');
  writeFileSync(
    settings,
    Object.entries({
      'process.roles': 'broker,controller',
      'node.id': 1,
      'controller.quorum.voters': `1@127.0.0.1:${controller}`,
      listeners: `PLAINTEXT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controller}`,
      'advertised.listeners': `PLAINTEXT://127.0.0.1:${port}`,
      'controller.listener.names': 'CONTROLLER',
      'log.dirs': logs,
      'num.partitions': 1,
      'offsets.topic.replication.factor': 1,
      'auto.create.topics.enable': true,
    })
      .map(([name, value]) => `${name}=${value}`)
      .join('\n'),
  );
  const java = ['-Xmx256m', '-cp', classes];
  const format = ['kafka.tools.StorageTool', 'format', '-t', 'U2x1aWNlU2x1aWNlU2x1aQ'];
  await run('java', [...java, ...format, '-c', settings]);
  const server = spawn('java', [...java, 'kafka.Kafka', settings], { stdio: 'ignore' });
  return {
    broker: `127.0.0.1:${port}`,
    kept: (topic) => {
      const file = join(logs, `${topic}-0`, `${'0'.repeat(20)}.log`);
      return existsSync(file) ? readFileSync(file) : Buffer.alloc(0);
    },
    close: async () => {
      server.kill('SIGKILL');
      await once(server, 'exit');
      rmSync(folder, { recursive: true });
    },
  };
}
