import { newPlace, withSuperuser } from "../../../test/support/postgres/index.js";

let places = 0;

/** A database of its own on the server that all tests share, because the shop's schema has a fixed name. */
export interface ShopPlace extends AsyncDisposable {
  readonly location: string;
}

export async function newShopPlace(): Promise<ShopPlace> {
  const { host } = await newPlace();
  const name = `shop_${process.pid}_${++places}`;
  await withSuperuser(host, (pool) =>
    pool.query(`create database ${name} encoding 'UTF8' template template0`),
  );
  return {
    location: `postgres://postgres@/${name}?host=${encodeURIComponent(host)}`,
    async [Symbol.asyncDispose]() {
      await withSuperuser(host, (pool) => pool.query(`drop database ${name} with (force)`));
    },
  };
}
