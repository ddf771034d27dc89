import type { rsyncdSettings } from '../../areas/services/rsyncd.ts';
import type { rsyncModule } from '../../areas/services/rsyncmod.ts';
import type { RecordOf } from '../../engine/declare/resource.ts';
import { withoutMacros, wordJoiner } from '../../lib/macros.ts';
import { lines, words } from '../../lib/text.ts';

type Settings = RecordOf<typeof rsyncdSettings.fields>;
type Module = RecordOf<typeof rsyncModule.fields>;

/** What stands before all modules. */
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
    module.rsyncmod_comment === '' ? undefined : `comment = ${free(module.rsyncmod_comment)}`,
    `path = ${module.rsyncmod_path.endsWith('\\') ? `${module.rsyncmod_path}/.` : module.rsyncmod_path}`,
    `read only = ${module.rsyncmod_mode === 'ro' ? 'yes' : 'no'}`,
    `write only = ${module.rsyncmod_mode === 'wo' ? 'yes' : 'no'}`,
    // Each module counts for itself: the count of a shared file would be that of all.
    module.rsyncmod_maxconn === 0
      ? undefined
      : [`max connections = ${module.rsyncmod_maxconn}`, `lock file = /run/holdfast-rsyncd-${module.id}.lock`],
    `uid = ${module.rsyncmod_user}`,
    // A star is the account's own groups.
    `gid = ${module.rsyncmod_group === '' ? '*' : module.rsyncmod_group}`,
    hosts('hosts allow', module.rsyncmod_hostsallow),
    hosts('hosts deny', module.rsyncmod_hostsdeny),
    module.rsyncmod_auxiliary === '' ? undefined : module.rsyncmod_auxiliary,
  );
}

function hosts(parameter: string, list: string): string | undefined {
  return list === '' ? undefined : `${parameter} = ${words(list).join(' ')}`;
}

/** Text for people, in which the daemon sees neither a variable nor the beginning of another line. */
function free(text: string): string {
  const plain = withoutMacros(text);
  return plain.endsWith('\\') ? plain + wordJoiner : plain;
}
