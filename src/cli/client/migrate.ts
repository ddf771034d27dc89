/** `migrate`: the database of an old appliance as a proposed file. */
import { readFileSync, writeFileSync } from 'node:fs';
import { isObject } from '../../lib/json.ts';
import { messageOf, quote } from '../../lib/text.ts';
import { ownInterface } from './appliance.ts';
import { type Exit, exits, usage } from './failure.ts';
import { type Calling, headersOf } from './records.ts';

/** `-o FILE` writes the proposed file; `-o json` prints the whole answer, with the list of what was not carried. */
export async function migrate({ appliance, terminal, given }: Calling): Promise<Exit> {
  const place = given.words[1];
  if (place === undefined)
    throw usage(
      'Expected the database or the archive of an old appliance: holdfast migrate freenas-v1.db -o proposed.yaml',
    );
  const key = given.fields.get('secret')?.at(-1);
  const isOn = (name: string) => /^(?:yes|true|on|1)$/i.test(given.fields.get(name)?.at(-1) ?? '');
  const { value } = await appliance.send('POST', `${ownInterface}/migrate`, {
    body: {
      content: base64Of(place),
      ...(key === undefined ? {} : { secret: base64Of(key) }),
      interfaces: interfacesOf(given.fields.get('interface') ?? []),
      root: isOn('root'),
      rehearse: isOn('rehearse'),
    },
    headers: headersOf(given),
  });
  const answer = isObject(value) ? value : {};
  const output = given.options.get('output');
  const text = String(answer['file']);
  if (output === 'json') terminal.out(`${JSON.stringify(value, null, 2)}\n`);
  else if (typeof output === 'string' && output !== '-' && output !== 'yaml')
    writeFileSync(output, text, { mode: 0o600 });
  else terminal.out(text);
  const left = Array.isArray(answer['left']) ? answer['left'].length : 0;
  terminal.err(
    `Version ${String(answer['version'])}: ${String(answer['records'])} records are proposed, and ${left} comments say what was not carried or needs a look. Nothing was changed.\n`,
  );
  return exits.done;
}

function base64Of(path: string): string {
  try {
    return readFileSync(path).toString('base64');
  } catch (error) {
    throw usage(`${path} cannot be read: ${messageOf(error)}`);
  }
}

/** `em0=enp1s0`, also several with commas between. */
function interfacesOf(given: readonly string[]): Readonly<Record<string, string>> {
  const pairs = given
    .flatMap((one) => one.split(','))
    .filter((one) => one !== '')
    .map((one) => {
      const [old = '', name = '', ...rest] = one.split('=');
      if (old === '' || name === '' || rest.length > 0)
        throw usage(`--interface: Expected OLD=NEW, such as em0=enp1s0, got ${quote(one)}.`);
      return [old, name] as const;
    });
  return Object.fromEntries(pairs);
}
