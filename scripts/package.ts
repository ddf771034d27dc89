/**
 * Makes dist/debian/holdfast.deb for Debian 13: the bundle, the Node that runs it, the database's native part, the
 * systemd unit and a configuration file. Debian's own Node is too old for the daemon.
 */
import { spawnSync } from 'node:child_process';
import { chmod, copyFile, cp, mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { catalogue, management } from '../src/areas/index.ts';
import { completionScripts } from '../src/cli/client/completion.ts';
import { manualPages } from '../src/cli/client/manual.ts';
import { vocabularyOf } from '../src/engine/declare/vocabulary.ts';
import { lines } from '../src/lib/text.ts';
import { bundle, nodeOptions, root } from './bundle.ts';

const tree = `${root}/dist/package`;
const home = `${tree}/usr/lib/holdfast`;

/** Programs that the daemon controls. It also starts without the recommended ones and reports which are missing. */
const depends = [
  'adduser',
  'e2fsprogs',
  'hostname',
  'iproute2',
  'iputils-ping',
  'libc6',
  'passwd',
  'systemd',
  'util-linux',
  'zfsutils-linux',
  'libstdc++6',
];
const recommends = [
  'apache2-bin',
  'avahi-daemon',
  'chrony',
  'cron',
  'curl',
  'debootstrap',
  'ethtool',
  'hdparm',
  'inadyn',
  'krb5-user',
  'ldap-utils',
  'libnss-ldapd',
  'libnss-nis',
  'libnss-winbind',
  'libpam-ldapd',
  'libpam-winbind',
  'libsasl2-modules-gssapi-mit',
  'lldpd',
  'lz4',
  'netatalk',
  'nfs-common',
  'nfs-kernel-server',
  'nftables',
  'nslcd',
  'nut-client',
  'nut-server',
  'openssh-client',
  'openssh-server',
  'pigz',
  'plzip',
  'procps',
  'proftpd-core',
  'proftpd-mod-crypto',
  'rsync',
  'rsyslog',
  'samba',
  'samba-ad-dc',
  'samba-ad-provision',
  'samba-vfs-modules',
  'smartmontools',
  'snmpd',
  'sudo',
  'systemd-container',
  'systemd-resolved',
  'tftpd-hpa',
  'winbind',
  'ypbind-mt',
  'zfs-zed',
];

function run(program: string, ...argv: string[]): void {
  const { status, error } = spawnSync(program, argv, { stdio: ['ignore', 'ignore', 'inherit'] });
  if (status !== 0) throw new Error(`${program} failed: ${error?.message ?? status}`);
}

async function put(path: string, content: string, mode = 0o644): Promise<void> {
  const file = `${tree}${path}`;
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, content);
  await chmod(file, mode);
}

if (spawnSync('dpkg-deb', ['--version']).status !== 0) {
  process.stdout.write('The Debian package cannot be built on this machine: dpkg-deb is missing.\n');
  process.exit(77);
}

const manifest: unknown = JSON.parse(await readFile(`${root}/package.json`, 'utf8'));
const version =
  typeof manifest === 'object' && manifest !== null && 'version' in manifest ? String(manifest.version) : '0';

await rm(tree, { recursive: true, force: true });
await bundle('dist/package/usr/lib/holdfast/dist', { packages: '../node_modules' });
await copyFile(`${root}/package.json`, `${home}/package.json`);
await mkdir(`${home}/bin`, { recursive: true });
// The root folder of FTP accounts that may see nothing.
await mkdir(`${home}/empty`);
await copyFile(process.execPath, `${home}/bin/node`);
run('strip', '--strip-unneeded', `${home}/bin/node`);
const database = `${home}/node_modules/better-sqlite3`;
await mkdir(`${database}/prebuilds`, { recursive: true });
await cp(`${root}/node_modules/better-sqlite3/lib`, `${database}/lib`, { recursive: true });
await copyFile(`${root}/node_modules/better-sqlite3/package.json`, `${database}/package.json`);
await copyFile(`${root}/node_modules/better-sqlite3/prebuilds/linux-x64.node`, `${database}/prebuilds/linux-x64.node`);
await put(
  '/usr/sbin/holdfast',
  lines(
    '#!/bin/sh',
    `exec /usr/lib/holdfast/bin/node ${nodeOptions.join(' ')} /usr/lib/holdfast/dist/holdfast.mjs "$@"`,
  ),
  0o755,
);
for (const [name, page] of manualPages(vocabularyOf(catalogue, management), version))
  await put(`/usr/share/man/man${name.at(-1)}/${name}`, page);
await put('/usr/share/bash-completion/completions/holdfast', completionScripts.bash);
await put('/usr/share/zsh/vendor-completions/_holdfast', completionScripts.zsh);
await put('/usr/share/fish/vendor_completions.d/holdfast.fish', completionScripts.fish);
await put('/usr/lib/systemd/system/holdfast.service', await readFile(`${root}/packaging/holdfast.service`, 'utf8'));
await put('/etc/holdfast/holdfast.conf', await readFile(`${root}/packaging/holdfast.conf`, 'utf8'), 0o600);
await put(
  '/DEBIAN/control',
  lines(
    'Package: holdfast',
    `Version: ${version}`,
    'Architecture: amd64',
    'Maintainer: Holdfast <holdfast@localhost>',
    `Depends: ${depends.join(', ')}`,
    `Recommends: ${recommends.join(', ')}`,
    // For iSCSI on machines whose kernel has no targets, and for a pair of machines.
    'Suggests: tgt, corosync, corosync-qdevice, pacemaker, pacemaker-cli-utils, python3',
    'Section: admin',
    'Priority: optional',
    'Description: Management daemon of a network storage appliance',
    ' One HTTP/JSON interface over ZFS, Samba, FTP, accounts and scheduled tasks.',
  ),
);
await put('/DEBIAN/conffiles', lines('/etc/holdfast/holdfast.conf'));
for (const program of [
  'ctld',
  'disk-report',
  'domain-controller',
  'domain-monitor',
  'end-jail',
  'in-jail',
  'pair-resources',
  'replicate',
  'run-script',
  'samba-directory',
  'snmp-pools',
  'ups-event',
  'wake-clients',
])
  await put(`/usr/lib/holdfast/${program}`, await readFile(`${root}/packaging/${program}`, 'utf8'), 0o755);
// The agents of Pacemaker, for a pair of machines.
for (const agent of ['address', 'appliance'])
  await put(`/usr/lib/ocf/resource.d/holdfast/${agent}`, await readFile(`${root}/packaging/${agent}`, 'utf8'), 0o755);
// Programs that were written for FreeBSD run it there.
await mkdir(`${tree}/etc/rc.d`);
await symlink('/usr/lib/holdfast/ctld', `${tree}/etc/rc.d/ctld`);
for (const script of ['postinst', 'prerm', 'postrm'])
  await put(`/DEBIAN/${script}`, await readFile(`${root}/packaging/${script}`, 'utf8'), 0o755);
await cp(`${root}/plugins`, `${tree}/usr/share/holdfast/plugins`, { recursive: true });
await mkdir(`${root}/dist/debian`, { recursive: true });
run('dpkg-deb', '--root-owner-group', '-Zzstd', '-z3', '--build', tree, `${root}/dist/debian/holdfast.deb`);
process.stdout.write(`dist/debian/holdfast.deb, version ${version}\n`);
