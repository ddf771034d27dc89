import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { IncomingMessage, request } from 'node:http';
import { request as requestSecurely } from 'node:https';
import { resolve } from 'node:path';
import { text as readAll } from 'node:stream/consumers';
import { isObject } from '../lib/json.ts';
import { sentencesIn } from '../lib/refusal.ts';
import { messageOf } from '../lib/text.ts';

/** The URL of the daemon, and the credentials. */
export interface Server {
  readonly url: string;
  readonly user: string;
  readonly password: string;
}

export interface Installing {
  /** Undefined to create a jail. */
  readonly jail?: string;
  /** Whether the plugin starts whenever its jail starts. */
  readonly enable?: boolean;
  /** Whether the plugin is started now. */
  readonly start: boolean;
}

/** The daemon refused the request, or did not respond. */
export class PluginError extends Error {
  override readonly name = 'PluginError';
}

/** Requests the installation of a plugin from the daemon, and returns a line for the user. */
export async function installPlugin(
  bundle: string,
  { jail, enable = false, start }: Installing,
  server: Server,
): Promise<string> {
  // The daemon has another working directory, so it needs the absolute path.
  const location = existsSync(bundle) ? resolve(bundle) : bundle;
  const record = await ask(server, '/api/holdfast/v1/plugins', {
    bundle: location,
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

/** Without a timeout: creating a jail may require downloading its template first. */
async function post(
  { url, user, password }: Server,
  path: string,
  body: string,
): Promise<{ readonly status: number; readonly isJson: boolean; readonly text: string }> {
  const authorization = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
  const sending = (url.startsWith('https:') ? requestSecurely : request)(`${url}${path}`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
  });
  sending.end(body);
  const [answer] = await once(sending, 'response');
  if (!(answer instanceof IncomingMessage)) throw new TypeError('no answer');
  return {
    status: answer.statusCode ?? 0,
    isJson: answer.headers['content-type'] === 'application/json',
    text: await readAll(answer),
  };
}

/** The messages of a refusal, without the names of fields. */
function objection(text: string): string {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? Object.values(sentencesIn(value)).flat().map(String).join(' ') : String(value);
  } catch {
    return text;
  }
}
