/** The pages in docs/fields, against the catalogue and against the files that an appliance writes. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { posix } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Resource } from '../../src/engine/declare/resource.ts';
import { addressed } from '../support/catalogue.ts';
import { furnished } from '../support/furnished.ts';

interface Section {
  readonly area: string;
  /** Paths of resources, or what the paths of several begin with. */
  readonly paths: readonly string[];
  /** The names before the colon of each entry. */
  readonly names: readonly string[];
}

const folder = fileURLToPath(new URL('../../docs/fields', import.meta.url));

const pages: ReadonlyMap<string, string> = new Map(
  readdirSync(folder)
    .filter((name) => name !== 'README.md')
    .map((name) => [name.replace(/\.md$/, ''), readFileSync(`${folder}/${name}`, 'utf8')]),
);

const sections: readonly Section[] = [...pages].flatMap(([area, page]) =>
  page
    .split(/^## /m)
    .slice(1)
    .map((text) => ({
      area,
      paths: text.slice(0, text.indexOf('\n')).split(', '),
      names: [...text.matchAll(/^- ((?:`[^`]+`,\s+)*`[^`]+`):\s/gm)].flatMap(([, names = '']) =>
        [...names.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name),
      ),
    })),
);

/** The section of a resource: the one with the longest path that the path of the resource is or begins with. */
function sectionOf({ path }: Resource): Section | undefined {
  const fit = ({ paths }: Section) =>
    Math.max(...paths.map((one) => (path === one || path.startsWith(`${one}/`) ? one.length : 0)));
  return sections.filter((section) => fit(section) > 0).toSorted((a, b) => fit(b) - fit(a))[0];
}

/** The fields that a record of the resource can be sent or is answered with. */
function shownFields({ fields }: Resource): readonly string[] {
  return Object.entries(fields).flatMap(([name, field]) => (field.use === 'hidden' ? [] : [name]));
}

test('every field of every resource has an entry in the section of the resource', () => {
  const missing = addressed.flatMap((resource) => {
    const names = sectionOf(resource)?.names ?? [];
    return shownFields(resource)
      .filter((name) => !names.includes(name))
      .map((name) => `${resource.path} ${name}`);
  });
  assert.deepEqual(missing, []);
});

test('every entry names a field or an action of a resource of its section', () => {
  const unknown = sections.flatMap((section) => {
    const known = new Set(
      addressed
        .filter((resource) => sectionOf(resource) === section)
        .flatMap((resource) => [
          ...shownFields(resource),
          ...resource.actions.flatMap(({ segment, fields }) => [segment, ...Object.keys(fields ?? {})]),
        ]),
    );
    return section.names.filter((name) => !known.has(name)).map((name) => `${section.paths.join(', ')}: ${name}`);
  });
  assert.deepEqual(unknown, []);
});

test('every section is on the page of its area and covers a resource, and no two cover the same', () => {
  const paths = sections.flatMap((section) => section.paths);
  assert.deepEqual(
    paths.filter((path, place) => paths.indexOf(path) !== place),
    [],
  );
  for (const { area, paths } of sections)
    for (const path of paths) {
      assert.equal(path.split('/')[0], area, path);
      assert.ok(
        addressed.some((resource) => resource.path === path || resource.path.startsWith(`${path}/`)),
        path,
      );
    }
});

test('no line has more than 120 columns', () => {
  const long = [...pages].flatMap(([area, page]) =>
    page
      .split('\n')
      .filter((line) => line.length > 120)
      .map((line) => `${area}: ${line}`),
  );
  assert.deepEqual(long, []);
});

/** Files that the furnished appliance does not need, with the source that names them. */
const writtenAtTimes: Readonly<Record<string, string>> = {
  '/etc/apt/apt.conf.d/80holdfast-proxy': 'names/subsystem.ts',
  '/etc/default/nis': 'directory/subsystem.ts',
  '/etc/defaultdomain': 'directory/subsystem.ts',
  '/etc/ganesha/ganesha.conf': 'nfs/ganesha-conf.ts',
  '/etc/holdfast/domain-authority.pem': 'samba/domain-conf.ts',
  '/etc/holdfast/ldap-authority.pem': 'directory/nslcd-conf.ts',
  '/etc/holdfast/ldap.keytab': 'directory/nslcd-conf.ts',
  '/etc/holdfast/syslog.conf': 'logs/subsystem.ts',
  '/etc/nslcd.conf': 'directory/subsystem.ts',
  '/etc/profile.d/holdfast-proxy.sh': 'names/subsystem.ts',
  '/etc/proftpd/holdfast-chain.pem': 'ftp/proftpd-conf.ts',
  '/etc/proftpd/holdfast.pem': 'ftp/proftpd-conf.ts',
  '/etc/ssh/holdfast/sshd_config': 'ssh/sshd-config.ts',
  '/etc/sysctl.d/89-holdfast-autotune.conf': 'kernel/kernel-files.ts',
  '/etc/tmpfiles.d/holdfast-power.conf': 'console/subsystem.ts',
  '/etc/yp.conf': 'directory/subsystem.ts',
};

/** Files of Debian and of other programs, which Holdfast changes by a program, reads, or leaves alone. */
const ofOthers = [
  '/etc/apache2',
  '/etc/group',
  '/etc/krb5.keytab',
  '/etc/ldap/ldap.conf',
  '/etc/passwd',
  '/etc/shadow',
];

test('the pages name the files below /etc that Holdfast writes, and no others', async () => {
  await using nas = await furnished();
  const written = [...(await nas.configurationFiles()).keys()]
    // A machine has its host id before Holdfast is there.
    .filter((path) => path !== '/etc/hostid')
    .filter((path) => path.startsWith('/etc/') && !/^\/etc\/systemd\/(network|system)\//.test(path))
    .map(asNamed);
  const named = [...pages.values()].flatMap((page) =>
    [...page.matchAll(/`(\/etc\/[^`\s]+)`/g)].map(([, path = '']) => path),
  );
  const known = new Set([...written, ...Object.keys(writtenAtTimes)]);
  assert.deepEqual(
    named.filter((path) => !known.has(path) && !ofOthers.includes(path)),
    [],
    'these are named, and not written',
  );
  assert.deepEqual(
    [...known].filter((path) => !named.includes(path)),
    [],
    'these are written, and not named',
  );
  for (const [path, source] of Object.entries(writtenAtTimes)) {
    const text = await readFile(new URL(`../../src/subsystems/${source}`, import.meta.url), 'utf8');
    assert.ok(text.includes(path) || text.includes(posix.dirname(path)), `${source} writes no ${path}`);
  }
});

/** How a page names a file whose name depends on a record. */
function asNamed(path: string): string {
  return path
    .replace(/-\d+(?=\.(conf|exports)$)/, '-N')
    .replace(/(?<=^\/etc\/holdfast\/keytabs\/).+/, '<name>')
    .replace(/(?<=^\/etc\/holdfast\/plugins\/)\d+/, '<id>');
}
