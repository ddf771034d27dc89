import { existsSync } from 'node:fs';
import { truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { built, macOf, type Place } from './place.ts';

/** A disk of an emulated PC. Those on `scsi` and `nvme` can be pulled out while it runs: `device_del diskN`. */
export interface PcDisk {
  readonly bus: 'sata' | 'scsi' | 'nvme';
  readonly serial: string;
  /** The model that the disk reports; NVMe disks have the emulator's. */
  readonly model?: string;
}

const diskBytes = 1024 ** 3;

/** The emulator's device for a disk of each controller, without its drive, its id and its serial number. */
const devices: Readonly<Record<PcDisk['bus'], (index: number, model: string) => string>> = {
  sata: (index, model) => `ide-hd,bus=sata.${index},model=${model}`,
  scsi: (_, model) => `scsi-hd,bus=scsi.0,product=${model}`,
  nvme: () => 'nvme',
};

/** The emulator with the image, Debian's own kernel, and disks on real controllers. */
export async function pcWords(
  { folder, payload, layers, taps, number }: Place,
  disks: readonly PcDisk[],
  memory: number,
  kernelWords: readonly string[],
): Promise<readonly [string, ...string[]]> {
  if (!existsSync(join(built, 'pc/initrd')))
    throw new Error(`There is no kernel for an emulated machine in ${built}; make it with lab/build pc.`);
  const readOnly = [join(built, 'root.squashfs'), join(built, 'pc/modules'), payload, ...layers].filter(
    (file) => file !== undefined,
  );
  const deviceOf = (file: string) => `vd${'abcde'.charAt(readOnly.indexOf(file))}`;
  const words = [
    '-M',
    'pc',
    '-accel',
    'tcg,thread=multi',
    '-cpu',
    'max',
    '-smp',
    '2',
    '-m',
    String(memory),
    '-display',
    'none',
    '-nodefaults',
    '-serial',
    'stdio',
  ];
  words.push(
    '-monitor',
    `unix:${join(folder, 'monitor')},server,nowait`,
    '-kernel',
    join(built, 'pc/vmlinuz'),
    '-initrd',
    join(built, 'pc/initrd'),
  );
  // The image is shared with other running machines.
  for (const [index, file] of readOnly.entries())
    words.push(
      '-drive',
      `if=none,id=part${index},file=${file},format=raw,readonly=on,file.locking=off`,
      '-device',
      `virtio-blk-pci,drive=part${index}`,
    );
  for (const [index, tap] of taps.entries()) {
    words.push(
      '-netdev',
      `tap,id=net${index},ifname=${tap},script=no,downscript=no`,
      '-device',
      `virtio-net-pci,netdev=net${index},mac=${macOf(number, index)},romfile=`,
    );
  }
  words.push('-device', 'ahci,id=sata', '-device', 'virtio-scsi-pci,id=scsi');
  for (const [index, { bus, serial, model = 'HOLDFAST-TEST' }] of disks.entries()) {
    const file = join(folder, `disk${index}`);
    await writeFile(file, '');
    await truncate(file, diskBytes);
    words.push('-drive', `if=none,id=drive${index},file=${file},format=raw,cache=unsafe,discard=unmap`);
    words.push(
      '-device',
      `${devices[bus](disks.slice(0, index).filter((one) => one.bus === bus).length, model)},drive=drive${index},id=disk${index},serial=${serial}`,
    );
  }
  const kernel = [
    'console=ttyS0',
    'mitigations=off',
    'lab.image=vda',
    'lab.modules=vdb',
    ...(payload === undefined ? [] : [`lab.payload=${deviceOf(payload)}`]),
    ...(layers.length === 0 ? [] : [`lab.layers=${layers.map(deviceOf).join(',')}`]),
  ];
  words.push('-append', [...kernel, 'lab.load=virtio_net,ahci,sd_mod,sg,virtio_scsi', ...kernelWords].join(' '));
  return ['qemu-system-x86_64', ...words];
}
