import { afterEach, beforeEach, expect, test } from "vitest";
import { authority, certificate, key } from "../../test/support/coordinator/certificates.js";
import { Coordinators } from "../../test/support/coordinator/coordinators.js";

let all: Coordinators;
beforeEach(() => {
  all = new Coordinators();
});
afterEach(() => all.close());

const tls = { cert: certificate, key };
/** A good certificate, and a second one of its chain that was cut, as in a file that is half written. */
const cut = `${certificate.trim()}\n-----BEGIN CERTIFICATE-----\nMIIBszCCAVmgAwIBAgIU\n`;

test("it does not start with such a chain", async () => {
  await expect(all.start({ tls: { ...tls, cert: cut } })).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
});

test("such a chain is refused by replace, and new clients are still served with the old one", async () => {
  const coordinator = await all.lead({ tls });
  expect(() => coordinator.replace({ tls: { ...tls, cert: cut } })).toThrow(
    expect.objectContaining({ code: "INVALID_ARGUMENT" }),
  );
  const client = all.client({ addresses: [coordinator.address], tls: { ca: authority } });
  await client.check(AbortSignal.timeout(10_000));
});
