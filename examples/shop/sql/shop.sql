-- The shop's own tables, as they would exist before this library comes. Money is in cents.

create schema shop;

create type shop.order_status as enum ('open', 'paid', 'sent', 'cancelled');

create table shop.customers (
  id int primary key,
  name text not null,
  email text not null unique,
  city text
);

create table shop.products (
  id int primary key,
  name text not null,
  price_cents int not null check (price_cents >= 0),
  stock int not null,
  -- Null: the shop does not reorder it.
  reorder_level int
);

create table shop.orders (
  id int primary key,
  customer_id int not null references shop.customers on update cascade,
  status shop.order_status not null default 'open',
  ordered_on date not null default current_date,
  note text
);
create index on shop.orders (customer_id);
create index on shop.orders (ordered_on);

create table shop.order_lines (
  order_id int references shop.orders on update cascade on delete cascade,
  line_no int,
  product_id int not null references shop.products,
  quantity int not null check (quantity > 0),
  price_cents int not null check (price_cents >= 0),
  amount_cents int not null generated always as (quantity * price_cents) stored,
  primary key (order_id, line_no)
);
create index on shop.order_lines (product_id);

-- Products that are sold out and not ordered again.
create table shop.discontinued (
  product_id int primary key references shop.products on delete cascade,
  since date not null default current_date
);

-- What purchasing was told: a product's stock became low, or is enough again.
create table shop.stock_alerts (
  product_id int,
  sequence bigint,
  is_low boolean not null,
  told_at timestamptz not null default clock_timestamp(),
  primary key (product_id, sequence)
);
