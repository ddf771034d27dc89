/** `holdfast doctor`: what is wrong with the appliance and with this machine, and which command mends it. */
import type { Vocabulary } from '../../engine/declare/vocabulary.ts';
import { isObject } from '../../lib/json.ts';
import { type Settings, SettingsError } from '../settings.ts';
import { ownInterface } from './appliance.ts';
import type { Connection } from './connection.ts';
import { isAnswering, localChecks, settingsCheck } from './doctor-checks.ts';
import { CommandError, type Exit, exits } from './failure.ts';
import { formatOf, yaml } from './output.ts';
import { commandAbout, commandOf } from './remedy.ts';
import type { Terminal } from './terminal.ts';

interface Examined {
  readonly check: string;
  readonly title: string;
  readonly findings: readonly {
    readonly severity: string;
    readonly about: string;
    readonly message: string;
    readonly command: string | null;
  }[];
}

export interface Examining {
  readonly vocabulary: Vocabulary;
  readonly terminal: Terminal;
  readonly connection: Connection;
  /** This machine; undefined if another appliance is examined. */
  readonly here: { readonly settings: () => Settings; readonly version: string } | undefined;
  readonly output: string | true | undefined;
}

export async function doctor(examining: Examining): Promise<Exit> {
  const { terminal, output, connection, here } = examining;
  const runs = await isAnswering(connection);
  const examined = [
    ...(here === undefined ? [] : await examineHere(here, connection, runs)),
    ...(await examineDaemon(examining, runs)),
  ];
  const format = formatOf(output);
  if (format === 'json') terminal.out(`${JSON.stringify(examined, null, 2)}\n`);
  else if (format === 'yaml') terminal.out(yaml(examined));
  else for (const one of examined) terminal.out(textOf(one));
  const faults = examined.flatMap(({ findings }) => findings).filter(({ severity }) => severity !== 'info');
  if (format === 'table' || format === 'wide')
    terminal.out(
      `\n${examined.length} checks, ${faults.length === 0 ? 'nothing is wrong' : `${faults.length} ${faults.length === 1 ? 'finding' : 'findings'}`}.\n`,
    );
  return faults.length === 0 ? exits.done : exits.refused;
}

async function examineHere(
  { settings: read, version }: NonNullable<Examining['here']>,
  connection: Connection,
  runs: boolean,
): Promise<readonly Examined[]> {
  let settings: Settings;
  try {
    settings = read();
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    const about = 'settings';
    const command = 'holdfast serve --help; editor /etc/holdfast/holdfast.conf';
    return [
      { ...checkOf(settingsCheck), findings: [{ severity: 'critical', about, message: error.message, command }] },
    ];
  }
  const examined: Examined[] = [{ ...checkOf(settingsCheck), findings: [] }];
  for (const check of localChecks)
    examined.push({ ...checkOf(check), findings: await check.look({ settings, connection, version, runs }) });
  return examined;
}

const checkOf = ({ name, title }: { readonly name: string; readonly title: string }) => ({ check: name, title });

/** What the daemon knows. Without an answer on this machine, the checks of the machine say why. */
async function examineDaemon({ vocabulary, connection, here }: Examining, runs: boolean): Promise<readonly Examined[]> {
  if (!runs && here !== undefined) return [];
  const { status, value } = await connection.send('GET', `${ownInterface}/doctor`);
  if (status === 401 || status === 403)
    throw new CommandError(exits.notAllowed, `${connection.title} does not let this key examine it.`, value);
  if (status !== 200 || !Array.isArray(value)) {
    const detail = isObject(value) ? Object.values(value).filter((one) => typeof one === 'string') : [];
    const message = `The daemon does not examine the machine now: ${detail.at(-1) ?? `it answered ${status}`}`;
    const finding = { severity: 'warning', about: 'daemon', message, command: 'holdfast doctor' } as const;
    return [{ check: 'appliance', title: 'The daemon has started.', findings: [finding] }];
  }
  return value.filter(isObject).map((one) => examinedIn(vocabulary, one));
}

function examinedIn(vocabulary: Vocabulary, { check, title, findings }: Readonly<Record<string, unknown>>): Examined {
  const list = Array.isArray(findings) ? findings.filter(isObject) : [];
  return {
    ...{ check: String(check), title: String(title) },
    findings: list.map(({ severity, about, message, remedy, command }) => ({
      ...{ severity: String(severity), about: String(about), message: String(message) },
      command: isObject(remedy)
        ? commandOf(vocabulary, {
            method: String(remedy['method']),
            path: String(remedy['path']),
            body: remedy['body'],
          })
        : typeof command === 'string'
          ? command
          : (commandAbout(vocabulary, String(about)) ?? null),
    })),
  };
}

function textOf({ check, title, findings }: Examined): string {
  const name = check.padEnd(13);
  if (findings.length === 0) return `${'ok'.padEnd(9)} ${name} ${title}\n`;
  const indent = ' '.repeat(24);
  return findings
    .map(({ severity, message, command }) => {
      const mend = command === null ? '' : `${indent}${command}\n`;
      return `${severity.padEnd(9)} ${name} ${message.replaceAll('\n', `\n${indent}`)}\n${mend}`;
    })
    .join('');
}
