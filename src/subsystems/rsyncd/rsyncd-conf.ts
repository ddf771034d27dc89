import type { rsyncdSettings } from '../../areas/services/rsyncd.ts';
import type { rsyncModule } from '../../areas/services/rsyncmod.ts';
import type { RecordOf } from '../../engine/declare/resource.ts';
import { withoutMacros, wordJoiner } from '../../lib/macros.ts';
import { lines, words } from '../../lib/text.ts';

type Settings = RecordOf<typeof rsyncdSettings.fields>;
type Module = RecordOf<typeof rsyncModule.fields>;

/** The global part, before the modules. */
export function globalLines(settings: Settings): string {
  return lines(
    '# Written by Holdfast.',
    `port = ${settings.rsyncd_port}`,
    settings.rsyncd_auxiliary === '' ? undefined : settings.rsyncd_auxiliary,
  );
}

export function moduleLines(module: Module): string {
  return lines(
    '',
    `[${module.rsyncmod_name}]`,
    module.rsyncmod_comment === '' ? undefined : `comment = ${freeText(module.rsyncmod_comment)}`,
    `path = ${module.rsyncmod_path.endsWith('\\') ? `${module.rsyncmod_path}/.` : module.rsyncmod_path}`,
    `read only = ${module.rsyncmod_mode === 'ro' ? 'yes' : 'no'}`,
    `write only = ${module.rsyncmod_mode === 'wo' ? 'yes' : 'no'}`,
    // rsync counts connections by lock file, so each module has its own.
    module.rsyncmod_maxconn === 0
      ? undefined
      : [`max connections = ${module.rsyncmod_maxconn}`, `lock file = /run/holdfast-rsyncd-${module.id}.lock`],
    `uid = ${module.rsyncmod_user}`,
    // `*` means all groups of the account.
    `gid = ${module.rsyncmod_group === '' ? '*' : module.rsyncmod_group}`,
    hosts('hosts allow', module.rsyncmod_hostsallow),
    hosts('hosts deny', module.rsyncmod_hostsdeny),
    module.rsyncmod_auxiliary === '' ? undefined : module.rsyncmod_auxiliary,
  );
}

function hosts(parameter: string, list: string): string | undefined {
  return list === '' ? undefined : `${parameter} = ${words(list).join(' ')}`;
}

/** Free text, in which the daemon must not see a variable or a line continuation. */
function freeText(text: string): string {
  const plain = withoutMacros(text);
  return plain.endsWith('\\') ? plain + wordJoiner : plain;
}
