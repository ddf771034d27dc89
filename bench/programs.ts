import { type Nas, untilReady } from '../test/support/lab/nas.ts';

/** Lets the helper process of the daemon write down each program that it starts, and how long it ran. */
export async function noteProgramsIn({ api, machine }: Nas): Promise<void> {
  await machine.run(
    `
    sed -i '1i import{appendFileSync as __note}from"node:fs";' /usr/lib/holdfast/dist/helper.mjs
    sed -i 's/const child *= *\\([^;]*spawn)*\\)(program, *rest,\\([^;]*\\));/const __began=Date.now();const child=\\1(program,rest,\\2);child.on("close",()=>__note("\\/tmp\\/programs",__began+" "+(Date.now()-__began)+" "+argv.join(" ").replaceAll("\\\\n"," ").slice(0,200)+"\\\\n"));/' /usr/lib/holdfast/dist/helper.mjs
    grep -q '__note("' /usr/lib/holdfast/dist/helper.mjs || exit 1
    systemctl restart holdfast`,
    { seconds: 300 },
  );
  await untilReady(api, 300);
}

/** Megabytes of the daemon that are resident. */
export async function residentIn({ machine }: Nas): Promise<number> {
  return Number(
    await machine.run("grep VmRSS /proc/$(systemctl show -P MainPID holdfast)/status | awk '{print $2 / 1024}'"),
  );
}
