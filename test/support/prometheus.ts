/** Debian's Prometheus and promtool, which `lab/prometheus` unpacks. */
import assert from 'node:assert/strict';
import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { isObject } from '../../src/lib/json.ts';
import { freePort } from './tls-client.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
let programs: string | undefined;

function program(name: 'prometheus' | 'promtool'): string {
  programs ??= execFileSync(join(root, 'lab/prometheus'), { encoding: 'utf8' }).trim();
  return join(programs, name);
}

/** Runs promtool, with this text at its input, and returns what it wrote and its status. */
export async function promtool(argv: readonly string[], input = ''): Promise<{ status: number; output: string }> {
  return new Promise((resolve) => {
    const child = execFile(program('promtool'), argv, (error, stdout, stderr) => {
      const code = error === null ? 0 : Number(error.code ?? 1);
      resolve({ status: code, output: `${stdout}${stderr}` });
    });
    child.stdin?.end(input);
  });
}

/** One result of a query: its labels, and its value. */
export interface Found {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** The values of one series over time, in seconds since 1970. */
export interface Series {
  readonly labels: Readonly<Record<string, string>>;
  readonly values: readonly { readonly at: number; readonly value: number }[];
}

/** A Prometheus that scrapes one appliance every two seconds. */
export class Prometheus implements AsyncDisposable {
  readonly #url: string;
  readonly #child: ChildProcess;
  #output = '';

  private constructor(url: string, child: ChildProcess) {
    this.#url = url;
    this.#child = child;
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding('utf8').on('data', (part: string) => {
        this.#output += part;
      });
  }

  /** Starts it with its files in `folder`, and waits until it answers. `target` is an address and a port. */
  static async start(parts: { folder: string; target: string; keyFile: string; rules: string }): Promise<Prometheus> {
    const { folder, target, keyFile, rules } = parts;
    const rulesFile = join(folder, 'rules.yml');
    const configuration = join(folder, 'prometheus.yml');
    writeFileSync(rulesFile, rules);
    writeFileSync(
      configuration,
      // JSON is YAML.
      JSON.stringify({
        global: { scrape_interval: '2s', scrape_timeout: '2s', evaluation_interval: '1s' },
        rule_files: [rulesFile],
        scrape_configs: [
          {
            job_name: 'holdfast',
            authorization: { credentials_file: keyFile },
            static_configs: [{ targets: [target] }],
          },
        ],
      }),
    );
    const checked = await promtool(['check', 'config', configuration]);
    assert.equal(checked.status, 0, checked.output);
    const address = `127.0.0.1:${await freePort()}`;
    const child = spawn(
      program('prometheus'),
      [
        `--config.file=${configuration}`,
        `--storage.tsdb.path=${join(folder, 'series')}`,
        `--web.listen-address=${address}`,
      ],
      { stdio: ['ignore', 'pipe', 'pipe'] },
    );
    const prometheus = new Prometheus(`http://${address}`, child);
    await prometheus.until('it answers', async () => (await fetch(`http://${address}/-/ready`)).ok);
    return prometheus;
  }

  async get(path: string): Promise<unknown> {
    const answer = await fetch(`${this.#url}/api/v1/${path}`);
    const body: unknown = await answer.json();
    assert.ok(answer.ok && isObject(body), `${path}: ${JSON.stringify(body)}`);
    return body['data'];
  }

  /** The current value of an expression. */
  async query(expression: string): Promise<readonly Found[]> {
    const data = await this.get(`query?query=${encodeURIComponent(expression)}`);
    assert.ok(isObject(data) && Array.isArray(data['result']), JSON.stringify(data));
    return data['result'].map((one): Found => ({ labels: one.metric, value: Number(one.value[1]) }));
  }

  /** The values of an expression in the last seconds, one for every two of them. */
  async range(expression: string, seconds: number): Promise<readonly Series[]> {
    const now = Date.now() / 1000;
    const parts = { query: expression, start: String(now - seconds), end: String(now), step: '2' };
    const data = await this.get(`query_range?${new URLSearchParams(parts)}`);
    assert.ok(isObject(data) && Array.isArray(data['result']), JSON.stringify(data));
    return data['result'].map(
      (one): Series => ({
        labels: one.metric,
        values: one.values.map(([at, value]: [number, string]) => ({ at, value: Number(value) })),
      }),
    );
  }

  /** The names of the alerts that fire now. */
  async firing(): Promise<ReadonlySet<string>> {
    return new Set((await this.query('ALERTS{alertstate="firing"}')).map(({ labels }) => labels['alertname'] ?? ''));
  }

  /** Waits until the condition holds; what it throws meanwhile counts as no. */
  async until(what: string, holds: () => Promise<boolean>, seconds = 60): Promise<void> {
    const end = performance.now() + seconds * 1000;
    while (!(await holds().catch(() => false))) {
      if (performance.now() > end) throw new Error(`not within ${seconds} s: ${what}\n${this.#output.slice(-2000)}`);
      await pause(200);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await ended;
  }
}
