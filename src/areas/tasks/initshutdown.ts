import { invalid } from '../../engine/declare/errors.ts';
import { choice, flag, nullable, required, text } from '../../engine/declare/fields.ts';
import { volumePath } from '../../engine/declare/formats.ts';
import { collection } from '../../engine/declare/resource.ts';
import { quote } from '../../lib/text.ts';

export const startScript = collection('tasks/initshutdown', {
  title: 'init or shutdown script',
  description: 'A command or a script that the machine runs, as root, when it starts or ends.',
  fields: {
    ini_type: choice(['command', 'script'], {
      description: 'Whether a command line or a file is run.',
      initial: 'command',
    }),
    ini_command: text({ description: 'Handed to the shell as it stands; empty for a script.', max: 300 }),
    ini_script: nullable(
      volumePath({ description: 'The file that is run, which must be executable; null for a command.' }),
    ),
    ini_when: required(
      choice(['preinit', 'postinit', 'shutdown'], {
        description:
          'When it runs: before the services start, after everything has started, or before the services end.',
      }),
    ),
    ini_enabled: flag(true, { description: 'Whether it runs.' }),
  },
  async beforehand({ ini_type: type, ini_script: path }, operations, before) {
    if (typeof path !== 'string' || path === before?.ini_script || (type ?? before?.ini_type) === 'command') return {};
    const found: { kind?: string | undefined; mode?: number | undefined } = {};
    await operations.perform({
      title: `look at ${path}`,
      async perform({ files }) {
        found.kind = await files.kind(path);
        found.mode = await files.mode(path);
      },
    });
    if (found.kind !== 'file') throw invalid({ ini_script: [`${quote(path)} is no file.`] });
    if (((found.mode ?? 0) & 0o100) === 0)
      throw invalid({ ini_script: [`${quote(path)} is not executable: its owner may not run it.`] });
    return {};
  },
  complete({ record }) {
    return record.ini_type === 'command' ? { ini_script: null } : { ini_command: '' };
  },
  check({ record, issues }) {
    if (record.ini_type === 'command' && record.ini_command === '') issues.add('ini_command', 'A command is wanted.');
    if (record.ini_type === 'script' && record.ini_script === null)
      issues.add('ini_script', 'The path of a script is wanted.');
  },
});
