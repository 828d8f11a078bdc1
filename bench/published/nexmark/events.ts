import type { Draw } from "../zipfian.js";

/**
 * Nexmark's events, by the rules and defaults of its generator in Apache Beam and in
 * github.com/nexmark/nexmark: 50 events are 1 person, 3 auctions and 46 bids. Half of the bids go to
 * a hot auction, three quarters of them come from a hot bidder, and three quarters of the auctions
 * have a hot seller.
 */

export type Person = {
  readonly id: number;
  readonly name: string;
  readonly email: string;
  readonly creditCard: string;
  readonly city: string;
  readonly state: string;
  readonly time: number;
  readonly extra: string;
};

export type Auction = {
  readonly id: number;
  readonly name: string;
  readonly description: string;
  readonly initialBid: number;
  readonly reserve: number;
  readonly time: number;
  readonly expires: number;
  readonly seller: number;
  readonly category: number;
  readonly extra: string;
};

export type Bid = {
  readonly auction: number;
  readonly bidder: number;
  readonly price: number;
  readonly time: number;
  readonly extra: string;
};

/** An event with its number, from 0. */
export type NexmarkEvent = { readonly number: number } & (
  | { readonly person: Person }
  | { readonly auction: Auction }
  | { readonly bid: Bid }
);

export const proportions = { person: 1, auction: 3, bid: 46 };
const cycle = proportions.person + proportions.auction + proportions.bid;
export const firstPerson = 1_000;
export const firstAuction = 1_000;
export const firstCategory = 10;
export const categories = 5;
/** Events a second, in the time of the events. */
export const eventRate = 10_000;

const auctionsInFlight = 100;
const activePeople = 1_000;
/** Ids that are used before their event. */
const lead = 10;
/** One in so many bids, or auctions, is not for the hot auction, bidder or seller. */
const hotAuctionRatio = 2;
const hotBidderRatio = 4;
const hotSellerRatio = 4;
/** The first of so many auctions or people is the hot one. */
const hotGroup = 100;
const personBytes = 200;
const auctionBytes = 500;
const bidBytes = 100;

const states = ["AZ", "CA", "ID", "OR", "WA", "WY"];
const cities = "Phoenix,Los Angeles,San Francisco,Boise,Portland,Bend,Redmond,Seattle,Kent,Cheyenne".split(
  ",",
);
const firstNames = "Peter,Paul,Luke,John,Saul,Vicky,Kate,Julie,Sarah,Deiter,Walter".split(",");
const lastNames = "Shultz,Abrams,Spencer,White,Bartels,Walton,Smith,Jones,Noris".split(",");

/** The time of an event, in milliseconds from the first. */
export const timeOf = (number: number) => Math.trunc((number * 1_000) / eventRate);

/** Generates the first `count` events. The same draws make the same events. */
export function* eventsOf(count: number, draw: Draw): Generator<NexmarkEvent> {
  const generator = new Generation(draw);
  for (let number = 0; number < count; number++) {
    const place = number % cycle;
    if (place < proportions.person) yield { number, person: generator.person(number) };
    else if (place < proportions.person + proportions.auction)
      yield { number, auction: generator.auction(number) };
    else yield { number, bid: generator.bid(number) };
  }
}

/** The last person, counted from 0, when an event is generated. */
export function lastPerson(number: number): number {
  const place = Math.min(number % cycle, proportions.person - 1);
  return Math.trunc(number / cycle) * proportions.person + place;
}

/** The last auction, counted from 0, when an event is generated. -1 before the first one. */
export function lastAuction(number: number): number {
  const round = Math.trunc(number / cycle);
  const place = (number % cycle) - proportions.person;
  if (place < 0) return round * proportions.auction - 1;
  return round * proportions.auction + Math.min(place, proportions.auction - 1);
}

class Generation {
  readonly #draw: Draw;

  constructor(draw: Draw) {
    this.#draw = draw;
  }

  person(number: number): Person {
    const id = lastPerson(number) + firstPerson;
    const name = `${this.#of(firstNames)} ${this.#of(lastNames)}`;
    const email = `${this.#text(7)}@${this.#text(5)}.com`;
    const creditCard = Array.from({ length: 4 }, () => String(this.#below(10_000)).padStart(4, "0")).join(
      " ",
    );
    const [city, state] = [this.#of(cities), this.#of(states)];
    const size = 8 + name.length + email.length + creditCard.length + city.length + state.length;
    return {
      id,
      name,
      email,
      creditCard,
      city,
      state,
      time: timeOf(number),
      extra: this.#extra(size, personBytes),
    };
  }

  auction(number: number): Auction {
    const id = lastAuction(number) + firstAuction;
    const seller =
      firstPerson +
      (this.#below(hotSellerRatio) > 0
        ? Math.trunc(lastPerson(number) / hotGroup) * hotGroup
        : this.#activePerson(number));
    const category = firstCategory + this.#below(categories);
    const initialBid = this.#price();
    const time = timeOf(number);
    const expires = time + this.#length(number);
    const [name, description] = [this.#upTo(20), this.#upTo(100)];
    const reserve = initialBid + this.#price();
    const extra = this.#extra(8 + name.length + description.length + 40, auctionBytes);
    return { id, name, description, initialBid, reserve, time, expires, seller, category, extra };
  }

  bid(number: number): Bid {
    const auction =
      firstAuction +
      (this.#below(hotAuctionRatio) > 0
        ? Math.trunc(lastAuction(number) / hotGroup) * hotGroup
        : this.#openAuction(number));
    const bidder =
      firstPerson +
      (this.#below(hotBidderRatio) > 0
        ? Math.trunc(lastPerson(number) / hotGroup) * hotGroup + 1
        : this.#activePerson(number));
    return { auction, bidder, price: this.#price(), time: timeOf(number), extra: this.#extra(32, bidBytes) };
  }

  #activePerson(number: number): number {
    const people = lastPerson(number) + 1;
    const active = Math.min(people, activePeople);
    return people - active + this.#below(active + lead);
  }

  #openAuction(number: number): number {
    const last = lastAuction(number);
    const first = Math.max(last - auctionsInFlight, 0);
    return first + this.#below(last - first + 1 + lead);
  }

  /** How long an auction lasts: on average, until so many further ones have begun. */
  #length(number: number): number {
    const ahead = Math.trunc((auctionsInFlight * cycle) / proportions.auction);
    const horizon = timeOf(number + ahead) - timeOf(number);
    return 1 + this.#below(Math.max(horizon * 2, 1));
  }

  #price(): number {
    return Math.round(10 ** (this.#draw() * 6) * 100);
  }

  #below(bound: number): number {
    return Math.trunc(this.#draw() * bound);
  }

  #of(list: readonly string[]): string {
    return list[this.#below(list.length)]!;
  }

  #upTo(length: number): string {
    return this.#text(3 + this.#below(length - 3)).trim();
  }

  /** Letters. One in thirteen is a space. */
  #text(length: number): string {
    let text = "";
    for (let index = 0; index < length; index++)
      text += this.#below(13) === 0 ? " " : String.fromCharCode(97 + this.#below(26));
    return text;
  }

  /** Text that makes an event about as long as Nexmark wants it. */
  #extra(bytes: number, wanted: number): string {
    if (bytes > wanted) return "";
    const average = wanted - bytes;
    const spread = Math.round(average * 0.2);
    return this.#text(average - spread + this.#below(2 * spread + 1));
  }
}
