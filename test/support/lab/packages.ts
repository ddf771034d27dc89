import type { Machine } from './machine.ts';

/** Installs version 1.0 of a package, and offers 1.1 in the machine's only package source. */
export async function offerNewerPackage(machine: Machine): Promise<void> {
  await machine.run(`
    mkdir -p /srv/packages /etc/apt/sources.list.d && cd /srv/packages
    for version in 1.0 1.1; do
      mkdir -p lab-$version/DEBIAN
      printf 'Package: holdfast-lab\\nVersion: %s\\nArchitecture: all\\nMaintainer: Lab <lab@example.com>\\nDescription: a package of the lab\\n' $version >lab-$version/DEBIAN/control
      dpkg-deb --build --root-owner-group lab-$version holdfast-lab_$version.deb >/dev/null
    done
    dpkg -i holdfast-lab_1.0.deb >/dev/null
    { dpkg-deb --field holdfast-lab_1.1.deb; printf 'Filename: ./holdfast-lab_1.1.deb\\nSize: %s\\nSHA256: %s\\n' $(stat -c %s holdfast-lab_1.1.deb) $(sha256sum holdfast-lab_1.1.deb | cut -d' ' -f1); } >Packages
    rm -f /etc/apt/sources.list /etc/apt/sources.list.d/*
    echo 'deb [trusted=yes] file:/srv/packages ./' >/etc/apt/sources.list.d/lab.list
    apt-get -q update >/dev/null`);
}

export function packageVersion(machine: Machine): Promise<string> {
  return machine.run(`dpkg-query --show --showformat='\${Version}' holdfast-lab`);
}
