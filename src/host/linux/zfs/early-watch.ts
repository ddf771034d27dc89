import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import type { Runner } from '../runner.ts';

/** What `zpool history` shows instead of `zpool import`. */
const noted = 'holdfast: import after an early watch of the disks';

/**
 * `zpool import` watches the disks of a pool with `multihost` and imports it right afterwards, in one program. On a pair,
 * the watch may begin as soon as the other machine is missed, but the import has to wait until that machine was ended. This
 * program does the same with the same library and stops between the two: it watches, prints `watched`, and imports when the
 * pipe says so. What it found out goes to the kernel with the import, which refuses if the pool has changed since then: the
 * watch only becomes longer.
 *
 * While the other machine writes, the watch begins again each second. The program ends with a status other than 0 where
 * anything is not as expected, such as another version of the library, and the pool is then imported by `zpool import`.
 *
 * The structures are those of libzutil.h of OpenZFS 2.3, which is libzfs.so.6.
 */
const program = `
import ctypes, os, select, sys
from ctypes import POINTER, byref, c_char_p, c_int, c_uint64, c_void_p

guid, pipe = int(sys.argv[1]), sys.argv[2]
inactive, any_host, only = 1, 0x2, 0x8

class Handle(ctypes.Structure):
    _fields_ = [('error', c_int), ('prints', c_int), ('denied', c_int), ('described', c_int),
                ('text', ctypes.c_char * 1024), ('operations', c_void_p), ('library', c_void_p)]

class Search(ctypes.Structure):
    _fields_ = [('paths', c_void_p), ('count', c_int), ('name', c_char_p), ('guid', c_uint64), ('cache', c_char_p),
                ('active', c_int), ('scan', c_int), ('policy', c_void_p), ('destroyed', c_int), ('all', c_int)]

zfs, pairs = ctypes.CDLL('libzfs.so.6'), ctypes.CDLL('libnvpair.so.3')

def function(library, name, result, *arguments):
    found = getattr(library, name)
    found.restype, found.argtypes = result, arguments
    return found

search = function(zfs, 'zpool_search_import', c_void_p, POINTER(Handle), POINTER(Search))
import_pool = function(zfs, 'zpool_import_props', c_int, c_void_p, c_void_p, c_char_p, c_void_p, c_int)
note = function(zfs, 'zpool_log_history', c_int, c_void_p, c_char_p)
explained = function(zfs, 'libzfs_error_description', c_char_p, c_void_p)
next_pair = function(pairs, 'nvlist_next_nvpair', c_void_p, c_void_p, c_void_p)
list_of = function(pairs, 'nvpair_value_nvlist', c_int, c_void_p, POINTER(c_void_p))
list_in = function(pairs, 'nvlist_lookup_nvlist', c_int, c_void_p, c_char_p, POINTER(c_void_p))
number_in = function(pairs, 'nvlist_lookup_uint64', c_int, c_void_p, c_char_p, POINTER(c_uint64))
make = function(pairs, 'nvlist_alloc', c_int, POINTER(c_void_p), ctypes.c_uint, c_int)
free = function(pairs, 'nvlist_free', None, c_void_p)
add = function(pairs, 'nvlist_add_string', c_int, c_void_p, c_char_p, c_char_p)

library = function(zfs, 'libzfs_init', c_void_p)()
if not library: sys.exit('libzfs cannot be used')
operations = ctypes.addressof(c_void_p.in_dll(zfs, 'libzfs_config_ops'))

try: os.unlink(pipe)
except FileNotFoundError: pass
os.mkfifo(pipe, 0o600)
orders = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
def ordered(seconds): return bool(select.select([orders], [], [], seconds)[0])

while True:
    found = search(byref(Handle(operations=operations, library=library)), byref(Search(guid=guid)))
    config, seen, state = c_void_p(), c_void_p(), c_uint64()
    first = next_pair(found, None) if found else None
    if not first or list_of(first, byref(config)) != 0: sys.exit('the pool is not found')
    if list_in(config, b'load_info', byref(seen)) != 0 or number_in(seen, b'mmp_state', byref(state)) != 0:
        sys.exit('the pool is not guarded')
    if state.value == inactive: break
    free(found)
    if ordered(1): sys.exit('another machine uses the pool')

print('watched', flush=True)
ordered(None)
settings = c_void_p()
make(byref(settings), 1, 0)
for name, value in ((b'multihost', b'on'), (b'cachefile', b'none')): add(settings, name, value)
if import_pool(library, config, None, settings, any_host | only) != 0: sys.exit(explained(library).decode())
# As zpool does, so that 'zpool history' shows it.
note(library, b'${noted}')
print('imported', flush=True)
`;

/** Milliseconds that the watch may last after the order: ZFS watches for five seconds, mostly. */
const longestWatch = 30_000;
/** As for `zpool import`: a large pool takes long. */
const longestImport = 15 * 60_000;

/** A watch of the disks that has begun before the import. */
export interface EarlyWatch {
  readonly guid: string;
  /** Imports the pool; false if that was not possible in this way. */
  imports(): Promise<boolean>;
  /** Does not interrupt an import. */
  end(): void;
}

export function beginEarlyWatch(runner: Pick<Runner, 'follow'>, guid: string, folder = '/run/holdfast'): EarlyWatch {
  const pipe = join(folder, `import-${guid}`);
  const [watched, imported] = [Promise.withResolvers<boolean>(), Promise.withResolvers<boolean>()];
  let isImporting = false;
  const stop = runner.follow(['python3', '-I', '-c', program, guid, pipe], {
    line: (line) => {
      if (line === 'watched') watched.resolve(true);
      if (line === 'imported') imported.resolve(true);
    },
    ended: () => {
      watched.resolve(false);
      imported.resolve(false);
    },
  });
  return {
    guid,
    async imports() {
      isImporting = await order(pipe);
      if (!isImporting) return false;
      const isImported = (await within(longestWatch, watched)) && (await within(longestImport, imported));
      stop();
      return isImported;
    },
    end() {
      if (!isImporting) stop();
    },
  };
}

/** False after so many milliseconds. */
async function within(milliseconds: number, { promise, resolve }: PromiseWithResolvers<boolean>): Promise<boolean> {
  const timer = setTimeout(resolve, milliseconds, false);
  return promise.finally(() => clearTimeout(timer));
}

/** Returns whether a program reads the pipe. */
async function order(pipe: string): Promise<boolean> {
  try {
    const file = await open(pipe, constants.O_WRONLY | constants.O_NONBLOCK);
    await file.write('import\n').finally(() => file.close());
    return true;
  } catch {
    // Nothing has begun, or it has ended.
    return false;
  }
}
