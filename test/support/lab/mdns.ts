import { createSocket } from 'node:dgram';
import { setTimeout as pause } from 'node:timers/promises';
import { addressOn } from './network.ts';

const group = '224.0.0.251';
const port = 5353;
const pointer = 12;
const internet = 1;

/** A query for the instances of a service, such as `_adisk._tcp.local`, to which answers come by unicast (RFC 6762, 6.7). */
function question(service: string): Buffer {
  const labels = service.split('.').map((label) => Buffer.from([label.length, ...Buffer.from(label)]));
  const header = Buffer.from([0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
  return Buffer.concat([header, ...labels, Buffer.from([0, 0, pointer, 0, internet])]);
}

/** The bytes of all answers of the first network within a second: the names and texts in them are plain. */
export async function servicesOf(service: string): Promise<string> {
  const socket = createSocket('udp4');
  const answers: Buffer[] = [];
  socket.on('message', (answer) => answers.push(answer));
  await new Promise<void>((resolve) => socket.bind(0, addressOn(0, 2), resolve));
  try {
    socket.setMulticastInterface(addressOn(0, 2));
    socket.send(question(service), port, group);
    await pause(1000);
    return Buffer.concat(answers).toString('latin1');
  } finally {
    socket.close();
  }
}
