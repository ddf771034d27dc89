/**
 * `lab/enclosed node bench/zfs.ts`, after any test of the test machine, which makes its package and layers: milliseconds of
 * ZFS's programs, of a program that does nothing, and of the same calls by libzfs_core in one process, which is what an
 * addon of Node's would cost. The difference is what could be saved by talking to the kernel without programs.
 */
import { startNas } from '../test/support/lab/nas.ts';

const rounds = 30;

/** Calls libzfs_core as an addon would. Prints milliseconds of processor time and of the clock for each call. */
const library = `
import ctypes, os, time
core = ctypes.CDLL('libzfs_core.so.3'); pairs = ctypes.CDLL('libnvpair.so.3')
def values():
    made = ctypes.c_void_p()
    assert pairs.nvlist_alloc(ctypes.byref(made), 1, 0) == 0
    return made
def snapshot(n):
    names, errors = values(), ctypes.c_void_p()
    pairs.nvlist_add_boolean(names, f'tank/d1@library{n}'.encode())
    assert core.lzc_snapshot(names, None, ctypes.byref(errors)) == 0
def create(n):
    assert core.lzc_create(f'tank/library{n}'.encode(), 2, values(), None, 0) == 0
def exists(n):
    assert core.lzc_exists(b'tank/d1') == 1
assert core.libzfs_core_init() == 0
for call in (exists, create, snapshot):
    before, begun = os.times(), time.monotonic()
    for n in range(${rounds}): call(n)
    after, ended = os.times(), time.monotonic()
    spent = sum(after[:2]) - sum(before[:2])
    print(f'library {call.__name__}: {spent * 1000 / ${rounds}:.1f} ms of processor time, {(ended - begun) * 1000 / ${rounds}:.1f} ms')
`;

await using nas = await startNas({ disks: 1, diskSize: '3G', memory: 2048 });
const { api, machine } = nas;
const output = async (script: string) => (await machine.run(script, { seconds: 600 })).trim();
await api.expect(201, 'POST', 'storage/volume/', {
  volume_name: 'tank',
  layout: [{ vdevtype: 'stripe', disks: ['ubdc'] }],
});
// The daemon would read the pool again after each change.
await output('systemctl stop holdfast; for n in $(seq 20); do zfs create tank/d$n; zfs snapshot tank/d$n@one; done');
await output(`printf '%s' 'used = zfs.get_prop("tank/d1", "used") return used' >/tmp/read.lua`);
const programs: readonly (readonly [title: string, command: string])[] = [
  ['/bin/true', '/bin/true'],
  ['zfs version', 'zfs version'],
  ['zfs get of one dataset', 'zfs get -Hp -t filesystem,volume -o name,property,value,source all tank/d1'],
  ['zfs get of 20 datasets', 'zfs get -Hp -t filesystem,volume -o name,property,value,source -r all tank'],
  ['zpool status and get of one pool', 'sh -c "zpool status -jpP tank; zpool get -jp all tank"'],
  ['zfs create', 'zfs create tank/program$n'],
  ['zfs snapshot', 'zfs snapshot tank/d1@program$n'],
  ['zfs program', 'zfs program -n tank /tmp/read.lua'],
];
for (const [title, command] of programs) {
  const timed = `TIMEFORMAT='%U %S %R'; time for n in $(seq ${rounds}); do ${command}; done >/dev/null`;
  const words = (await output(`bash -c '${timed.replaceAll("'", `'\\''`)}' 2>&1`)).split('\n').at(-1)?.split(' ') ?? [];
  const [user = 0, system = 0, real = 0] = words.map((word) => (Number(word) * 1000) / rounds);
  console.log(`${title}: ${(user + system).toFixed(1)} ms of processor time, ${real.toFixed(1)} ms`);
}
console.log(await output(`cat >/tmp/library.py <<'END'${library}END\npython3 /tmp/library.py`));
