import { invalid } from '../../engine/declare/errors.ts';
import { basic, choice, flag, nullable, raw, required, text } from '../../engine/declare/fields.ts';
import { volumePath } from '../../engine/declare/formats.ts';
import { collection } from '../../engine/declare/resource.ts';
import { quote } from '../../lib/text.ts';
import { exposureProblem } from '../folders/exposure.ts';

export const startScript = collection('tasks/initshutdown', {
  shortName: 'task/script',
  title: 'init or shutdown script',
  description: 'A command or a script that the machine runs as root when it starts or shuts down.',
  binned: true,
  fields: {
    ini_type: choice(['command', 'script'], {
      description: 'Whether a command line or a file is run.',
      initial: 'command',
    }),
    ...basic('Program', {
      ini_command: raw(
        text({ description: 'Command line. The shell receives it unchanged. Empty for a script.', max: 300 }),
      ),
      ini_script: nullable(
        volumePath({ description: 'Path of the script, which must be executable; null for a command.' }),
      ),
    }),
    ini_when: required(
      choice(['preinit', 'postinit', 'shutdown'], {
        description:
          'When it runs: before the services start (preinit), after everything has started (postinit), or before the services stop (shutdown).',
      }),
    ),
    ini_enabled: flag(true, { description: 'Whether the command or script runs.' }),
  },
  async beforehand({ ini_type: type, ini_script: path }, operations, before) {
    if (typeof path !== 'string' || path === before?.ini_script || (type ?? before?.ini_type) === 'command') return {};
    const found = await operations.ask(`check ${path}`, async ({ files }) => ({
      kind: await files.kind(path),
      mode: await files.mode(path),
    }));
    if (found.kind !== 'file') throw invalid({ ini_script: [`${quote(path)} is not a file.`] });
    if (((found.mode ?? 0) & 0o100) === 0)
      throw invalid({ ini_script: [`${quote(path)} is not executable by its owner.`] });
    const exposed = await exposureProblem(operations, path, { itself: true });
    if (exposed !== undefined) throw invalid({ ini_script: [exposed] });
    return {};
  },
  complete({ record }) {
    return record.ini_type === 'command' ? { ini_script: null } : { ini_command: '' };
  },
  check({ record, issues }) {
    if (record.ini_type === 'command' && record.ini_command === '')
      issues.add('ini_command', 'ini_command is required when ini_type is command.');
    if (record.ini_type === 'script' && record.ini_script === null)
      issues.add('ini_script', 'ini_script is required when ini_type is script.');
  },
});
