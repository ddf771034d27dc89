import { once } from 'node:events';
import { existsSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import { resolve } from 'node:path';
import { text as readAll } from 'node:stream/consumers';
import { isObject } from '../lib/json.ts';
import { messageOf } from '../lib/text.ts';

/** Where the daemon is, and who asks it. */
export interface Server {
  readonly url: string;
  readonly user: string;
  readonly password: string;
}

export interface Installing {
  /** Undefined for one that is made. */
  readonly jail?: string;
  /** Whether it starts with its jail. */
  readonly enable?: boolean;
  /** Whether it is started now. */
  readonly start: boolean;
}

/** What the daemon said no to, or that it said nothing. */
export class PluginError extends Error {
  override readonly name = 'PluginError';
}

/** Installs a plugin by the daemon, and answers a line for the person who asked. */
export async function installPlugin(
  bundle: string,
  { jail, enable = false, start }: Installing,
  server: Server,
): Promise<string> {
  // The daemon runs elsewhere on the machine, so it needs the whole path.
  const place = existsSync(bundle) ? resolve(bundle) : bundle;
  const record = await ask(server, '/api/holdfast/v1/plugins', {
    bundle: place,
    enabled: enable,
    ...(jail === undefined ? {} : { jail }),
  });
  const { id, plugin_name, plugin_version, plugin_jail, plugin_ip, plugin_port } = isObject(record) ? record : {};
  const installed = `Installed the plugin ${String(plugin_name)} ${String(plugin_version)} in the jail ${String(plugin_jail)} as number ${String(id)}.`;
  if (!start) return installed;
  try {
    await ask(server, `/api/v1.0/plugins/plugins/${String(id)}/start/`, {});
  } catch (error) {
    throw new PluginError(`${installed} Starting it failed: ${messageOf(error)}`);
  }
  const address = String(plugin_ip);
  return `${installed} It serves http://${address.includes(':') ? `[${address}]` : address}:${String(plugin_port)}/`;
}

async function ask(server: Server, path: string, body: object): Promise<unknown> {
  const { status, isJson, text } = await post(server, path, JSON.stringify(body)).catch((error: unknown) => {
    throw new PluginError(`no response from ${server.url}: ${messageOf(error)}`);
  });
  if (status === 401)
    throw new PluginError(`the daemon refused the password of ${server.user}; set HOLDFAST_PASSWORD to the right one.`);
  if (status >= 400) throw new PluginError(objection(text));
  return isJson ? JSON.parse(text) : text;
}

/** Waits as long as it takes: a jail may have to be made of a template that is fetched first. */
async function post(
  { url, user, password }: Server,
  path: string,
  body: string,
): Promise<{ readonly status: number; readonly isJson: boolean; readonly text: string }> {
  const authorization = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
  const sending = (url.startsWith('https:') ? https : http).request(`${url}${path}`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
  });
  sending.end(body);
  const [answer] = await once(sending, 'response');
  if (!(answer instanceof http.IncomingMessage)) throw new TypeError('no answer');
  return {
    status: answer.statusCode ?? 0,
    isJson: answer.headers['content-type'] === 'application/json',
    text: await readAll(answer),
  };
}

/** The sentences of a refusal, whatever they belong to. */
function objection(text: string): string {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? Object.values(value).flat().map(String).join(' ') : String(value);
  } catch {
    return text;
  }
}
